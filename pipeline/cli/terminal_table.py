"""A table on a terminal: cut to its width, or turned on its side where it does not fit. Knows no command."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from dataclasses import dataclass

LEAST_WIDTH = 16  # characters that a text keeps when it is cut; below that, rows are easier to read one by one
_GAP = 2  # characters between two columns, of which the box draws one


@dataclass(frozen=True)
class Column:
    """One column, as texts."""

    header: str
    cells: Sequence[str]
    is_right: bool = False
    is_whole: bool = False
    """Never cut: an id, a number, a command."""
    is_prose: bool = False
    """Folded and not cut: sentences that are to be read to the end."""

    @property
    def width(self) -> int:
        """Of its widest cell."""
        from rich.cells import cell_len

        return max(map(cell_len, [self.header, *self.cells]))

    @property
    def least_width(self) -> int:
        """What it needs at least."""
        from rich.cells import cell_len

        return self.width if self.is_whole else max(cell_len(self.header), min(self.width, LEAST_WIDTH))


def print_on_terminal(columns: Sequence[Column]) -> None:
    """Show a table side by side where it fits, else each row as lines of `column: value`."""
    available = shutil.get_terminal_size().columns
    widths = _widths(columns, available)
    if widths is None:
        _print_sideways(columns, available)
    else:
        _print_grid(columns, widths, available)


def _widths(columns: Sequence[Column], available: int) -> list[int] | None:
    """The width of each column: the widest are cut first; None where they do not fit."""
    left = available - _GAP * (len(columns) - 1)
    wanted, least = [column.width for column in columns], [column.least_width for column in columns]
    if sum(least) > left:
        return None
    for most in range(max(wanted, default=0), 0, -1):
        widths = [max(low, min(width, most)) for low, width in zip(least, wanted, strict=True)]
        if sum(widths) <= left:
            return widths
    return least


def _print_grid(columns: Sequence[Column], widths: Sequence[int], available: int) -> None:
    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=SIMPLE_HEAD, show_edge=False, padding=(0, _GAP - 1, 0, 0), pad_edge=False)
    for column, width in zip(columns, widths, strict=True):
        table.add_column(
            Text(column.header),
            justify="right" if column.is_right else "left",
            width=width,
            no_wrap=not column.is_prose,
            overflow="fold" if column.is_prose else "ellipsis",
        )
    for row in zip(*(column.cells for column in columns), strict=True):
        table.add_row(*(Text(cell) for cell in row))  # Text: what looks like markup in data is data
    Console(width=available).print(table)


def _print_sideways(columns: Sequence[Column], available: int) -> None:
    from rich.cells import cell_len, set_cell_size

    for number, row in enumerate(zip(*(column.cells for column in columns), strict=True)):
        if number:
            print()
        for column, cell in zip(columns, row, strict=True):
            line = f"{column.header}: {cell}"
            if not column.is_whole and not column.is_prose and cell_len(line) > available:
                line = f"{set_cell_size(line, available - 1).rstrip()}…"
            print(line)
