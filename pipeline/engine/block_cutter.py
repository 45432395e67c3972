"""Cuts a stream of blocks into parts where an upload would cut it, and has them written by tasks of Ray."""

from __future__ import annotations

import pickle
from typing import Any, NamedTuple

import pyarrow as pa

from pipeline.engine.cluster import living_nodes
from pipeline.engine.outcome import Failure
from pipeline.engine.ray_blocks import WHAT, PartPlace, calling
from pipeline.errors import EngineError
from pipeline.records.dataset import PartFile
from pipeline.store.sources import ROWS_PER_PART


class _Piece(NamedTuple):
    """Rows of a block in Ray's object store."""

    ref: Any
    first: int
    end: int
    most_bytes: int
    """Of the whole block's values, at most."""

    @property
    def rows(self) -> int:
        return self.end - self.first


class BlockCutter:
    """Takes blocks in order. Holds references to the rows of about two parts for each CPU, and no rows."""

    def __init__(self, to: PartPlace, root: str) -> None:
        """Take the schema from `to`; `root` is the folder of the package."""
        import ray

        self.schema = to.schema
        self._part_bytes = to.part_bytes
        self._place = ray.put(pickle.dumps(to))
        self._pieces: list[_Piece] = []
        self._in_work: list[Any] = []
        self._written: list[PartFile] = []
        self._most_in_work = max(2, int(sum(node.cpus for node in living_nodes())))
        # No CPU of their own: tasks of Ray Data keep theirs while they wait for their blocks to be taken.
        self._write = ray.remote(num_cpus=0)(calling("write_part", root))
        self._first_cut = ray.remote(num_cpus=0)(calling("first_cut", root))
        self._fixed_bytes = sum(_width(field.type) for field in to.schema)

    def add(self, ref: Any, first: int, end: int, n_bytes: int) -> None:
        """Take the rows `first` to `end` of a block of plain types. Raises what failed so far."""
        # A column of nulls without a type takes no bytes here, but does where it gets the type of the others.
        self._pieces.append(_Piece(ref, first, end, n_bytes + (end - first) * self._fixed_bytes))
        while sum(piece.rows for piece in self._pieces) >= ROWS_PER_PART:
            self._cut()

    def finish(self) -> list[PartFile]:
        """Write the rest; what was written, in order. Raises what failed."""
        while self._pieces:
            self._cut()
        while self._in_work:
            self._settle()
        return self._written

    def _cut(self) -> None:
        part, _ = _split(self._pieces, ROWS_PER_PART)
        rows = sum(piece.rows for piece in part)
        if sum(piece.most_bytes for piece in part) > self._part_bytes:
            rows = _answer(self._call(self._first_cut, part))
        part, self._pieces = _split(self._pieces, rows)
        self._in_work.append(self._call(self._write, part))
        while len(self._in_work) > self._most_in_work:
            self._settle()

    def _call(self, task: Any, part: list[_Piece]) -> Any:
        return task.remote(self._place, [(piece.first, piece.end) for piece in part], *(piece.ref for piece in part))

    def _settle(self) -> None:
        self._written.append(_answer(self._in_work.pop(0)))


def _split(pieces: list[_Piece], rows: int) -> tuple[list[_Piece], list[_Piece]]:
    """The pieces of the first rows, and those of the others."""
    taken: list[_Piece] = []
    for position, piece in enumerate(pieces):
        if rows == 0:
            return taken, pieces[position:]
        count = min(rows, piece.rows)
        taken.append(piece._replace(end=piece.first + count))
        rows -= count
        if count < piece.rows:
            return taken, [piece._replace(first=piece.first + count), *pieces[position + 1 :]]
    return taken, []


def _answer(ref: Any) -> Any:
    import ray

    try:
        found = ray.get(ref)
    except ray.exceptions.RayError as error:
        first_line = str(error).strip().partition("\n")[0]
        raise EngineError(f"a part of {WHAT} could not be written: {type(error).__name__}: {first_line}") from None
    if isinstance(found, Failure):
        raise found.to_error(f"writing a part of {WHAT}")
    return found


def _width(kind: pa.DataType) -> int:
    try:
        return int(kind.bit_width) // 8
    except ValueError:  # not of one width
        return 0
