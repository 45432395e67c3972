"""`ray.data.Dataset` in and out: blocks become parts of a dataset, tables become blocks, on Ray's workers.

The driver sees references, counts and digests; no rows.
"""

from __future__ import annotations

import logging
import pickle
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa

from pipeline.engine.block_cutter import BlockCutter
from pipeline.engine.choose import check_shareable, landmarks, named_address
from pipeline.engine.cluster import Cluster, connected
from pipeline.engine.ray_blocks import FAILURE, WHAT, PartPlace, calling, failure_in
from pipeline.errors import DatasetError
from pipeline.records.dataset import DatasetRevisionRef, PartFile, Revision, encode_schema
from pipeline.records.names import check_name
from pipeline.store import Store, open_store, register_revision
from pipeline.store.sources import storable_schema

PACKAGE_ROOT = str(Path(__file__).resolve().parents[2])
OWN_BLOCK_BYTES = (
    16 << 20
)  # of a local Ray of ours, whose object store has 128 MiB; Ray's own default is a block of 128


class TableTask(NamedTuple):
    """Tables that can be had on any worker."""

    tables: Callable[[], Iterator[pa.Table]]
    """Pickled by reference, with all that it needs."""
    rows: int | None
    """None: not known before."""
    bytes: int
    """Of the files, about."""
    files: tuple[str, ...]


def from_ray_dataset(
    dataset: Any,
    name: str,
    *,
    schema: pa.Schema | None = None,
    store: Store | str | None = None,
    ray_address: str | None = None,
) -> DatasetRevisionRef:
    """Store the rows of a `ray.data.Dataset` as the newest revision of a dataset, in the order of its blocks.

    Blocks are written by Ray's workers, in parts of 65,536 rows: `DatasetClient.upload` of the same rows under the
    same types makes the same revision. Nothing is visible before all is written; a block that fails leaves files that
    nothing refers to.

    Args:
        dataset: runs once.
        name: 1 to 63 of `a-z 0-9 . _ -`.
        schema: names and types of the columns; None: those of the first block that has rows. Blocks of other types
            are refused, or cast where they are given here.
        store: as in `DatasetClient`; every node has to see it.
        ray_address: as in `Evaluation.run`; None: the Ray that this process uses.

    Raises:
        TypeError: not a `ray.data.Dataset`.
        ValueError: the name is not allowed.
        DatasetError: rows that cannot be stored as they are, or blocks that differ; or the dataset itself fails.
        EngineError: a store that workers cannot see.
    """
    checked, opened = _check_name(name), open_store(store)
    check_shareable([opened.url])
    _check_is_dataset(dataset)
    opened.probe()
    with _connected(ray_address):
        found, parts = _written(dataset, checked, opened, None if schema is None else storable_schema(schema, WHAT))
    revision = Revision(
        dataset=checked, arrow_schema=encode_schema(found), parts=tuple(parts), source={"kind": "ray.data.Dataset"}
    )
    return register_revision(opened, revision)


def table_to_ray_dataset(table: pa.Table, *, ray_address: str | None = None) -> Any:
    """A table in hand as a `ray.data.Dataset`; it goes into Ray's object store."""
    with _connected(ray_address) as cluster:
        import ray.data

        return _settled(ray.data.from_arrow(table), cluster)


def tasks_to_ray_dataset(
    tasks: Sequence[TableTask], schema: pa.Schema, *, store: Store, ray_address: str | None = None
) -> Any:
    """Tables as a `ray.data.Dataset`, a read task each: they are made where the task runs.

    Args:
        schema: of every table.
        store: where the tables come from; every worker has to see it.

    Raises:
        EngineError: no cluster, or a place that exists in this process only.
    """
    check_shareable([store.url])
    marks = landmarks([store.url])
    with _connected(ray_address) as cluster:
        import ray.data

        source = _source_class()(_read_tasks(tasks, schema, marks), sum(task.bytes for task in tasks))
        return _settled(ray.data.read_datasource(source, override_num_blocks=max(1, len(tasks))), cluster)


def _written(dataset: Any, name: str, store: Store, given: pa.Schema | None) -> tuple[pa.Schema, list[PartFile]]:
    """The schema, and what was written of each part, in order."""
    plain, pickled = calling("plain_block", PACKAGE_ROOT), pickle.dumps(given)
    blocks = dataset.map_batches(
        lambda block: plain(block, pickled), batch_format="pyarrow", batch_size=None, zero_copy_batch=True
    )
    cutter: BlockCutter | None = None
    with _whole_and_in_order(blocks):
        for ref, first, end, n_bytes, schema in _slices(blocks):
            if cutter is None:
                place = PartPlace(store, name, storable_schema(schema, WHAT), landmarks([store.url]))
                cutter = BlockCutter(place, PACKAGE_ROOT)
            cutter.add(ref, first, end, n_bytes)
        if cutter is not None:
            return cutter.schema, cutter.finish()
    return given if given is not None else _schema_of(dataset), []


