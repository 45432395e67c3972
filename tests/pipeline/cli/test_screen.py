"""What people see: plain lines in a pipe, tables and a live line on a terminal."""

from __future__ import annotations

import json
import os
import pty
import re
import subprocess
import sys
from pathlib import Path

import pytest

from pipeline.cli.progress import ProgressDisplay, progress_line
from pipeline.cli.screen import shown, shown_rate, shown_seconds
from pipeline.evaluation import EvaluationRunStatus, RunProgress

HALF = RunProgress(EvaluationRunStatus.RUNNING, 4, 2, 1000, 500, {"model": 3, "judge": 1}, 2.0, 250.0, 2.0)
INSIDE = HALF._replace(rows_in_work=125)
NOTHING = RunProgress(EvaluationRunStatus.PENDING, 1, 0, 0, 0, {}, 0.0, None, None)


def test_a_progress_line_has_rate_time_to_go_and_failures_by_owner() -> None:
    assert progress_line(INSIDE).startswith("running 625 of 1,000 rows (62%), ")
    assert progress_line(HALF) == (
        "running 500 of 1,000 rows (50%), 250 rows/s, 2.00 s to go, failures: 3 model, 1 judge"
    )
    assert progress_line(HALF._replace(tried_again=2, failures={})).endswith(" to go, tried again: 2")
    assert progress_line(NOTHING._replace(rows=1200)) == "starting, 1,200 rows to do"
    assert progress_line(NOTHING._replace(rows=1200, rows_done=1000)) == "starting, 200 of 1,200 rows to do"


def test_plain_lines_come_every_few_seconds(capsys: pytest.CaptureFixture[str]) -> None:
    times = iter([0.0, 1.0, 4.9, 5.1, 6.0])
    with ProgressDisplay(clock=lambda: next(times)) as display:
        for _ in range(5):
            display(HALF)
    display(HALF)  # after the end nothing is shown
    assert capsys.readouterr().err.count("\n") == 2


def test_quiet_shows_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    with ProgressDisplay(quiet=True) as display:
        display(HALF)
    assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize(
    "value, text",
    [
        (None, "-"),
        (0, "0"),
        (12345, "12,345"),
        (0.5, "0.5000"),
        (123456.0, "1.235e+05"),
        ("a\n b", "a b"),
        (True, "yes"),
    ],
)
def test_null_is_shown_apart_from_zero(value, text: str) -> None:
    assert shown(value) == text


@pytest.mark.parametrize(
    "seconds, text", [(None, None), (0.421, "0.42 s"), (12.34, "12.3 s"), (245, "4 min 05 s"), (7380, "2 h 03 min")]
)
def test_durations_are_for_people(seconds: float | None, text: str | None) -> None:
    assert shown_seconds(seconds) == text


@pytest.mark.parametrize("rate, text", [(12345.6, "12,346 rows/s"), (9.87, "9.9 rows/s"), (0.05, "0.05 rows/s")])
def test_slow_rates_are_not_zero(rate: float, text: str) -> None:
    assert shown_rate(rate) == text


def on_a_terminal(folder: Path, *arguments: str, columns: int = 150) -> str:
    """What a command writes to a terminal of its own."""
    ours, its = pty.openpty()
    command = [sys.executable, "-m", "pipeline.cli", *arguments]
    environment = {**os.environ, "TERM": "xterm", "COLUMNS": str(columns)}
    process = subprocess.Popen(command, cwd=folder, stdin=its, stdout=its, stderr=its, env=environment)
    os.close(its)
    written = b""
    while True:
        try:
            chunk = os.read(ours, 65_536)
        except OSError:  # Linux says so when the last writer has gone
            break
        if not chunk:
            break
        written += chunk
    os.close(ours)
    assert process.wait(60) == 0, written.decode()
    return written.decode()


def test_a_terminal_gets_tables_with_lines_and_a_live_line(workplace: Path) -> None:
    seen = on_a_terminal(workplace, "score", "answers.parquet", "--output-column", "answer", "-s", "json_valid")
    assert "──" in seen
    assert "json-valid" in seen
    assert "\x1b[" in seen


@pytest.fixture
def wide(workplace: Path) -> Path:
    """A run over texts that are longer than a terminal is wide."""
    (workplace / "wide.jsonl").write_text(json.dumps({"output": "o" * 300, "note": "n" * 300, "none": None}))
    on_a_terminal(workplace, "score", "wide.jsonl", "-s", "json_valid")
    return workplace


def test_long_cells_are_cut_and_columns_of_nulls_told_below(wide: Path) -> None:
    lines = on_a_terminal(wide, "results", "latest").splitlines()
    assert {len(line) for line in lines[1:3]} == {149}  # the widest that halves of equal width can be
    assert re.sub(r"\x1b\[\d*m", "", lines[0]).split() == ["row", "output", "note", "json-valid_value"]
    assert len(re.findall("[on]…", lines[2])) == 2
    assert "null in every row: none, output_error" in lines


def test_rows_that_do_not_fit_stand_below_each_other(wide: Path) -> None:
    lines = on_a_terminal(wide, "results", "latest", columns=40).splitlines()
    assert lines[:3] == ["row: 0", f"output: {'o' * 31}…", f"note: {'n' * 33}…"]
    assert "json-valid_value: 0.0000" in lines


@pytest.mark.parametrize("columns", [40, 80, 150])
def test_ids_of_runs_are_never_cut(wide: Path, columns: int) -> None:
    seen = on_a_terminal(wide, "runs", columns=columns)
    assert re.search(r"\b[0-9A-Z]{26}\b", seen)
    assert ("run: " in seen) == (columns < 150)


def test_the_summary_fits_into_eighty_characters(wide: Path) -> None:
    seen = on_a_terminal(wide, "show", "latest", columns=80)
    assert "coverage" in seen
    assert "n: " not in seen


def test_a_terminal_gets_json_with_indents(workplace: Path) -> None:
    assert on_a_terminal(workplace, "scorers", "json_valid", "--json").startswith("[\r\n  {")


def test_markup_in_data_is_data(workplace: Path) -> None:
    (workplace / "rows.csv").write_text("text\n[red]x[/red]\n")
    on_a_terminal(workplace, "dataset", "upload", "marked", "rows.csv")
    assert "[red]x[/red]" in on_a_terminal(workplace, "dataset", "read", "marked")


def test_parquet_is_not_written_to_a_terminal(workplace: Path, assay) -> None:
    assay("dataset", "upload", "qa", "answers.parquet")
    with pytest.raises(AssertionError, match="Parquet is not for a terminal"):
        on_a_terminal(workplace, "dataset", "read", "qa", "--format", "parquet")
