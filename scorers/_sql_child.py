"""The SQL child: a process that does nothing but answer `check` and `evaluate` on its pipes. The only user of DuckDB.

It is started by `_sql_process` with an empty environment, loads none of the user's code, limits its own memory, time
and files, locks DuckDB down, and ends when its input ends: also while a query runs, so no orphan stays behind.
"""

from __future__ import annotations

import contextlib
import os
import queue
import re
import signal
import sys
import threading
from typing import Any, BinaryIO, cast

import pyarrow as pa

from scorers._sql_allowed import NUMERIC_TYPES
from scorers._sql_gate import TABLE, Admitted, admit, column_name
from scorers._sql_wire import Header, pack, receive, send, unpack

MAX_ADDRESS_SPACE = 2 << 30  # bytes; 0.4 GiB of it are taken before the first query
MAX_OPEN_FILES = 64

# The order matters: the temporary folder cannot be set once external access is off, and the lock comes last.
_SETTINGS = """
temp_directory=''
max_temp_directory_size='0KB'
allow_community_extensions=false
autoinstall_known_extensions=false
autoload_known_extensions=false
allow_persistent_secrets=false
python_enable_replacements=false
python_scan_all_frames=false
memory_limit='1GB'
threads=1
max_expression_depth=250
preserve_insertion_order=true
TimeZone='UTC'
enable_external_access=false
lock_configuration=true
"""


def main() -> None:
    """Serve until the input ends."""
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # nothing that prints can spoil an answer
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the parent, which closes the pipe
    _limit_resources()
    try:
        session = _Session()
    except Exception as error:  # noqa: BLE001 (whatever it is, the parent says it)
        send(answers, {"error": f"{type(error).__name__}: {error}"})
        return
    requests: queue.SimpleQueue[tuple[Header, pa.Buffer]] = queue.SimpleQueue()
    threading.Thread(target=_read_requests, args=(cast(BinaryIO, sys.stdin.buffer), requests), daemon=True).start()
    send(answers, {"ready": True})
    while True:
        header, payload = requests.get()
        # SIGPROF is not handled: the kernel ends the process. CPU time, so that a busy machine changes no result.
        signal.setitimer(signal.ITIMER_PROF, header["cpu_s"])
        answer, result = session.answer(header, payload)
        signal.setitimer(signal.ITIMER_PROF, 0)
        send(answers, answer, result)


def _read_requests(stream: BinaryIO, requests: queue.SimpleQueue[tuple[Header, pa.Buffer]]) -> None:
    try:
        while True:
            requests.put(receive(stream))
    finally:
        os._exit(0)


def _limit_resources() -> None:
    import resource

    for limit, value in (
        (resource.RLIMIT_AS, MAX_ADDRESS_SPACE),
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_FSIZE, 0),
        (resource.RLIMIT_NOFILE, MAX_OPEN_FILES),
    ):
        # macOS does not let a process limit its address space: there the limit of CPU time has to do.
        with contextlib.suppress(OSError, ValueError):
            resource.setrlimit(limit, (value, value))


