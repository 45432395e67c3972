"""Messages between a process and its SQL child: a JSON header and a payload, each with its length before it."""

from __future__ import annotations

import json
import struct
from typing import Any, BinaryIO

import pyarrow as pa

_LENGTHS = struct.Struct("<IQ")

Header = dict[str, Any]


def send(stream: BinaryIO, header: Header, payload: pa.Buffer | bytes = b"") -> None:
    """Write one message. Raises OSError where the other side is gone."""
    text = json.dumps(header).encode()
    data = memoryview(payload)
    stream.write(_LENGTHS.pack(len(text), data.nbytes) + text)
    stream.write(data)
    stream.flush()


def receive(stream: BinaryIO) -> tuple[Header, pa.Buffer]:
    """Read one message. Raises EOFError where the other side is gone."""
    n_text, n_payload = _LENGTHS.unpack(_read(stream, _LENGTHS.size))
    header: Header = json.loads(bytes(_read(stream, n_text)))
    return header, pa.py_buffer(_read(stream, n_payload))


def _read(stream: BinaryIO, size: int) -> bytearray:
    data = bytearray(size)
    view, filled = memoryview(data), 0
    while filled < size:
        count = stream.readinto(view[filled:])  # type: ignore[attr-defined]
        if not count:
            raise EOFError("the other side closed the pipe")
        filled += count
    return data


def pack(table: pa.Table) -> pa.Buffer:
    """A table as an Arrow IPC stream."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return sink.getvalue()


def unpack(payload: pa.Buffer) -> pa.Table:
    """The table of an Arrow IPC stream; its columns lie in the payload."""
    with pa.ipc.open_stream(payload) as reader:
        return reader.read_all()
