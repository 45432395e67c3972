"""`assay show FOLDER`: the folder that `assay score --to` wrote."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pipeline.cli.exit_codes import ExitCode
from pipeline.cli.screen import print_facts, print_json, shown_seconds
from pipeline.cli.summary_view import Finished, next_command, print_summary

if TYPE_CHECKING:
    from pipeline.evaluation.results import ResultFolder
    from pipeline.records.evaluation import Outcome

_UNFINISHED: dict[str, Any] = {
    "run": None, "status": "unfinished", "rows": None, "failed": None, "duration_s": None,
    "result": None, "files": [], "summary": None, "error": None,
}  # fmt: skip
GO_ON = "run the same `assay score` command again: it goes on where it was"


def show_folder(text: str, *, as_json: bool) -> int:
    """Show what a plain result folder holds. Raises DatasetError where no result was begun there."""
    from pipeline.evaluation.results import ResultFolder
    from pipeline.store import Store

    folder = ResultFolder(Store(text), "")
    rows, outcome = folder.plan().rows, folder.outcome()
    if outcome is not None:
        _show_finished(folder, outcome, as_json=as_json)
    elif as_json:
        print_json({**_UNFINISHED, "rows": rows})
    else:
        print_facts([("folder", folder.where), ("status", "unfinished"), ("rows", rows), ("next", GO_ON)])
    return ExitCode.DONE


def _show_finished(folder: ResultFolder, outcome: Outcome, *, as_json: bool) -> None:
    pins: dict[str, Any] = folder.plan().pins
    finished = Finished.of_folder(outcome, folder.where, folder.files())
    if as_json:
        print_json(finished.to_json())
        return
    print_facts(
        [
            ("folder", folder.where),
            ("status", "succeeded"),
            ("scored", f"the column {pins['output_column']!r}"),
            ("rows", outcome.rows),
            ("created", outcome.completed_at),
            ("took", shown_seconds(outcome.duration_s)),
            ("files", len(finished.files)),
            ("next", next_command(finished)),
        ]
    )
    print()
    print_summary(outcome.summary)
