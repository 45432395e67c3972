"""A seekable binary file over range reads. Never asks for a range from the end: some stores cannot answer it."""

# ruff: noqa: D102 - the methods are told in `io.RawIOBase`
from __future__ import annotations

import io
import os
from collections.abc import Callable
from typing import Any

from pipeline.errors import CorruptError


class RangeReader(io.RawIOBase):
    """Reads an object of known size; wrap it in `io.BufferedReader`."""

    def __init__(self, read_range: Callable[[int, int], bytes], size: int, name: str) -> None:
        super().__init__()
        self._read_range = read_range
        self._size = size
        self._name = name
        self._position = 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._position

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        base = {os.SEEK_SET: 0, os.SEEK_CUR: self._position, os.SEEK_END: self._size}[whence]
        if base + offset < 0:
            raise ValueError(f"cannot seek to {base + offset}")
        self._position = base + offset
        return self._position

    def readinto(self, buffer: Any) -> int:
        view = memoryview(buffer).cast("B")
        length = min(len(view), self._size - self._position)
        if length <= 0:
            return 0
        data = self._read_range(self._position, length)
        if len(data) != length:
            raise CorruptError(
                f"{self._name}: asked for {length} bytes at {self._position}, found {len(data)}; it was cut short"
            )
        view[:length] = data
        self._position += length
        return length
