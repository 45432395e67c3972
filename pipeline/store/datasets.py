"""DatasetClient: tables of any form become revisions of a named dataset, and are read back."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from itertools import chain
from pathlib import Path
from typing import Any

import pyarrow as pa

from pipeline.errors import InputError
from pipeline.records.dataset import DatasetRevisionRef, PartFile, Revision, encode_schema
from pipeline.records.names import check_name
from pipeline.store.faults import translate
from pipeline.store.heads import HeadEntry, list_heads
from pipeline.store.parquet import write_parquet
from pipeline.store.pinned import pin_files
from pipeline.store.revision_reader import RevisionReader
from pipeline.store.revisions import as_ref, get_revision, newest_revision, register_revision
from pipeline.store.row_order import in_row_order
from pipeline.store.scratch import scratch_folder
from pipeline.store.sources import Progress, Source, SourceOptions, cut_parts, open_source
from pipeline.store.sources.column_types import parse_column_types
from pipeline.store.store import Store, open_store


@dataclass(frozen=True)
class RevisionInfo:
    """One revision of a dataset, as `list` and `revisions` show it."""

    dataset_id: str
    revision_id: str
    rows: int
    bytes: int
    """Of its Parquet files."""
    columns: tuple[str, ...]
    uploaded_at: datetime
    """UTC."""
    source: dict[str, str]
    """`kind` and `from`, for people."""

    @property
    def ref(self) -> DatasetRevisionRef:
        """The reference; this object may stand in its place too."""
        return DatasetRevisionRef(dataset_id=self.dataset_id, revision_id=self.revision_id)


class DatasetClient:
    """Datasets in a store. Thread-safe."""

    def __init__(self, store: Store | str | os.PathLike[str] | None = None) -> None:
        """Open `store`: None stands for `$ASSAY_STORE`, else `.assay` in the working folder."""
        self.store = open_store(store)

    def upload(
        self,
        name: str,
        data: Any,
        *,
        part_size_bytes: int = 16 * 1024 * 1024,
        timeout: float = 300.0,
        on_progress: Callable[[int, int], None] | None = None,
        column_types: Mapping[str, pa.DataType | str] | None = None,
        delimiter: str = ",",
        pin: bool = False,
    ) -> DatasetRevisionRef:
        """Store `data` as the newest revision of a dataset; the same data again is the same revision.

        Args:
            name: 1 to 63 of `a-z 0-9 . _ -`.
            data: a path, glob or URL of CSV, JSON Lines or Parquet, several of them, an Arrow table, batch or reader, a
                dataframe, `{column: values}`, or a list of row mappings.
            part_size_bytes: size of one piece of a multipart transfer; a hint: the store's client may choose another.
            timeout: seconds for each request to the store.
            on_progress: called with bytes read so far and in all; the two are equal when everything is stored.
            column_types: types of columns of CSV, JSON Lines and rows that are given instead of being found:
                `{"zip": "string"}` keeps the cells of a CSV file as they are written: `007`, `1.0`, `true`, ` x`, and
                `null` and `NULL` too; only an empty cell is null. In JSON Lines and rows it makes numbers, booleans,
                lists and objects their JSON text, for a number in a file the very text there; null stays null.
                Without it, `null` and `NULL` in CSV are null.
            delimiter: of CSV files.
            pin: leave Parquet files where they are; they are checked against their digests when they are read.

        Raises:
            ValueError, TypeError: arguments that are wrong whatever the data is.
            DatasetError: data that cannot be stored as it is; names file, line or row, and column.
        """
        checked = _check_upload(name, part_size_bytes, on_progress, delimiter)
        store = self._within(timeout)
        progress = Progress(on_progress)
        if pin and column_types:
            raise InputError("column_types is for CSV, JSON Lines and rows; pinned Parquet has types of its own")
        if pin:
            revision = pin_files(_paths_to_pin(data), checked, progress)
        else:
            source = open_source(data, progress, SourceOptions(parse_column_types(column_types), delimiter))
            store.probe()
            revision = _store_rows(store, checked, source)
        ref = register_revision(store, revision)
        progress.finish()
        return ref

    def read(self, revision: Any, *, timeout: float = 300.0) -> pa.Table:
        """All rows of a revision, in order.

        Args:
            revision: a reference with both ids, an object like it, a revision id, or a run that has succeeded.

        Raises:
            ValueError: a reference by name (see `resolve`), a blank id.
            DatasetError: no such revision, or a run that has no result.
        """
        store = self._within(timeout)
        found = get_revision(store, _revision_id(revision))
        with RevisionReader(store, found) as reader:
            table = reader.read(0, found.rows)
        return in_row_order(table)

    def resolve(self, name: Any) -> DatasetRevisionRef:
        """The newest revision of a dataset, pinned: a name, or any reference, becomes one with both ids.

        Raises:
            DatasetError: no such dataset or revision (404).
        """
        if isinstance(name, str):
            return DatasetRevisionRef(dataset_id=name.strip(), revision_id=newest_revision(self.store, name))
        ref = as_ref(name)
        if ref.dataset_name is not None:
            return self.resolve(ref.dataset_name)
        get_revision(self.store, str(ref.revision_id))
        return ref

    def revisions(self, name: str) -> list[RevisionInfo]:
        """Every revision of a dataset, newest first; empty for a dataset that is not known."""
        entries = list_heads(self.store, f"datasets/{check_name(name, 'dataset')}")
        return [self._info(name, entry) for entry in reversed(entries)]

    def _info(self, name: str, entry: HeadEntry) -> RevisionInfo:
        found = get_revision(self.store, entry.payload["revision"])
        return RevisionInfo(
            dataset_id=name,
            revision_id=found.id,
            rows=found.rows,
            bytes=sum(part.bytes for part in found.parts),
            columns=tuple(found.to_arrow_schema().names),
            uploaded_at=entry.written_at,
            source=found.source,
        )

    def _within(self, timeout: float) -> Store:
        if isinstance(timeout, bool) or not isinstance(timeout, int | float) or not 0 < timeout < math.inf:
            raise ValueError(f"timeout is {timeout!r}, expected seconds: a positive, finite number")
        return Store(self.store.url, options=self.store.options, timeout_s=float(timeout))

    # Last in the class: below it `list` would be this method.
    def list(self, *, results: bool = False) -> list[RevisionInfo]:
        """The newest revision of every dataset, by name; with `results`, the results of runs too."""
        newest = (self.revisions(name)[:1] for name in self.store.list_folders("datasets"))
        return [info for info in chain.from_iterable(newest) if results or info.source.get("kind") != "run"]


def _check_upload(name: str, part_size_bytes: int, on_progress: object, delimiter: str) -> str:
    if not isinstance(name, str):
        raise TypeError(f"the dataset's name is a {type(name).__name__}, expected text")
    if not name.strip():
        raise ValueError("the dataset's name is blank; give it one")
    if isinstance(part_size_bytes, bool) or not isinstance(part_size_bytes, int) or part_size_bytes <= 0:
        raise ValueError(f"part_size_bytes is {part_size_bytes!r}, expected a positive whole number of bytes")
    if on_progress is not None and not callable(on_progress):
        raise TypeError("on_progress is not callable; pass a function of (bytes done, bytes in all)")
    if not isinstance(delimiter, str) or len(delimiter) != 1 or delimiter in '"\r\n' or ord(delimiter) > 127:
        raise ValueError(f"delimiter is {delimiter!r}, expected one ASCII character such as ',' or '\\t'")
    return check_name(name.strip(), "dataset")


def _store_rows(store: Store, name: str, source: Source) -> Revision:
    with scratch_folder("upload") as folder:
        parts = tuple(_store_parts(store, name, source, folder / "part.parquet"))
    kept = {"kind": source.kind, "from": source.origin}
    return Revision(
        dataset=name,
        arrow_schema=encode_schema(source.schema),
        parts=parts,
        source={key: value for key, value in kept.items() if value},
    )


def _store_parts(store: Store, name: str, source: Source, local: Path) -> Iterator[PartFile]:
    for table in cut_parts(source.tables()):
        try:
            written = write_parquet(table, local)
        except OSError as error:
            raise translate(error, f"the temporary folder {local.parent.parent}", None) from None
        key = f"datasets/{name}/data/{written.sha256}.parquet"
        store.put(key, local)
        local.unlink()
        del table
        pa.default_memory_pool().release_unused()  # else the allocator keeps several parts' worth
        yield PartFile(path=key, rows=written.rows, bytes=written.bytes, sha256=written.sha256)


def _paths_to_pin(data: Any) -> list[str | os.PathLike[str]]:
    paths = [data] if isinstance(data, str | os.PathLike) else list(data) if isinstance(data, Iterable) else [data]
    if not all(isinstance(path, str | os.PathLike) for path in paths):
        raise TypeError("only Parquet files can be pinned where they are; pass their paths, or upload without pin")
    return paths


def _revision_id(revision: Any) -> str:
    if isinstance(revision, str):
        if not revision.strip():
            raise ValueError("the revision id is blank; pass the one that upload returned")
        return revision.strip()
    if hasattr(revision, "result_dataset"):
        revision = revision.result_dataset
    ref = as_ref(revision)
    if ref.dataset_name is not None:
        raise ValueError(f"a name is read in two steps: client.read(client.resolve({ref.dataset_name!r}))")
    return str(ref.revision_id)
