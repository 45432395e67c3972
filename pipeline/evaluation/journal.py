"""Finished rows of an unfinished part, kept beside the result: what is dear is not done again after a loss.

    journal/<part>/<ulid>-<sha256>.arrow   what a stage made of some rows; written every ten seconds, read after a loss
    journal/<part>/at-<row>.json           the stage that one row is in, while a row is done by itself

Scratch: no result depends on it. A piece that is damaged, or of another plan or shape, is as if it were not there.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import pyarrow as pa
from ulid import ULID

from pipeline.errors import StoreError
from pipeline.evaluation.stages import Stage
from pipeline.records.digest import digest_bytes
from pipeline.store import Store
from pipeline.store.gc import JOURNAL

ROW = "__assay_row_id"
ORIGIN = "__assay_origin"
"""Which session made the output that a row of a piece is, or was scored on: scores are used with that output alone."""
_SUFFIX = ".arrow"
_OF = (b"assay.plan", b"assay.stage")


class Kept(NamedTuple):
    """What was kept of one part."""

    pieces: dict[str, pa.Table]
    """By stage: its columns, `ROW` and `ORIGIN`; a row may stand there twice, the first counts."""
    keys: tuple[str, ...]
    """Of all objects, whatever is in them."""


class JournalFolder:
    """The journal of one part on a store."""

    def __init__(self, store: Store, prefix: str, part: int, plan_sha256: str) -> None:
        self._store = store
        self._plan = plan_sha256
        self._folder = f"{journal_folder(prefix)}/{part}"

    def read(self, stages: Iterable[Stage]) -> Kept:
        """What is kept. Nothing where the store cannot be read: the rows are done again."""
        try:
            keys = self._store.list(self._folder)
            names = [key for key in keys if key.endswith(_SUFFIX)]
            read = self._store.read_each(names)
        except StoreError:
            return Kept({}, ())
        schemas = {stage.name: _piece_schema(stage, self._plan) for stage in stages}
        found: dict[str, list[pa.Table]] = {}
        for key, data in zip(names, read, strict=True):
            piece = None if data is None else _parse(key, data)
            name = "" if piece is None else (piece.schema.metadata or {}).get(_OF[1], b"").decode()
            if piece is not None and name in schemas and piece.schema.equals(schemas[name], check_metadata=True):
                found.setdefault(name, []).append(piece)
        return Kept({name: pa.concat_tables(pieces) for name, pieces in found.items()}, tuple(keys))

    def write(self, stage: Stage, made: pa.Table, row_ids: Sequence[int], origins: Sequence[str]) -> str:
        """Keep what a stage made of some rows; the key.

        Args:
            made: of `stage.schema`.
        """
        marks = [pa.array(row_ids, pa.int64()), pa.array(origins, pa.string())]
        piece = pa.table([*marks, *made.columns], _piece_schema(stage, self._plan))
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, piece.schema, options=pa.ipc.IpcWriteOptions(compression="zstd")) as writer:
            writer.write_table(piece)
        data = sink.getvalue().to_pybytes()
        key = f"{self._folder}/{ULID()}-{digest_bytes(data)}{_SUFFIX}"
        self._store.put(key, data)
        return key

    def mark(self, row: int, stage: str) -> None:
        """Say which stage a row is about to enter."""
        self._store.write(self.mark_key(row), json.dumps({"plan": self._plan, "stage": stage}).encode())

    def marked(self, row: int) -> str | None:
        """The stage that a row was in; None where nothing says so."""
        (data,) = self._store.read_each([self.mark_key(row)])
        try:
            mark = json.loads(data or b"{}")
            return str(mark["stage"]) if mark.get("plan") == self._plan else None
        except (ValueError, KeyError, AttributeError):
            return None

    def remove(self, keys: Iterable[str]) -> None:
        """Remove objects; what cannot be removed is swept after the commit."""
        with contextlib.suppress(StoreError):
            for key in keys:
                self._store.delete(key)

    def mark_key(self, row: int) -> str:
        """Where the mark of a row is."""
        return f"{self._folder}/at-{row}.json"


def journal_folder(prefix: str) -> str:
    """Where the journals of a plan's parts are."""
    return f"{prefix}/{JOURNAL}" if prefix else JOURNAL


def journalled_parts(store: Store, prefix: str) -> frozenset[int]:
    """The parts of which something is kept: one listing. Where it fails: none, their rows are done again."""
    with contextlib.suppress(StoreError):
        return frozenset(_parts(store.list_folders(journal_folder(prefix))))
    return frozenset()


def sweep_journal(store: Store, prefix: str) -> None:
    """Remove what is kept of a plan that is committed. A fault here changes nothing."""
    with contextlib.suppress(StoreError):
        for key in store.list(journal_folder(prefix)):
            store.delete(key)


def _parts(folders: Iterable[str]) -> Iterator[int]:
    return (int(name) for name in folders if name.isdecimal())


def _piece_schema(stage: Stage, plan_sha256: str) -> pa.Schema:
    fields = [pa.field(ROW, pa.int64()), pa.field(ORIGIN, pa.string()), *stage.schema]
    return pa.schema(fields, dict(zip(_OF, (plan_sha256.encode(), stage.name.encode()), strict=True)))


def _parse(key: str, data: bytes) -> pa.Table | None:
    if digest_bytes(data) != key.removesuffix(_SUFFIX).rpartition("-")[2]:
        return None
    try:
        return pa.ipc.open_stream(data).read_all()
    except (pa.ArrowException, OSError):
        return None
