"""Functions named as `my_task.py:triage`."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from pipeline.errors import FunctionSignatureError, InputError
from pipeline.functions import RemoteFunction, load_function_file
from pipeline.functions.files import load_function_reference

SOURCE = """
from my_near_{n} import MARK
from pipeline.functions import function

LIMIT = 3

@function(retries=1)
def triage(message: str) -> str:
    return message + MARK

def plain(message: str) -> str:
    return message

def bare(message):
    return message
"""


def write(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.write_text(text)
    return path


def test_a_decorated_and_a_plain_function_are_found(tmp_path: Path) -> None:
    write(tmp_path, "my_near_1.py", "MARK = '!'\n")
    path = write(tmp_path, "my_task_a.py", SOURCE.replace("{n}", "1"))
    triage = load_function_file(path, "triage")
    plain = load_function_reference("my_task_a.py:plain", tmp_path)
    assert (triage("a"), plain("a")) == ("a!", "a")
    assert isinstance(plain, RemoteFunction)
    assert plain.is_decorated
    assert load_function_file(path, "triage") is triage


def test_a_file_that_changed_is_run_again(tmp_path: Path) -> None:
    path = write(tmp_path, "my_task_b.py", "def f(x: str) -> str:\n    return 'old'\n")
    assert load_function_file(path, "f")("") == "old"
    path.write_text("def f(x: str) -> str:\n    return 'newer'\n")
    assert load_function_file(path, "f")("") == "newer"


def test_two_files_of_one_name_do_not_mix(tmp_path: Path) -> None:
    found = []
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        path = write(tmp_path / folder, "my_task_c.py", f"def f(x: str) -> str:\n    return '{folder}'\n")
        found.append(load_function_file(path, "f"))
    assert [f("") for f in found] == ["a", "b"]


@pytest.mark.parametrize(
    "name, text, wanted, message",
    [
        (
            "my_t1.py",
            "def triage(x: str) -> str:\n    return x\n",
            "triag",
            "has no function 'triag'; did you mean 'triage'",
        ),
        ("my_t2.py", "def triage(x: str) -> str\n", "triage", r"my_t2\.py, line 1: expected ':'"),
        ("my_t3.py", "\n\nimport no_such_module_at_all\n", "f", r"my_t3\.py, line 3: ModuleNotFoundError: No module"),
        ("my_t4.py", "raise SystemExit('usage')\n", "f", "SystemExit: usage"),
        ("my_t5.py", "LIMIT = 3\n", "LIMIT", "is a int, expected a function"),
        (
            "scorers.py",
            "def f(x: str) -> float:\n    return 1.0\n",
            "f",
            "hides assay's own package 'scorers'.*my_scorers.py",
        ),
        ("pipeline.py", "", "f", "my_pipeline.py"),
        ("my_t6.py", "x = '\0'", "f", "my_t6.py"),
    ],
)
def test_what_is_wrong_with_a_file_is_said(tmp_path: Path, name: str, text: str, wanted: str, message: str) -> None:
    path = write(tmp_path, name, text)
    with pytest.raises(InputError, match=message):
        load_function_file(path, wanted)
    assert path.stem not in sys.modules or path.stem in ("scorers", "pipeline", "my_t1", "my_t5")


def test_a_missing_file_and_a_reference_of_another_form_are_said(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="No such file"):
        load_function_file(tmp_path / "my_none.py", "f")
    for reference in ("my_task.py", "triage", "my_task:f", "my_task.py:", "my_task.py:f()"):
        with pytest.raises(InputError, match=r"write it as my_task\.py:triage"):
            load_function_reference(reference, tmp_path)


def test_a_plain_function_without_annotations_is_refused(tmp_path: Path) -> None:
    path = write(tmp_path, "my_task_d.py", "def bare(message):\n    return message\n")
    with pytest.raises(FunctionSignatureError, match="no annotation"):
        load_function_file(path, "bare")


def test_a_file_named_like_the_standard_librarys_is_loaded_beside_it(tmp_path: Path) -> None:
    path = write(tmp_path, "json.py", "def f(x: str) -> str:\n    return 'mine'\n")
    assert load_function_file(path, "f")("") == "mine"
    assert hasattr(sys.modules["json"], "dumps")
