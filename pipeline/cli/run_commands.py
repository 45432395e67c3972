"""`assay runs`, `show`, `cancel`, `resume`: runs that are on the store."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from pipeline.cli import options
from pipeline.errors import EvaluationNotFoundError

if TYPE_CHECKING:
    from pipeline.evaluation import Evaluation, EvaluationRun

N_LISTED = 20  # runs that `assay runs` shows unless asked for more


def list_runs(
    store: options.StoreOption = None,
    evaluation: Annotated[str | None, typer.Option("--evaluation", metavar="ID", help="Only runs of this one.")] = None,
    suite: Annotated[str | None, typer.Option("--suite", metavar="ID", help="Only runs of this suite.")] = None,
    limit: Annotated[int, typer.Option("--limit", "-n", metavar="N", min=1, help="The newest N runs.")] = N_LISTED,
    as_json: options.JsonOption = False,
) -> int:
    """List runs, newest first."""
    from pipeline.cli.exit_codes import ExitCode, tell
    from pipeline.cli.screen import print_json, print_table, shown_seconds
    from pipeline.evaluation import EvaluationClient

    client = EvaluationClient(store)
    if evaluation is not None:
        client.get(evaluation)
    if suite is not None and suite not in [found.id for found in client.list_suites()]:
        raise EvaluationNotFoundError(f"no suite {suite!r} in the store {client.store.display}")
    runs = list(client.list_runs(evaluation_id=evaluation, suite_id=suite, limit=limit))
    names = {key: client.get(key).name for key in {run.evaluation_id for run in runs}}
    if as_json:
        print_json([_run_json(run, names[run.evaluation_id]) for run in runs])
        return ExitCode.DONE
    if not runs:
        tell(f"there are no runs in {client.store.display}")
        return ExitCode.DONE
    rows = [
        [
            run.id,
            names[run.evaluation_id],
            run.status.value,
            run.rows,
            run.summary.failed if run.summary else None,
            _means(run),
            (run.created_at or "")[:19].replace("T", " "),
            shown_seconds(run.duration_s),
        ]
        for run in runs
    ]
    headers = ["run", "evaluation", "status", "rows", "failed", "means", "created (UTC)", "took"]
    print_table(headers, rows, right=("rows", "failed", "took"), whole=("run", "created (UTC)"))
    return ExitCode.DONE


def show(run: options.ResultArgument, store: options.StoreOption = None, as_json: options.JsonOption = False) -> int:
    """Show what a run is, how far it is, and what it amounts to."""
    from pipeline.cli.exit_codes import ExitCode
    from pipeline.cli.folder_view import show_folder
    from pipeline.cli.lookup import find_run_id, is_result_folder
    from pipeline.cli.screen import print_facts, print_json
    from pipeline.cli.summary_view import print_summary
    from pipeline.evaluation import EvaluationClient
    from pipeline.evaluation.catalog import Catalog

    if is_result_folder(run):
        return show_folder(run, as_json=as_json)
    client = EvaluationClient(store)
    found = client.get_run(find_run_id(client.store, run))
    evaluation = client.get(found.evaluation_id)
    task = Catalog(client.store).evaluation(evaluation.id).task_name
    if as_json:
        print_json({**_run_json(found, evaluation.name), **_details(found, evaluation, task)})
        return ExitCode.DONE
    print_facts(_facts(found, evaluation, task))
    if found.summary is not None:
        print()
        print_summary(found.summary)
    return ExitCode.DONE


def cancel(run: options.RunArgument, store: options.StoreOption = None) -> int:
    """Ask whoever drives a run to stop; finished parts are kept."""
    from pipeline.cli.exit_codes import ExitCode
    from pipeline.cli.lookup import find_run_id, refuse_result_folder
    from pipeline.evaluation import EvaluationClient

    refuse_result_folder(run)
    client = EvaluationClient(store)
    found = client.cancel(find_run_id(client.store, run))
    print(f"asked for: run {found.id} stops within seconds; `assay resume {found.id}` goes on with it")
    return ExitCode.DONE


def resume(
    run: options.RunArgument,
    store: options.StoreOption = None,
    engine: options.EngineOption = None,
    ray_address: options.RayAddressOption = None,
    workers: options.WorkersOption = None,
    trust: options.TrustOption = None,
    fail_under: options.FailUnderOption = None,
    max_failures: options.MaxFailuresOption = None,
    part_timeout: options.PartTimeoutOption = None,
    memory_limit: options.MemoryLimitOption = None,
    force: options.ForceOption = False,
    as_json: options.JsonOption = False,
    quiet: options.QuietOption = False,
) -> int:
    """Go on with a run that was stopped, killed or failed; finished parts are not done again."""
    from pipeline.cli.execution import Shown, follow_run
    from pipeline.cli.gates import parse_floors
    from pipeline.cli.lookup import find_run_id, refuse_result_folder
    from pipeline.evaluation import EvaluationClient
    from pipeline.functions import TrustPolicy

    refuse_result_folder(run)
    client = EvaluationClient(store)
    run_id = find_run_id(client.store, run)
    return follow_run(
        client,
        lambda on_progress: client.resume(
            run_id,
            engine=engine or "auto",
            ray_address=ray_address,
            workers=workers,
            max_failures=max_failures,
            part_timeout_s=part_timeout,
            memory_limit=memory_limit,
            on_progress=on_progress,
            force=force,
            trust=TrustPolicy.of(trust or ()),
        ),
        Shown(as_json, quiet, parse_floors(fail_under, None)),
        store=store,
    )


def _means(run: EvaluationRun) -> str | None:
    if run.summary is None:
        return None
    means = [(scorer.name, scorer.mean) for scorer in run.summary.scorers]
    return ", ".join(f"{name} {'-' if mean is None else format(mean, '.3f')}" for name, mean in means)


def _facts(run: EvaluationRun, evaluation: Evaluation, task: str | None) -> list[tuple[str, Any]]:
    from pipeline.cli.progress import progress_line
    from pipeline.cli.screen import shown_seconds

    result = run.result_dataset
    version = (evaluation.task_function_version_id or "")[:12]
    return [
        ("run", run.id),
        ("status", run.status.value),
        ("error", run.error_message),
        ("evaluation", f"{evaluation.name} ({evaluation.id})"),
        ("dataset", f"{evaluation.dataset_id}@{(evaluation.dataset_revision_id or '')[:12]}"),
        ("task", f"{task} ({version})" if task else f"none: the column {evaluation.output_column!r} is scored"),
        ("progress", progress_line(run.progress) if run.progress and run.summary is None else None),
        ("rows", run.rows),
        ("created", f"{run.created_at} by {run.created_by}"),
        ("took", shown_seconds(run.duration_s)),
        ("metadata", str(run.metadata) if run.metadata else None),
        ("result", f"{result.dataset_id}@{(result.revision_id or '')[:12]}" if result else None),
        ("files", run.where),
        ("next", f"assay {'results' if run.summary else 'resume'} {run.id}" if run.is_terminal else None),
    ]


def _run_json(run: EvaluationRun, name: str) -> dict[str, Any]:
    return {
        "run": run.id,
        "evaluation": {"id": run.evaluation_id, "name": name},
        "status": run.status.value,
        "rows": run.rows,
        "failed": run.summary.failed if run.summary else None,
        "created_at": run.created_at,
        "duration_s": run.duration_s,
        "error": run.error_message,
        "summary": run.summary.model_dump(mode="json") if run.summary else None,
    }


def _details(run: EvaluationRun, evaluation: Evaluation, task: str | None) -> dict[str, Any]:
    result = run.result_dataset
    return {
        "dataset": {"dataset": evaluation.dataset_id, "revision": evaluation.dataset_revision_id},
        "task": task,
        "task_version": evaluation.task_function_version_id,
        "output_column": evaluation.output_column,
        "metadata": run.metadata,
        "result": {"dataset": result.dataset_id, "revision": result.revision_id} if result else None,
        "where": run.where,
    }
