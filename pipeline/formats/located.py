"""A plain value, and where in its text each part of it stands: what an error about a field needs to know."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

MAX_BYTES = 1 << 20  # a config beyond 1 MiB is data; its parsers take seconds for it
MAX_DEPTH = 32  # levels; far below Python's own limit of recursion
MAX_DIGITS = 1_000  # characters of a number; Python refuses decimal integers of more than 4,300 digits

Path = tuple[str | int, ...]
"""Field names and positions in lists, from the outermost value inwards."""


class Place(NamedTuple):
    """Line and column, both from 1; a column counts characters."""

    line: int
    column: int


class Located(NamedTuple):
    """The plain value of a text, and for the path of each value where it stands; a field stands where its name does."""

    value: Any
    places: Mapping[Path, Place]

    def place_of(self, path: Path) -> Place:
        """Where the value at `path`, or the nearest one around it, stands."""
        while path and path not in self.places:
            path = path[:-1]
        return self.places.get(path, Place(1, 1))

    def line_of(self, path: Path) -> int:
        """The line of the value at `path`, or of the nearest one around it."""
        return self.place_of(path).line
