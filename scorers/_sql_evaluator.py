"""Evaluates SQL scorers over tables, in a child process. A row that cannot be scored costs no other row."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from types import TracebackType
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from scorers._sql import SqlExpression
from scorers._sql_process import LostError, SqlProcess
from scorers._sql_wire import Header, pack, unpack
from scorers.base import VALUE_TYPE

CALL_BYTES = 64 << 20  # of Arrow data in one request; the child holds it once, within its 2 GiB
SHORT_S = 1.0  # CPU: the least that a piece of a lost part gets; a single row gets the whole deadline
LOST_FACTOR = 10  # deadlines that one expression may lose on one part before the rest of its rows is given up
LEAST_LOST_S = 30.0  # CPU: the same for short deadlines, so that a row among 65,536 can be found by halving
RESTART_S = 0.5  # CPU: what a child that ended by itself costs


class Evaluated(NamedTuple):
    """What an expression gave."""

    value: pa.Array
    """float64; null where the row has no score."""
    failed: pa.Array
    """bool; true where the value is null because the expression failed, or gave NaN or an infinity."""


class SqlEvaluator:
    """Expressions, and the child process that evaluates them: started on first use, again when lost.

    Safe for threads, which take turns. Close it, or use it as a context manager; a forgotten one ends its child too.

    Args:
        expressions: names must differ.
        deadline_s: CPU seconds for one request (up to 64 MiB of rows), and for a single row once a request was lost.
        are_conditions: they yield true (1.0) or false (0.0), and no number.
    """

    def __init__(
        self, expressions: Sequence[SqlExpression], *, deadline_s: float = 60.0, are_conditions: bool = False
    ) -> None:
        names = [expression.name for expression in expressions]
        if len(set(names)) != len(names):
            raise ValueError(f"SQL scorers need different names; found {', '.join(names)}")
        self._expressions = {expression.name: expression.expression for expression in expressions}
        self._deadline_s = deadline_s
        self._are_conditions = are_conditions
        self._lock = threading.Lock()
        self._process: SqlProcess | None = None
        self._checked: tuple[pa.Schema, dict[str, tuple[str, ...]]] | None = None
        self.trees: dict[str, dict[str, Any]] = {}
        """By name, after a check: the syntax tree that passed; column `i` of the schema is `column_name(i)` in it."""

    def check(self, schema: pa.Schema) -> dict[str, tuple[str, ...]]:
        """Check each expression against the columns there are.

        Returns:
            The columns that each expression reads, by its name.

        Raises:
            ValueError: names the expression and what is not allowed, not known or no number.
        """
        with self._lock:
            return dict(self._columns(schema))

    def evaluate(self, rows: pa.Table) -> tuple[dict[str, pa.Array], dict[str, pa.Array]]:
        """Evaluate each expression on each row.

        Returns:
            By name: float64 values, null where the row has no score (NULL, NaN, an infinity, a failure); and whether
            it failed. NULL alone is not a failure.

        Raises:
            ValueError: as `check`.
        """
        with self._lock:
            columns = self._columns(rows.schema)
            results: dict[str, list[Evaluated]] = {name: [] for name in self._expressions}
            for piece in _pieces(rows, sorted({column for read in columns.values() for column in read})):
                for name, result in self._evaluate_piece(piece).items():
                    results[name].append(result)
        values = {name: _joined([each.value for each in found], VALUE_TYPE) for name, found in results.items()}
        failed = {name: _joined([each.failed for each in found], pa.bool_()) for name, found in results.items()}
        return values, failed

    def close(self) -> None:
        """End the child process. A later call starts another one."""
        with self._lock:
            self._drop()

    def __enter__(self) -> SqlEvaluator:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _columns(self, schema: pa.Schema) -> dict[str, tuple[str, ...]]:
        if self._checked is None or not self._checked[0].equals(schema):
            self._checked = schema, {name: self._check_one(name, schema) for name in self._expressions}
        return self._checked[1]

    def _check_one(self, name: str, schema: pa.Schema) -> tuple[str, ...]:
        request = {"op": "check", "expression": self._expressions[name], "is_condition": self._are_conditions}
        try:
            answer, _ = self._ask(request, schema.remove_metadata().serialize(), cpu_s=self._deadline_s)
        except LostError:
            limits = f"{self._deadline_s:g} s or 2 GiB"
            raise ValueError(
                f"SQL scorer {name!r}: its constant part alone takes more than {limits}; make it smaller"
            ) from None
        if "error" in answer:
            if not answer["refused"]:
                self._drop()  # some errors of DuckDB's leave a database that is of no more use
            raise ValueError(f"SQL scorer {name!r}: {answer['error']}")
        self.trees[name] = answer["tree"]
        return tuple(answer["columns"])

    def _evaluate_piece(self, rows: pa.Table) -> dict[str, Evaluated]:
        names = list(self._expressions)
        try:
            return dict(zip(names, self._call(rows, names, cpu_s=self._deadline_s), strict=True))
        except LostError:
            # One of them is to blame: each for itself, so that it costs the others nothing.
            return {name: self._evaluate_around(rows, name) for name in names}

    def _evaluate_around(self, rows: pa.Table, name: str) -> Evaluated:
        """Evaluate in pieces that shrink to the rows that are to blame, and grow again behind them."""
        results: list[Evaluated] = []
        done, size, largest, lost_s = 0, rows.num_rows, rows.num_rows, 0.0
        suspect_end, half = 0, 0  # of the smallest lost piece in which no single row was found to blame
        while done < rows.num_rows and lost_s < max(LOST_FACTOR * self._deadline_s, LEAST_LOST_S):
            piece = rows.slice(done, min(size, (suspect_end or rows.num_rows) - done))
            cpu_s = self._allowance(piece.num_rows, rows.num_rows)
            try:
                results += self._call(piece, [name], cpu_s=cpu_s)
            except LostError as error:
                lost_s += cpu_s if error.is_overdue else RESTART_S  # not the clock: a busy machine changes no result
                if piece.num_rows > 1:
                    size = half = piece.num_rows // 2
                    suspect_end = done + piece.num_rows
                    continue
                results.append(_all_failed(1))
                suspect_end = 0
            done += piece.num_rows
            if done == suspect_end:  # every half of the lost piece passed: it was just too large
                largest, suspect_end = half, 0
            size = min(2 * size, largest)
        results.append(_all_failed(rows.num_rows - done))
        return Evaluated(
            _joined([each.value for each in results], VALUE_TYPE),
            _joined([each.failed for each in results], pa.bool_()),
        )

    def _allowance(self, n_rows: int, n_all: int) -> float:
        if n_rows in (1, n_all):
            return self._deadline_s
        return min(self._deadline_s, max(SHORT_S, self._deadline_s * n_rows / n_all))

    def _call(self, rows: pa.Table, names: Sequence[str], *, cpu_s: float) -> list[Evaluated]:
        request = {"op": "evaluate", "expressions": [self._expressions[name] for name in names]}
        answer, payload = self._ask(request, pack(rows), cpu_s=cpu_s)
        if "error" in answer:
            self._drop()  # out of memory, or a fault of DuckDB's after which the database is of no more use
            raise LostError(answer["error"])
        return [_unguarded(column) for column in unpack(payload).columns]

    def _ask(self, header: Header, payload: pa.Buffer, *, cpu_s: float) -> tuple[Header, pa.Buffer]:
        process = self._process = self._process or SqlProcess()
        try:
            return process.ask(header, payload, cpu_s=cpu_s)
        except BaseException:
            self._drop()
            raise

    def _drop(self) -> None:
        if self._process is not None:
            self._process.close()
            self._process = None


def _pieces(rows: pa.Table, columns: Sequence[str]) -> list[pa.Table]:
    """The columns that are read, cut so that no piece is much larger than CALL_BYTES."""
    read = rows.select(columns).replace_schema_metadata(None)
    if not columns:  # a table without columns has no length on the wire
        read = pa.table({"": pa.nulls(rows.num_rows)})
    n_rows = max(1, int(rows.num_rows * CALL_BYTES / max(read.nbytes, CALL_BYTES)))
    return [read.slice(start, n_rows) for start in range(0, rows.num_rows, n_rows)]


def _unguarded(column: pa.ChunkedArray) -> Evaluated:
    """Values and failures of a column of guarded results: a null struct is a failure, a null in a struct a NULL."""
    value = pc.struct_field(column, "v")
    finite = pc.is_finite(value)  # null where there is no value
    failed = pc.or_(pc.is_null(column), pc.fill_null(pc.invert(finite), False))
    return Evaluated(_joined(pc.if_else(finite, value, None).chunks, VALUE_TYPE), _joined(failed.chunks, pa.bool_()))


def _all_failed(n_rows: int) -> Evaluated:
    return Evaluated(pa.nulls(n_rows, VALUE_TYPE), pa.repeat(pa.scalar(True), n_rows))


def _joined(arrays: Sequence[pa.Array], kind: pa.DataType) -> pa.Array:
    return pa.concat_arrays(arrays) if arrays else pa.array([], kind)