class _Session:
    """One locked DuckDB database in memory, and the expressions that it let through."""

    def __init__(self) -> None:
        import duckdb

        self._connection: Any = duckdb.connect(":memory:", config={"threads": "1"})
        for setting in _SETTINGS.split("\n"):
            if setting:
                self._connection.execute(f"SET {setting}")
        self._admitted: dict[tuple[str, tuple[str, ...]], Admitted] = {}

    def answer(self, header: Header, payload: pa.Buffer) -> tuple[Header, pa.Buffer | bytes]:
        """Carry out one request: `{"op": "check", "expression"}` and a schema (with
        `"is_condition"` the expression yields true or false and no number), or
        `{"op": "evaluate", "expressions"}` and a table."""
        names: list[str] = []
        try:
            if header["op"] == "check":
                schema = pa.ipc.read_schema(payload)
                names = schema.names
                admitted = self._check(header["expression"], schema, header.get("is_condition", False))
                return {"columns": admitted.columns, "tree": admitted.tree}, b""
            rows = unpack(payload)
            names = rows.column_names
            return {}, pack(self._evaluate(header["expressions"], rows))
        except Exception as error:  # noqa: BLE001 (the border of the process)
            return {"error": _message(error, names), "refused": isinstance(error, ValueError)}, b""

    def _check(self, expression: str, schema: pa.Schema, is_condition: bool) -> Admitted:
        names = schema.names
        admitted = self._admit(expression, names)
        # Only what the expression reads: a column of a type that DuckDB does not know is no concern of the others.
        read = pa.schema([(column_name(names.index(name)), schema.field(name).type) for name in admitted.columns])
        try:
            self._register(read.empty_table())
        except Exception as error:
            kinds = ", ".join(f"{name!r} ({schema.field(name).type})" for name in admitted.columns)
            raise ValueError(f"SQL cannot hold the type of a column that it reads, {kinds}; convert it") from error
        ((_, found, *_),) = self._connection.execute(f"DESCRIBE SELECT {admitted.sql} AS v FROM {TABLE}").fetchall()
        _check_type(found, is_condition)
        # On no rows it fails only where it would on each, such as a pattern that does not compile.
        self._connection.sql(f"SELECT {admitted.sql} AS v FROM {TABLE}").to_arrow_table()
        # On a row of nulls, guarded, only what needs too much time or memory without any data can fail.
        self._register(pa.table([pa.nulls(1, kind) for kind in read.types], schema=read))
        self._connection.sql(f"SELECT {_guarded(admitted)} AS s FROM {TABLE}").to_arrow_table()
        return admitted

    def _evaluate(self, expressions: list[str], rows: pa.Table) -> pa.Table:
        admitted = [self._admit(expression, rows.column_names) for expression in expressions]
        self._register(rows.rename_columns([column_name(i) for i in range(rows.num_columns)]))
        items = ", ".join(f"{_guarded(each)} AS s{i}" for i, each in enumerate(admitted))
        table: pa.Table = self._connection.sql(f"SELECT {items} FROM {TABLE}").to_arrow_table()
        self._connection.unregister(TABLE)  # else the rows stay in memory while the next ones arrive
        return table

    def _admit(self, expression: str, names: list[str]) -> Admitted:
        key = (expression, tuple(names))
        if key not in self._admitted:
            self._admitted[key] = admit(self._connection, expression, names)
        return self._admitted[key]

    def _register(self, rows: pa.Table) -> None:
        # DuckDB cannot scan a table without columns. Only the check meets one: the parent never sends one.
        self._connection.register(TABLE, rows if rows.num_columns else pa.table({"__none__": pa.nulls(1)}))


def _guarded(admitted: Admitted) -> str:
    # A failing row is a null struct, a NULL a struct with a null in it: one pass tells them apart.
    return f"TRY({{'v': CAST({admitted.sql} AS DOUBLE)}})"


def _check_type(found: str, is_condition: bool) -> None:
    if is_condition:
        if found != "BOOLEAN":
            raise ValueError(f"yields {found}, a condition (BOOLEAN) is needed: compare it, such as … = 1 or … IS NULL")
    elif found.split("(")[0] not in NUMERIC_TYPES or found.endswith("]"):
        raise ValueError(f"yields {found}, a number is needed: {_as_number(found)}")


def _as_number(found: str) -> str:
    if found == "BOOLEAN":
        return "CASE WHEN … THEN 1.0 ELSE 0.0 END or CAST(… AS DOUBLE)"
    if found in ("VARCHAR", "JSON"):
        return "CAST(… AS DOUBLE), or TRY_CAST where some rows are no numbers"
    return "use a function of it that yields one"


def _message(error: Exception, names: list[str]) -> str:
    text = re.sub(r"^(Binder|Invalid Input|Conversion|Not implemented) Error: ", "", str(error).split("\n")[0])
    if isinstance(error, MemoryError) or text.startswith("Out of Memory"):
        return "its constant part alone takes more than 2 GiB; make it smaller"
    return re.sub(r"__column_(\d+)__", lambda found: names[int(found[1])], text)
