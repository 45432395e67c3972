"""Which arguments of a test command read as files of the repository."""

from __future__ import annotations

import pytest

from pipeline.records.eval_spec import EvalSpec
from pipeline.session.named_files import named_files, never_there


@pytest.mark.parametrize(
    "argv, files",
    [
        (["sh", "tests/unit.sh"], ["tests/unit.sh"]),
        (["python3", "./check.py", "-v"], ["check.py"]),
        (["pytest", "tests/test_a.py::test_b"], ["tests/test_a.py"]),
        (["make", "test"], []),
        (["sh", "-c", "cat tests/a.sh | wc"], []),
        (["go", "test", "./..."], []),
        (["/usr/bin/env", "../a.sh", "a/../b.sh"], []),
        (["pytest", "--rootdir=a/b", "-k", "not slow", "0.5", "tests/*.py"], []),
    ],
)
def test_paths_are_what_has_a_folder_or_a_suffix_and_nothing_of_a_shell(argv: list[str], files: list[str]) -> None:
    assert list(named_files(argv)) == files


@pytest.mark.parametrize(
    "argv, is_told",
    [
        (["sh", "tests/a.sh"], True),
        (["/usr/bin/python3.12", "tests/a.py"], True),
        (["sh", "tests/unit.sh"], False),
        (["sh", "tests"], False),
        (["sh", "-x", "tests/a.sh"], False),
        (["pytest", "tests/a.py"], False),
        (["sh", "src/a.sh"], False),
    ],
)
def test_only_a_script_among_the_test_files_can_be_made_by_no_session(argv: list[str], is_told: bool) -> None:
    spec = EvalSpec(name="n", task="t", fixture="f", test_files=("tests",))
    assert bool(never_there(argv, spec, {"tests/unit.sh"})) is is_told
    assert never_there(argv, spec, None) == ""
