"""A CSV file in blocks of whole records, read and cut in the thread that asks for them.

Why not Arrow's own streaming reader: it reads a Python file from threads of Arrow's, which hold Python objects after an
error too. One that is let go while the interpreter ends aborts the process.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, BinaryIO

import numpy as np

_BOM = b"\xef\xbb\xbf"
_QUOTE, _LINE_FEED, _CARRIAGE_RETURN = b'"\n\r'


class RecordTooLongError(Exception):
    """A record is longer than the longest that is read."""

    def __init__(self, offset: int) -> None:
        super().__init__()
        self.offset = offset
        """Of its first byte in the file."""


def record_blocks(file: BinaryIO, delimiter: str, block_bytes: int, longest: int) -> Iterator[tuple[bytes, int]]:
    """Blocks of whole records, each with the bytes read so far; the first begins with the header.

    A mark at the start of the file is left out, a line end that the last line lacks is added.

    Raises:
        RecordTooLongError: a record of more than `longest` bytes.
    """
    n_read = 0
    pending = b""
    while True:
        # Twice as much where a record has not ended, so that long ones are not searched again and again.
        piece = file.read(min(max(block_bytes, len(pending)), longest + 1 - len(pending)))
        data = pending + (piece.removeprefix(_BOM) if n_read == 0 else piece)
        n_read += len(piece)
        if not piece:
            break
        end = _end_of_last_record(data, delimiter)
        if end:
            yield data[:end], n_read
        pending = data[end:]
        if len(pending) > longest:
            raise RecordTooLongError(n_read - len(pending))
    if data:
        yield data if data.endswith((b"\n", b"\r")) else data + b"\n", n_read


def _end_of_last_record(data: bytes, delimiter: str) -> int:
    """Where the last record ends that ends for certain; 0 where none does."""
    quotes = _quotes(data, delimiter)
    n_closed = len(quotes) // 2 * 2
    end = int(quotes[-1]) if len(quotes) > n_closed else len(data)
    for i in range(n_closed, -1, -2):  # from the last text outside of quotes to the first
        cut = _end_of_last_line(data, int(quotes[i - 1]) + 1 if i else 0, end)
        if cut or i == 0:
            return cut
        end = int(quotes[i - 2])
    return 0


def _end_of_last_line(data: bytes, start: int, end: int) -> int:
    cut = data.rfind(b"\n", start, end)
    if cut < 0:
        cut = data.rfind(b"\r", start, min(end, len(data) - 1))  # the last byte may be half of a line end
    return cut + 1


def _quotes(data: bytes, delimiter: str) -> Any:
    """Positions of the quotes that open and close cells, in turn; one inside a cell closes and opens it."""
    codes = np.frombuffer(data, dtype=np.uint8)
    positions = np.flatnonzero(codes == _QUOTE)
    before = np.where(positions == 0, _LINE_FEED, codes[positions - 1])
    at_start = (before == ord(delimiter)) | (before == _LINE_FEED) | (before == _CARRIAGE_RETURN)
    opens = at_start[::2].copy()
    opens[1:] |= before[2::2] == _QUOTE
    return positions if opens.all() else _some_quotes(positions, at_start)


def _some_quotes(positions: Any, at_start: Any) -> Any:
    """The same one by one, for data with quotes that mean themselves, as in `5" wide`."""
    found: list[int] = []
    for position, starts in zip(positions.tolist(), at_start.tolist(), strict=True):
        inside = len(found) % 2 == 1
        if inside or starts or (found and found[-1] == position - 1):
            found.append(position)
    return np.array(found, dtype=np.int64)
