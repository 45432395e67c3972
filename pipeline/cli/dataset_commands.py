"""`assay dataset upload|list|show|read`."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pipeline.cli import options

if TYPE_CHECKING:
    import pyarrow as pa

    from pipeline.store.datasets import RevisionInfo

ROWS_AT_ONCE = 8_192  # rows read at a time; the reader goes forward, so that a prefix costs a prefix
DatasetArgument = Annotated[str, typer.Argument(metavar="NAME[@REVISION]", help="The beginning of a revision will do.")]


def upload(
    name: Annotated[str, typer.Argument(metavar="NAME", help="1 to 63 of a-z 0-9 . _ -")],
    files: Annotated[list[str], typer.Argument(metavar="FILE…", help="CSV, JSONL or Parquet: paths, globs, URLs.")],
    column_type: options.TypeOption = None,
    delimiter: options.DelimiterOption = ",",
    pin: Annotated[bool, typer.Option("--pin", help="Leave Parquet where it is, checked when it is read.")] = False,
    store: options.StoreOption = None,
    as_json: options.JsonOption = False,
    quiet: options.QuietOption = False,
) -> int:
    """Make files the newest revision of a dataset; the same rows again are the same revision."""
    from pipeline.cli.dataset_arguments import expand_paths, parse_types, told_as_option
    from pipeline.cli.exit_codes import ExitCode
    from pipeline.cli.screen import print_facts, print_json
    from pipeline.store import DatasetClient

    client = DatasetClient(store)
    with told_as_option():
        ref = client.upload(
            name,
            expand_paths(files, Path()),
            column_types=parse_types(column_type),
            delimiter=delimiter,
            pin=pin,
            on_progress=None if quiet else _show_bytes(),
        )
    info = next(info for info in client.revisions(name) if info.ref == ref)
    if as_json:
        print_json(_info_json(info))
    else:
        print_facts([*_facts(info), ("next", f"assay dataset read {name} --limit 5")])
    return ExitCode.DONE


def list_datasets(
    store: options.StoreOption = None,
    results: Annotated[bool, typer.Option("--results", help="Also the results of runs.")] = False,
    as_json: options.JsonOption = False,
) -> int:
    """List datasets with their newest revision."""
    from pipeline.cli.exit_codes import ExitCode, tell
    from pipeline.cli.screen import print_json
    from pipeline.store import DatasetClient

    client = DatasetClient(store)
    infos = client.list(results=results)
    if as_json:
        print_json([_info_json(info) for info in infos])
    elif infos:
        _print_infos(infos)
    else:
        tell(f"there are no datasets in {client.store.display}")
    return ExitCode.DONE


def show(dataset: DatasetArgument, store: options.StoreOption = None, as_json: options.JsonOption = False) -> int:
    """Show a dataset's revisions, and the columns of the newest or the one that is named."""
    from pipeline.cli.dataset_arguments import named_reference
    from pipeline.cli.exit_codes import ExitCode
    from pipeline.cli.screen import print_facts, print_json, print_table
    from pipeline.store import DatasetClient, open_store, resolve_revision

    opened = open_store(store)
    ref = named_reference(opened, dataset)
    schema = resolve_revision(opened, ref).to_arrow_schema()
    infos = DatasetClient(opened).revisions(ref.dataset_id or "")
    columns = [(field.name, str(field.type)) for field in schema]
    if as_json:
        types = dict(columns)
        chosen = next(info for info in infos if info.ref == ref)
        print_json({**_info_json(chosen), "types": types, "revisions": [_info_json(info) for info in infos]})
        return ExitCode.DONE
    print_facts(_facts(next(info for info in infos if info.ref == ref)))
    print()
    print_table(["column", "type"], columns, whole=("column",), prose=("type",))
    print()
    _print_infos(infos)
    return ExitCode.DONE


def read(
    dataset: DatasetArgument,
    store: options.StoreOption = None,
    limit: options.LimitOption = None,
    form: options.FormatOption = "table",
    output: options.OutputOption = None,
) -> int:
    """Print a dataset's rows."""
    from pipeline.cli.dataset_arguments import named_reference
    from pipeline.cli.exit_codes import ExitCode
    from pipeline.cli.row_output import print_rows
    from pipeline.store import open_store

    opened = open_store(store)
    print_rows(_tables(opened, named_reference(opened, dataset)), form, output, limit)
    return ExitCode.DONE


def _tables(store: Any, ref: Any) -> Iterator[pa.Table]:
    from pipeline.store import RevisionReader, resolve_revision

    revision = resolve_revision(store, ref)
    with RevisionReader(store, revision) as reader:
        yield reader.schema.empty_table()
        for first in range(0, revision.rows, ROWS_AT_ONCE):
            yield reader.read(first, min(ROWS_AT_ONCE, revision.rows - first))


def _show_bytes() -> Any:
    """What shows progress of an upload: a plain line for each tenth, on stderr."""
    told = 0

    def show_bytes(done: int, total: int) -> None:
        nonlocal told
        tenth = 10 * done // total if total else 10
        if tenth > told:
            told = tenth
            print(f"read {done:,} of {total:,} bytes", file=sys.stderr, flush=True)

    return show_bytes


def _print_infos(infos: Iterable[RevisionInfo]) -> None:
    from pipeline.cli.screen import print_table

    print_table(
        ["dataset", "revision", "rows", "bytes", "columns", "uploaded (UTC)"],
        map(_row, infos),
        right=("rows", "bytes", "columns"),
        whole=("dataset", "revision", "uploaded (UTC)"),
    )


def _row(info: RevisionInfo) -> list[Any]:
    uploaded = f"{info.uploaded_at:%Y-%m-%d %H:%M:%S}"
    return [info.ref.dataset_id, (info.ref.revision_id or "")[:12], info.rows, info.bytes, len(info.columns), uploaded]


def _facts(info: RevisionInfo) -> list[tuple[str, Any]]:
    source = ": ".join(value for value in info.source.values() if value)
    return [
        ("dataset", info.ref.dataset_id),
        ("revision", info.ref.revision_id),
        ("rows", info.rows),
        ("bytes", info.bytes),
        ("from", source or None),
    ]


def _info_json(info: RevisionInfo) -> dict[str, Any]:
    return {
        "dataset": info.ref.dataset_id,
        "revision": info.ref.revision_id,
        "rows": info.rows,
        "bytes": info.bytes,
        "columns": list(info.columns),
        "uploaded_at": info.uploaded_at.isoformat(),
        "source": info.source,
    }
