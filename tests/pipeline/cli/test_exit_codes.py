"""Which status an error stands for, and what is said of it."""

from __future__ import annotations

import pytest

from pipeline import errors
from pipeline.cli.exit_codes import ExitCode, guarded


def raising(error: BaseException):
    def command() -> None:
        raise error

    return command


@pytest.mark.parametrize(
    "error, code",
    [
        (errors.InputError("x"), ExitCode.BAD_INPUT),
        (errors.DatasetError("x"), ExitCode.BAD_INPUT),
        (errors.EvaluationNotFoundError("x"), ExitCode.BAD_INPUT),
        (errors.FunctionSignatureError("x"), ExitCode.BAD_INPUT),
        (errors.UntrustedFunctionError("x"), ExitCode.BAD_INPUT),
        (errors.PlanMismatchError("x"), ExitCode.BAD_INPUT),
        (errors.DeniedError("x"), ExitCode.FAULT),
        (errors.CorruptError("x"), ExitCode.FAULT),
        (errors.EngineError("x"), ExitCode.FAULT),
        (errors.FailingRunError("x"), ExitCode.FAULT),
        (errors.EvaluationRunFailedError("x"), ExitCode.FAULT),
        (errors.InterruptedRunError("x"), ExitCode.INTERRUPTED),
    ],
)
def test_each_error_has_its_status_and_its_message(
    error: Exception, code: int, capsys: pytest.CaptureFixture[str]
) -> None:
    assert guarded(raising(error)) == code
    assert capsys.readouterr() == ("", "assay: x\n")


def test_ctrl_c_is_130(capsys: pytest.CaptureFixture[str]) -> None:
    assert guarded(raising(KeyboardInterrupt())) == 130
    assert capsys.readouterr().err == "assay: interrupted\n"


def test_a_value_error_of_a_library_is_our_defect(capsys: pytest.CaptureFixture[str]) -> None:
    assert guarded(lambda: int("x")) == ExitCode.FAULT
    assert "unexpected ValueError" in capsys.readouterr().err


def test_a_value_error_of_ours_is_bad_input(capsys: pytest.CaptureFixture[str]) -> None:
    from scorers import exact_match

    assert guarded(lambda: exact_match(name="")) == ExitCode.BAD_INPUT
    assert "scorer name '' is not allowed" in capsys.readouterr().err


def test_a_full_disk_is_a_fault_with_its_reason(capsys: pytest.CaptureFixture[str]) -> None:
    assert guarded(raising(OSError(28, "No space left on device", "a/b"))) == ExitCode.FAULT
    assert capsys.readouterr().err == "assay: No space left on device: a/b\n"


def test_debug_shows_the_traceback_too(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ASSAY_DEBUG", "1")
    guarded(raising(errors.InputError("x")))
    assert "Traceback" in capsys.readouterr().err


def test_the_status_of_a_command_is_what_it_returns() -> None:
    assert guarded(lambda: 3) == 3
    assert guarded(lambda: None) == 0
