"""Drives a run from the terminal: progress, Ctrl-C, and what is told when it ends."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from pipeline.cli.exit_codes import ExitCode, tell
from pipeline.cli.gates import Floor, judge
from pipeline.cli.interruption import ctrl_c
from pipeline.cli.progress import ProgressDisplay
from pipeline.cli.screen import print_facts, print_json
from pipeline.cli.summary_view import Finished, print_finished

if TYPE_CHECKING:
    from pipeline.engine import StopSignal
    from pipeline.evaluation import EvaluationClient, EvaluationRun
    from pipeline.evaluation.planning import PlanPreview
    from pipeline.evaluation.progress import OnProgress, RunProgress

POLL_S = 0.5  # seconds between two looks at a run


class Shown(NamedTuple):
    """How the end of a run is shown and judged."""

    as_json: bool
    quiet: bool
    floors: Sequence[Floor]


def follow_run(
    client: EvaluationClient, start: Callable[[OnProgress], EvaluationRun], shown: Shown, *, store: str | None = None
) -> int:
    """Start a run of a store, wait for its end, show it, and return the exit status.

    Args:
        client: whose run it is.
        start: starts the run, or returns one that has ended already.
        store: what `--store` was, for the commands that are shown.
    """
    from pipeline.evaluation.runner import live_run, stop_live_runs

    driver = _Driver()
    with ProgressDisplay(quiet=shown.quiet) as display, ctrl_c(driver.stop, driver.kill):
        try:
            begun = start(display)
        except KeyboardInterrupt:
            stop_live_runs()  # it may have begun all the same, and would be waited for
            raise
        driven = live_run(client.store.url, begun.id)
        driver.signal = driven.stop if driven is not None else None
        if begun.is_terminal and not shown.quiet:
            tell(f"run {begun.id} of equal content is finished already; --new starts another")
        run = begun.wait(timeout=None, poll_interval=POLL_S, raise_on_failure=False)
    return show_run_end(run, shown, store=store, rows_here=display.rows_here)


class _Driver:
    """Stops the run that this process drives. Called by signal handlers, so it only sets attributes, or raises."""

    signal: StopSignal | None = None
    """None before the run has begun."""

    def stop(self) -> None:
        self._begun().stop()

    def kill(self) -> None:
        self._begun().kill()

    def _begun(self) -> StopSignal:
        if self.signal is None:
            raise KeyboardInterrupt
        return self.signal


def show_run_end(run: EvaluationRun, shown: Shown, *, store: str | None = None, rows_here: int = 0) -> int:
    """Show how a run ended, after `rows_here` rows done by this process, and return the exit status."""
    from pipeline.evaluation import EvaluationRunStatus, result_files

    if run.status is EvaluationRunStatus.SUCCEEDED:
        finished = Finished.of_run(run, result_files(run), store, rows_here)
        print_finished(finished, as_json=shown.as_json)
        return judge(finished.summary, shown.floors)
    if shown.as_json:
        print_json(unfinished_json(run))
    is_canceled = run.status is not EvaluationRunStatus.FAILED
    option = f" --store {shlex.quote(store)}" if store else ""
    done = f" ({_done(run.progress)})" if run.progress else ""
    tell(
        f"run {run.id} {'was interrupted' if is_canceled else 'failed'}{done}: {run.error_message or run.status.value}"
    )
    tell(f"go on with: assay resume {run.id}{option}")
    return ExitCode.INTERRUPTED if is_canceled else ExitCode.FAULT


def _done(progress: RunProgress) -> str:
    inside = f", and about {progress.rows_in_work:,} in parts that are not" if progress.rows_in_work else ""
    return f"{progress.rows_done:,} of {progress.rows:,} rows done{inside}"


def unfinished_json(run: EvaluationRun) -> dict[str, object]:
    """The object of `--json` of a run without a result."""
    return {
        "run": run.id,
        "status": run.status.value,
        "rows": run.rows,
        "failed": sum(run.progress.failures.values()) if run.progress else None,
        "duration_s": run.duration_s,
        "result": None,
        "files": [],
        "summary": None,
        "error": run.error_message,
    }


def show_preview(preview: PlanPreview, *, as_json: bool) -> int:
    """Show what a run would do."""
    if as_json:
        print_json(preview._asdict())
        return ExitCode.DONE
    calls = ", ".join(f"{count:,} of {name}" for name, count in preview.calls.items())
    print_facts([("parts", preview.parts), ("rows", preview.rows), ("calls", calls or "none of Python functions")])
    return ExitCode.DONE
