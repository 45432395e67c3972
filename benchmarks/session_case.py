"""The task that sessions are measured on: a small repository, its spec, a script that plays the model."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import NamedTuple

TAG = "v1"
PROGRAM, TEST = "src/sum.sh", "tests/empty.sh"
FILES = {
    PROGRAM: """#!/bin/sh
# the sum of the numbers in a file, one a line
total=0
while read -r number; do total=$((total + number)); done < "$1"
echo "$total"
""",
    TEST: """#!/bin/sh
: > list
if sh src/sum.sh list; then echo "a list without numbers has a sum"; exit 1; fi
""",
    "tests/unit.sh": """#!/bin/sh
printf '4\\n3\\n' > list
test "$(sh src/sum.sh list)" = 7 && echo "a list is summed"
""",
}
TASK = "A list without any numbers must be refused with exit status 2."
EDIT = f"sed -i '3i test -s \"$1\" || exit 2' {PROGRAM}"
READ = f"cat {PROGRAM}"
COMMANDS = (EDIT, READ)
"""What the agent has the shell do, a turn each; its third and last turn is `finish`."""


class Case(NamedTuple):
    """Where it lies."""

    fixture: Path
    spec: Path


def make_case(folder: Path) -> Case:
    """Write it down below a folder that is empty."""
    fixture = folder / "fixture"
    for name, text in FILES.items():
        (fixture / name).parent.mkdir(parents=True, exist_ok=True)
        (fixture / name).write_text(text)
    git(fixture, "init", "--quiet", "--initial-branch=main")
    git(fixture, "add", "-A")
    git(fixture, "commit", "--quiet", "-m", "a sum")
    git(fixture, "tag", TAG)
    script = folder / "script.json"
    turns = [("exec", {"command": command}) for command in COMMANDS] + [("finish", {"result": "It is refused now."})]
    script.write_text(json.dumps([{"tool_calls": [{"tool": tool, "arguments": given}]} for tool, given in turns]))
    spec = {
        "schema": "chock.eval", "version": 1, "name": "a list without numbers is refused", "task": TASK,
        "fixture": "fixture", "base_commit": f"refs/tags/{TAG}", "provider": "scripted", "model": str(script),
        "expect": {
            "end_reason": "finished", "max_turns": 8, "required_events": ["tool.call"], "forbidden_tools": ["browser"],
            "required_paths": [PROGRAM], "forbidden_paths": ["secrets.txt"], "require_no_network": True,
        },
        "test_files": ["tests"], "tests": [{"name": "empty", "argv": ["sh", TEST]}],
    }  # fmt: skip
    (folder / "spec.json").write_text(json.dumps(spec))
    return Case(fixture, folder / "spec.json")


def git(folder: Path, *arguments: str) -> str:
    """What git says in a folder."""
    command = ["git", "-c", "user.name=a", "-c", "user.email=a@b", "-c", "commit.gpgsign=false", *arguments]
    return subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True).stdout
