"""The end of a run, for people and for programs."""

from __future__ import annotations

import shlex
import sys
from typing import TYPE_CHECKING, Any, NamedTuple

from pipeline.cli.screen import (
    Cell,
    is_terminal,
    print_facts,
    print_json,
    print_table,
    shown_owners,
    shown_rate,
    shown_seconds,
)
from pipeline.records.summary import add_counts

if TYPE_CHECKING:
    from pipeline.evaluation import EvaluationRun
    from pipeline.records.evaluation import Outcome
    from pipeline.records.summary import Summary

_COUNTS = ("n", "coverage", "mean", "low", "high", "abstained", "skipped", "failed", "outside")
_RARE = ("abstained", "skipped", "outside")  # not shown on a terminal where all are 0


class Finished(NamedTuple):
    """What is shown of a run that succeeded."""

    run: str | None
    """None: a plain result folder."""
    summary: Summary
    duration_s: float | None
    """Reading to commit, without the engine's start; 0 where it was committed before."""
    result: dict[str, str] | None
    """The dataset and revision of the result; None: a plain result folder."""
    where: str
    files: list[str]
    store: str | None = None
    """What `--store` was, for the next command."""
    rows_here: int = 0
    """Rows done in `duration_s`; earlier attempts at the same run did the others."""

    @classmethod
    def of_run(cls, run: EvaluationRun, files: list[str], store: str | None, rows_here: int = 0) -> Finished:
        """A run of a store."""
        assert run.summary is not None
        ref = run.result_dataset
        assert ref is not None
        result = {"dataset": ref.dataset_id or "", "revision": ref.revision_id or ""}
        return cls(run.id, run.summary, run.duration_s, result, run.where, files, store, rows_here)

    @classmethod
    def of_folder(cls, outcome: Outcome, where: str, files: list[str], rows_here: int = 0) -> Finished:
        """A plain result folder."""
        return cls(None, outcome.summary, outcome.duration_s, None, where, files, rows_here=rows_here)

    def to_json(self) -> dict[str, Any]:
        """The object of `--json`; `failed` counts failed outputs and failed scores together."""
        return {
            "run": self.run,
            "status": "succeeded",
            "rows": self.summary.rows,
            "failed": self.summary.failed,
            "duration_s": self.duration_s,
            "result": self.result or self.where,
            "files": self.files,
            "summary": self.summary.model_dump(mode="json"),
        }


def print_finished(finished: Finished, *, as_json: bool) -> None:
    """Show a run that succeeded; the last line is the next command to type."""
    if as_json:
        print_json(finished.to_json())
        return
    print_summary(finished.summary)
    print()
    print_facts(
        [
            ("run", finished.run),
            ("rows", _rows_and_rate(finished)),
            ("result", f"{finished.where} ({len(finished.files):,} file{'s' * (len(finished.files) != 1)})"),
            ("next", next_command(finished)),
        ]
    )


def _rows_and_rate(finished: Finished) -> str:
    """`1,000 in 2.00 s, 500 rows/s`; the time is that of the rows done here alone."""
    rows, here, seconds = finished.summary.rows, finished.rows_here, finished.duration_s
    if not here or not seconds:
        return f"{rows:,}"
    which = f"{rows:,}" if here == rows else f"{rows:,}, {here:,} of them now,"
    return f"{which} in {shown_seconds(seconds)}, {shown_rate(here / seconds)}"


def next_command(finished: Finished) -> str:
    """What one would look at first."""
    place = finished.run or shlex.quote(finished.where)
    store = f" --store {shlex.quote(finished.store)}" if finished.store else ""
    return f"assay results {place}{store}{' --failed' if finished.summary.failed else ''}"


def print_summary(summary: Summary) -> None:
    """The means, each with what it rests on."""
    rows: list[list[Cell]] = []
    for scorer in summary.scorers:
        counts: list[Cell] = [scorer.n, scorer.coverage, scorer.mean, scorer.lower, scorer.upper]
        rows.append([scorer.name, *counts, scorer.abstained, scorer.skipped, scorer.failed, scorer.outside])
    headers = ["scorer", *_COUNTS]
    if is_terminal(sys.stdout):  # so that it fits into 80 characters
        shown = [i for i, header in enumerate(headers) if header not in _RARE or any(row[i] for row in rows)]
        headers, rows = [headers[i] for i in shown], [[row[i] for i in shown] for row in rows]
    print_table(headers, rows, right=_COUNTS, whole=("scorer",))
    kinds = {
        "outputs": summary.output.failed_by_owner,
        "scores": add_counts(scorer.failed_by_owner for scorer in summary.scorers),
    }
    told = [f"failed {kind}: {shown_owners(counts)}" for kind, counts in kinds.items() if counts]
    if told:
        print(f"\n{'; '.join(told)}")
