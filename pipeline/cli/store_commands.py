"""`assay store check` and `assay gc`: whether a store can be believed, and what may go."""

from __future__ import annotations

import time
from typing import Annotated

import typer

from pipeline.cli import options


def check(
    url: Annotated[str | None, typer.Argument(metavar="[URL]", help="Default: $ASSAY_STORE, else .assay here.")] = None,
    as_json: options.JsonOption = False,
) -> int:
    """Run the whole contract against a store: it writes, reads, races, and removes its traces."""
    from pipeline.cli.exit_codes import ExitCode, tell
    from pipeline.cli.screen import print_json, print_table
    from pipeline.store import open_store
    from pipeline.store.contract import check_store

    store = open_store(url)
    results = check_store(store)
    failed = [result for result in results if not result.passed]
    if as_json:
        print_json({"store": store.display, "passed": not failed, "checks": [result._asdict() for result in results]})
    else:
        rows = [[result.name, "ok" if result.passed else "FAILED", result.detail] for result in results]
        print_table(["check", "outcome", "detail"], rows, prose=("check", "detail"))
    if failed:
        tell(f"{store.display} breaks {len(failed)} of {len(results)} checks: do not keep results there")
        return ExitCode.FAULT
    return ExitCode.DONE


def collect(
    store: options.StoreOption = None,
    apply: Annotated[bool, typer.Option("--apply", help="Remove; without it, only show.")] = False,
    as_json: options.JsonOption = False,
) -> int:
    """Find what no result, revision or living run refers to and is older than a day; remove it with --apply.

    So it is with the folders that killed processes have left among the temporary files.
    """
    from pipeline.cli.exit_codes import ExitCode
    from pipeline.cli.screen import Cell, print_json, print_table
    from pipeline.sandbox import sweep_workspaces
    from pipeline.store import open_store
    from pipeline.store.gc import collect_garbage

    opened = open_store(store)
    items = collect_garbage(opened, apply=apply, now=time.time())
    size = sum(item.bytes for item in items)
    folders = [str(folder) for folder in sweep_workspaces(apply=apply)]
    if as_json:
        told = {"store": opened.display, "removed": apply, "bytes": size, "objects": [i._asdict() for i in items]}
        print_json({**told, "folders": folders})
        return ExitCode.DONE
    if items:
        rows: list[list[Cell]] = [[i.key, i.bytes, i.reason] for i in items]
        print_table(["object", "bytes", "reason"], rows, right=("bytes",), whole=("object",), prose=("reason",))
    done = "removed" if apply else "would be removed; `assay gc --apply` removes them"
    print(f"{len(items):,} objects of {size:,} bytes {done}" if items else f"nothing to remove in {opened.display}")
    for folder in folders:
        print(f"{folder}, which a killed process left, {done}")
    return ExitCode.DONE
