"""`assay run CONFIG`: an evaluation that is written in a file."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pipeline.cli import options

_NO_TYPES_HERE = " (with `assay dataset upload`; then name that dataset in the config)"

if TYPE_CHECKING:
    from pipeline.evaluation import Evaluation, EvaluationClient
    from pipeline.functions import TrustPolicy
    from pipeline.records.run_config import LoadedConfig


def run(
    config: Annotated[Path, typer.Argument(metavar="CONFIG", help="A YAML file: schema: assay.run, version: 1, …")],
    store: options.StoreOption = None,
    limit: options.LimitOption = None,
    engine: options.EngineOption = None,
    ray_address: options.RayAddressOption = None,
    workers: options.WorkersOption = None,
    partition_by: options.PartitionOption = None,
    part_rows: options.PartRowsOption = None,
    trust: options.TrustOption = None,
    fail_under: options.FailUnderOption = None,
    max_failures: options.MaxFailuresOption = None,
    part_timeout: options.PartTimeoutOption = None,
    memory_limit: options.MemoryLimitOption = None,
    new: options.NewOption = False,
    force: options.ForceOption = False,
    dry_run: options.DryRunOption = False,
    as_json: options.JsonOption = False,
    quiet: options.QuietOption = False,
) -> int:
    """Carry out an evaluation that is written in a YAML file.

    An unfinished run of equal content is continued, a finished one is reported; --new starts another.
    """
    from pipeline.cli.execution import Shown, follow_run, show_preview
    from pipeline.cli.gates import parse_floors
    from pipeline.cli.scorer_arguments import scorer_names, scorers_from_config
    from pipeline.functions import TrustPolicy

    loaded = read_config(config)
    scorers = scorers_from_config(loaded, config.parent)
    shown = Shown(as_json, quiet, parse_floors(fail_under, scorer_names(scorers)))
    rows = limit if limit is not None else loaded.config.limit
    policy = TrustPolicy.of(trust or ())
    client, evaluation = _define(loaded, config.parent, scorers, partition_by, policy, store, dry_run=dry_run)
    if dry_run:
        sized: dict[str, Any] = {"limit": rows, "part_rows": part_rows, "memory_limit": memory_limit}
        return show_preview(client.plan(evaluation.id, workers=workers, **sized), as_json=as_json)
    what: dict[str, Any] = {"limit": rows, "part_rows": part_rows, "new": new, "force": force, "trust": policy}
    where: dict[str, Any] = {"engine": engine or loaded.config.engine, "ray_address": ray_address, "workers": workers}
    bounds: dict[str, Any] = {"part_timeout_s": part_timeout, "memory_limit": memory_limit}
    start = partial(client.run, evaluation.id, max_failures=max_failures, **what, **where, **bounds)
    return follow_run(client, lambda on_progress: start(on_progress=on_progress), shown, store=store)


def read_config(path: Path) -> LoadedConfig:
    """Read a config file. Raises InputError, naming file, line, field and the nearest known one."""
    from pipeline.records.run_config import load_run_config
    from pipeline.store import open_input

    with open_input(path) as file:
        return load_run_config(file.read(), str(path))


def _define(
    loaded: LoadedConfig,
    folder: Path,
    scorers: list[Any],
    partition_by: list[str] | None,
    trust: TrustPolicy,
    store: str | None,
    *,
    dry_run: bool,
) -> tuple[EvaluationClient, Evaluation]:
    from pipeline.cli.dataset_arguments import dataset_reference, told_as_option
    from pipeline.evaluation import EvaluationClient
    from pipeline.functions import load_function_reference
    from pipeline.store import Store, open_store

    config, home = loaded.config, open_store(store)
    place = Store("memory://assay-dry-run") if dry_run else home  # a dry run leaves nothing behind
    task = None if config.task is None else load_function_reference(config.task, folder)
    with told_as_option(_NO_TYPES_HERE):
        dataset = dataset_reference(config.dataset, folder, config.name, home=home, into=place)
    client = EvaluationClient(place)
    evaluation = client.create(
        config.name,
        dataset=dataset,
        task=task,
        scorers=scorers,
        metadata=config.metadata,
        partition_by=partition_by or config.partition_by,
        output_column=config.output_column,
        reuse=True,
        trust=trust,
    )
    return client, evaluation
