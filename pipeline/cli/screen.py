"""What is shown: tables and colours on a terminal, aligned plain lines elsewhere, JSON where asked."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, Literal, TextIO

if TYPE_CHECKING:
    from pipeline.records.base import Document

Cell = str | int | float | None
Colour = Literal["red", "green", "yellow", "bold", "dim"]

_CODES: dict[Colour, str] = {"bold": "1", "dim": "2", "red": "31", "green": "32", "yellow": "33"}


def is_terminal(stream: TextIO) -> bool:
    """Whether a person looks at the stream."""
    return stream.isatty()


def print_json(value: Any) -> None:
    """One JSON value on stdout; what JSON has no form for, such as a date, as text."""
    _write_utf8(
        json.dumps(value, ensure_ascii=False, indent=2 if is_terminal(sys.stdout) else None, default=str) + "\n"
    )


def print_document(document: Document) -> None:
    """What is written down, on stdout as it is on disk: canonical JSON and one line feed."""
    _write_utf8(document.to_bytes().decode())


def _write_utf8(text: str) -> None:
    """JSON is UTF-8, whatever the locale. Halves of surrogate pairs are escaped, as JSON has it."""
    stream = getattr(sys.stdout, "buffer", None)
    if stream is None:  # not a file, but something in its place
        sys.stdout.write(text)
    else:
        sys.stdout.flush()
        stream.write(text.encode(errors="backslashreplace"))


def paint(text: str, colour: Colour) -> str:
    """The text in a colour on a terminal, unless NO_COLOR is set (https://no-color.org); elsewhere as it is."""
    if not is_terminal(sys.stdout) or os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb":
        return text
    return f"\x1b[{_CODES[colour]}m{text}\x1b[0m"


def printable(text: str) -> str:
    """Text of others without what a terminal would obey: control characters are shown as `\\x1b`; `\\n`, `\\t` stay."""
    return "".join(c if c.isprintable() or c in "\n\t" else c.encode("unicode_escape").decode() for c in text)


def print_table(
    headers: Sequence[str],
    rows: Iterable[Sequence[Cell]],
    *,
    right: Iterable[str] = (),
    whole: Iterable[str] = (),
    prose: Iterable[str] = (),
) -> None:
    """A table on stdout. On a terminal, texts are cut to its width, and columns of nulls are told below instead.

    Args:
        headers: one a column.
        rows: a cell may be None, which shows as `-`: null is not zero.
        right: headers of the columns that are aligned right.
        whole: of those that are never cut, such as ids; numbers never are.
        prose: of those that are folded on a terminal: sentences.
    """
    values = [list(row) for row in rows]
    if is_terminal(sys.stdout):
        _print_for_eyes(headers, values, set(right), set(whole), set(prose))
    else:
        wanted = set(right)
        _print_plain(headers, [list(map(shown, row)) for row in values], [header in wanted for header in headers])


def print_facts(facts: Iterable[tuple[str, Cell]]) -> None:
    """Names and values, one pair a line; pairs without a value are left out."""
    known = [(name, shown(value)) for name, value in facts if value not in (None, "")]
    width = max((len(name) for name, _ in known), default=0)
    for name, value in known:
        print(f"{name:<{width}}  {value}")


def shown(value: Cell) -> str:
    """A cell as text: counts with separators, other numbers with four digits."""
    if value is None:
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float):
        return f"{value:.4g}" if abs(value) >= 10_000 else f"{value:.4f}"
    return " ".join(value.split()) if "\n" in value else value


def shown_seconds(seconds: float | None) -> str | None:
    """A duration for people: `0.42 s`, `12.3 s`, `4 min 05 s`, `2 h 03 min`."""
    if seconds is None:
        return None
    if seconds < 60:
        return f"{seconds:.2f} s" if seconds < 10 else f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 60:
        return f"{minutes} min {rest:02d} s"
    return f"{minutes // 60} h {minutes % 60:02d} min"


def shown_rate(rows_per_s: float) -> str:
    """A speed for people: `12,300 rows/s`, `4.2 rows/s`, `0.05 rows/s`."""
    return f"{rows_per_s:,.0f} rows/s" if rows_per_s >= 10 else f"{rows_per_s:.2g} rows/s"


def shown_owners(counts: dict[str, int]) -> str:
    """Counts by owner: `3 model, 1 judge`."""
    return ", ".join(f"{count:,} {owner}" for owner, count in counts.items())


def _print_plain(headers: Sequence[str], cells: list[list[str]], aligned_right: list[bool]) -> None:
    widths = [max([len(header), *(len(row[i]) for row in cells)]) for i, header in enumerate(headers)]
    for line in [list(headers), *cells]:
        aligned = [_aligner(right)(cell, width) for cell, width, right in zip(line, widths, aligned_right, strict=True)]
        print("  ".join(aligned).rstrip())


def _aligner(right: bool) -> Callable[[str, int], str]:
    return str.rjust if right else str.ljust


def _print_for_eyes(
    headers: Sequence[str], rows: list[list[Cell]], right: set[str], whole: set[str], prose: set[str]
) -> None:
    from pipeline.cli.terminal_table import Column, print_on_terminal

    columns, empty = [], []
    for index, header in enumerate(headers):
        values = [row[index] for row in rows]
        if rows and all(value is None for value in values):
            empty.append(header)
            continue
        is_whole = header in whole or not any(isinstance(value, str) for value in values)
        columns.append(Column(header, list(map(shown, values)), header in right, is_whole, header in prose))
    print_on_terminal(columns)
    if empty:
        print(f"\nnull in every row: {', '.join(empty)}")