def _slices(blocks: Any) -> Iterator[tuple[Any, int, int, int, pa.Schema]]:
    """Of each block with rows: its reference, the first row and the row behind the last, its bytes and its schema."""
    import ray

    ask = ray.remote(num_cpus=0)(calling("block_schema", PACKAGE_ROOT))
    try:
        for bundle in blocks.iter_internal_ref_bundles():
            for entry, cut in zip(bundle.blocks, bundle.slices, strict=True):
                first, end = (0, entry.metadata.num_rows) if cut is None else (cut.start_offset, cut.end_offset)
                if first == end:
                    continue
                schema = bundle.schema or ray.get(ask.remote(entry.ref))  # Ray does not always say it
                if FAILURE in schema.names:
                    raise failure_in(ray.get(entry.ref)).to_error(f"reading {WHAT}")
                yield entry.ref, first, end, entry.metadata.size_bytes, schema
    except ray.exceptions.RayError as error:
        raise DatasetError(f"{WHAT} failed while it was carried out: {_raised(error)}") from error


def _schema_of(dataset: Any) -> pa.Schema:
    """Of a dataset without rows."""
    found = dataset.schema()
    schema = getattr(found, "base_schema", None)
    return storable_schema(schema if isinstance(schema, pa.Schema) else pa.schema([]), WHAT)


def _check_name(name: str) -> str:
    if not isinstance(name, str):
        raise TypeError(f"the dataset's name is a {type(name).__name__}, expected text")
    return check_name(name.strip(), "dataset")


def _check_is_dataset(dataset: Any) -> None:
    module = sys.modules.get("ray.data")
    if module is None or not isinstance(dataset, module.Dataset):
        raise TypeError(
            f"from_ray_dataset takes a ray.data.Dataset; found {type(dataset).__name__}: "
            "DatasetClient.upload takes files, tables, frames and rows"
        )


@contextmanager
def _connected(ray_address: str | None) -> Iterator[Cluster]:
    """The Ray of this process, or a named one, or a local one, of which the user is told."""
    ray = sys.modules.get("ray")
    was_up = ray is not None and ray.is_initialized()
    with connected(named_address(ray_address)) as cluster:
        if cluster.is_own and not was_up:
            print("assay: a local Ray was started, which ends with this process; call ray.init() before for another",
                  file=sys.stderr, flush=True)  # fmt: skip
        yield cluster


@contextmanager
def _whole_and_in_order(dataset: Any) -> Iterator[None]:
    """Blocks come in their order, and none that fails is left out; the context is that of the user's dataset too."""
    context, options = dataset.context, dataset.context.execution_options
    before = options.preserve_order, context.max_errored_blocks
    options.preserve_order, context.max_errored_blocks = True, 0
    try:
        yield
    finally:
        options.preserve_order, context.max_errored_blocks = before


def _raised(error: BaseException) -> str:
    """What the user's code raised: Ray Data keeps it as text alone, between a traceback and advice of its own."""
    text = str(error).partition("\n\nThe above exception was")[0]
    lines = text.rstrip().splitlines() or [type(error).__name__]
    frames = [number for number, line in enumerate(lines) if line.startswith("  ")]
    return " ".join(lines[frames[-1] + 1 :] if frames and frames[-1] + 1 < len(lines) else lines[-1:])


def _read_tasks(tasks: Sequence[TableTask], schema: pa.Schema, marks: dict[str, int]) -> list[Any]:
    from ray.data.block import BlockMetadata
    from ray.data.datasource import ReadTask

    read = calling("read_tables", PACKAGE_ROOT)

    def reader(call: bytes) -> Callable[[], Any]:
        return lambda: read(call, marks)

    return [
        ReadTask(
            reader(pickle.dumps(task.tables)),
            BlockMetadata(num_rows=task.rows, size_bytes=task.bytes, input_files=task.files, exec_stats=None),
            schema=schema,
        )
        for task in tasks
    ]


def _source_class() -> Any:
    """Made anew, so that it is pickled by value: workers need not find this module to know it."""
    from ray.data import Datasource

    class ResultSource(Datasource):
        def __init__(self, tasks: list[Any], n_bytes: int) -> None:
            self._tasks = tasks
            self._n_bytes = n_bytes

        def get_name(self) -> str:
            return "AssayResult"

        def estimate_inmemory_data_size(self) -> int:
            return self._n_bytes

        def get_read_tasks(self, *_: Any, **__: Any) -> Any:
            return self._tasks

    return ResultSource


def _settled(dataset: Any, cluster: Cluster) -> Any:
    """On a local Ray of ours: small blocks, and no word of Ray's on the screen."""
    if cluster.is_own:
        dataset.context.target_max_block_size = OWN_BLOCK_BYTES
        dataset.context.enable_progress_bars = False
        logging.getLogger("ray.data").setLevel(logging.ERROR)
    return dataset
