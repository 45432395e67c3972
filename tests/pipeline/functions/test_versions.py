"""Versions: what changes one and what does not, in this process and over fresh ones."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pipeline.functions import RemoteFunction, load_function_file

TASK = '''
"""A task file."""
import dataclasses
import enum
import re
from pipeline.functions import function

WORDS = {"refund", "money", "back", "cancel", "close", "account"}
PATTERN = re.compile("[0-9]+", re.I)
LIMITS = {"low": 1, "high": [2.5, None, ("a", frozenset({"x", "y", "z"}))]}

class Kind(enum.Enum):
    A = "a"
    B = "b"

@dataclasses.dataclass(frozen=True)
class Rule:
    word: str
    kinds: frozenset = frozenset({"p", "q", "r", "s"})
    def matches(self, text):
        return self.word in text or helper(text) == 3

RULES = (Rule("one"), Rule("two"))

def unrelated(text):
    return text + "!"

def helper(text):
    return len(text) + deeper()

def deeper():
    return 0

def odd(n):
    return n != 0 and even(n - 1)

def even(n):
    return n == 0 or odd(n - 1)

@function(retries=2)
def triage(message: str, top: int = 3) -> str:
    if message in {"a", "b", "c", "d", "e"}:
        return "letter"
    found = [word for word in WORDS if word in message]
    if PATTERN.search(message) and LIMITS and odd(3):
        return Kind.A.value
    return f"{found}{helper(message)}{any(rule.matches(message) for rule in RULES)}"
'''

SHOW = """
import sys
from pipeline.functions import load_function_file
print(load_function_file(sys.argv[1], "triage").find_version().id)
"""


def version(folder: Path, source: str) -> str:
    folder.mkdir(exist_ok=True)
    path = folder / "my_versioned_task.py"
    path.write_text(source)
    return load_function_file(path, "triage").find_version().id


def in_fresh_process(arguments: list[str], seed: str) -> str:
    environment = {**os.environ, "PYTHONHASHSEED": seed}
    done = subprocess.run([sys.executable, *arguments], capture_output=True, text=True, env=environment, check=True)
    return done.stdout.strip()


def test_a_version_is_the_same_in_every_process_and_folder(tmp_path: Path) -> None:
    here = version(tmp_path / "a", TASK)
    (tmp_path / "b").mkdir()
    elsewhere = tmp_path / "b" / "another_name.py"
    elsewhere.write_text(TASK)
    found = {in_fresh_process(["-c", SHOW, str(elsewhere)], seed) for seed in ("0", "1", "2", "random")}
    assert found == {here}


def test_a_version_without_source_is_the_same_in_every_process() -> None:
    program = f"exec({TASK!r})\nprint(triage.find_version().id)"
    found = {in_fresh_process(["-c", program], seed) for seed in ("0", "1", "2")}
    assert len(found) == 1
    assert len(found.pop()) == 64


def test_a_script_and_its_import_give_one_version(tmp_path: Path) -> None:
    script = tmp_path / "my_script.py"
    script.write_text(TASK + "\nif __name__ == '__main__':\n    print(triage.find_version().id)\n")
    as_main = in_fresh_process([str(script)], "1")
    assert as_main == in_fresh_process(["-c", SHOW, str(script)], "2")


@pytest.mark.parametrize(
    "old, new",
    [
        ('return text + "!"', 'return text + "?"'),
        ('"""A task file."""', '"""A task file.\n\nWith more lines.\n"""'),
        ("@function(retries=2)", "@function(retries=2, num_cpus=2, concurrency=5, rate_limit=3)"),
        ("def unrelated", "def further(x):\n    return x\n\ndef unrelated"),
    ],
)
def test_edits_elsewhere_leave_a_version_alone(tmp_path: Path, old: str, new: str) -> None:
    assert old in TASK
    assert version(tmp_path, TASK) == version(tmp_path, TASK.replace(old, new))


@pytest.mark.parametrize(
    "old, new",
    [
        ('return "letter"', 'return "character"'),
        ("return len(text)", "return 2 * len(text)"),
        ("    return 0", "    return 1"),
        ('"refund", ', ""),
        ('compile("[0-9]+", re.I)', 'compile("[0-9]+")'),
        ("2.5", "2.6"),
        ('"x", "y"', '"x", "w"'),
        ('A = "a"', 'A = "c"'),
        ("self.word in text", "text in self.word"),
        ('Rule("two")', 'Rule("three")'),
        ("n == 0 or", "n == 1 or"),
        ("top: int = 3", "top: int = 4"),
        ("top: int", "top: float"),
        ("-> str", "-> str | None"),
        ("retries=2", "retries=3"),
        ("retries=2", 'retries=2, env={"A": "b"}'),
        ("retries=2", "retries=2, timeout_s=3"),
    ],
)
def test_edits_of_what_a_function_refers_to_change_its_version(tmp_path: Path, old: str, new: str) -> None:
    assert old in TASK
    assert version(tmp_path, TASK) != version(tmp_path, TASK.replace(old, new))


def closure(factor: float, helper: Callable[[float], float]) -> RemoteFunction:
    def scale(x: float) -> float:
        return helper(x) * factor

    return RemoteFunction(scale)


@pytest.mark.parametrize("read", ["os.environ['ASSAY_TEST_SHELL']", "environ.get('ASSAY_TEST_SHELL')", "sys.argv[0]"])
def test_the_shell_that_a_command_is_given_in_is_no_part_of_a_version(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, read: str
) -> None:
    source = f"import os, sys\nfrom os import environ\ndef triage(message: str) -> str:\n    return {read}\n"
    before = version(tmp_path, source)
    monkeypatch.setenv("ASSAY_TEST_SHELL", "another")
    monkeypatch.setattr(sys, "argv", ["another"])
    assert version(tmp_path, source) == before


def test_what_is_closed_over_is_part_of_a_version() -> None:
    def same(x: float) -> float:
        return x

    def twice(x: float) -> float:
        return 2 * x

    first = closure(1.0, same).find_version()
    assert first == closure(1.0, same).find_version()
    assert len({first.id, closure(2.0, same).find_version().id, closure(1.0, twice).find_version().id}) == 3
    assert first.source.startswith("def scale(x: float)")


def test_a_neighbours_function_is_part_of_a_version_but_not_the_rest_of_its_file(tmp_path: Path) -> None:
    neighbour = "import math\ndef used(x):\n    return {}\ndef unused(x):\n    return {}\n"
    task = (
        "import my_neighbour_{n}\nfrom pipeline.functions import function\n@function\n"
        "def triage(message: str) -> str:\n    return my_neighbour_{n}.used(message)\n"
    )
    found = []
    for number, (used, unused) in enumerate([("x", "x"), ("x", "1"), ("x * 2", "x")]):
        (tmp_path / f"my_neighbour_{number}.py").write_text(neighbour.format(used, unused))
        path = tmp_path / f"my_task_{number}.py"
        path.write_text(task.format(n=number))
        handle = load_function_file(path, "triage")
        found.append(handle.find_version())
    sources = [one.source.replace(str(number), "") for number, one in enumerate(found)]
    assert sources[0] == sources[1] == sources[2]
    # The module's name is part of the source, so versions are compared through one name, in fresh processes.
    ids = []
    for used, unused in [("x", "x"), ("x", "1"), ("x * 2", "x")]:
        (tmp_path / "my_neighbour_n.py").write_text(neighbour.format(used, unused))
        (tmp_path / "my_task_n.py").write_text(task.replace("{n}", "n"))
        ids.append(in_fresh_process(["-c", SHOW, str(tmp_path / "my_task_n.py")], "0"))
    assert ids[0] == ids[1] != ids[2]


def test_a_file_that_was_edited_after_it_was_loaded_does_not_lend_its_text(tmp_path: Path) -> None:
    path = tmp_path / "my_edited_task.py"
    path.write_text(textwrap.dedent(TASK))
    handle = load_function_file(path, "triage")
    assert "letter" in handle.find_version().source
    path.write_text(TASK.replace("letter", "character"))
    assert handle.find_version().source == ""


def test_a_global_that_changes_between_two_deploys_changes_the_version() -> None:
    scope: dict[str, Any] = {}
    exec("from pipeline.functions import function\nN = 1\n@function\ndef f(x: int) -> int:\n    return x + N", scope)
    first = scope["f"].find_version().id
    scope["N"] = 2
    assert scope["f"].find_version().id != first


def test_another_decorated_function_is_looked_into() -> None:
    def build(body: str) -> str:
        scope: dict[str, Any] = {}
        text = (
            "from pipeline.functions import function\n@function\ndef clean(x: str) -> str:\n    return {}\n"
            "@function\ndef f(x: str) -> str:\n    return clean(x) or f(x)\n"
        )
        exec(text.format(body), scope)
        return str(scope["f"].find_version().id)

    assert build("x") == build("x") != build("x.strip()")


def test_the_name_is_part_of_a_version() -> None:
    def f(x: int) -> int:
        return x

    assert RemoteFunction(f).find_version().id != RemoteFunction(f, name="g").find_version().id
