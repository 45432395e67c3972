"""Values to JSON text: metadata in bulk, and items of a parsed document."""

from __future__ import annotations

import json
from typing import Any

import polars as pl

from scorers._json import LongInteger
from scorers._text import is_ascii


def json_strings(texts: pl.Series) -> pl.Series:
    """Each text as a JSON string in ASCII, quotes included, as `json.dumps(text)` writes it; null stays null."""
    return pl.select(pl.concat_str(pl.lit('"'), json_escaped(texts), pl.lit('"'))).to_series()


def json_escaped(texts: pl.Series) -> pl.Series:
    """What stands between the quotes of `json_strings`."""
    rows = texts.str.contains(_TO_ESCAPE).arg_true()
    return texts.clone().scatter(rows, _escaped(texts.gather(rows))) if len(rows) else texts


_TO_ESCAPE = r"[^ !#-\[\]-~]"  # all but what is printed in ASCII, and of that the quote and the backslash


def _escaped(texts: pl.Series) -> pl.Series:
    frame = pl.select(pl.struct(texts.alias("")).struct.json_encode())
    escaped = frame.to_series().str.strip_prefix('{"":"').str.strip_suffix('"}')
    odd = ~is_ascii(texts) | texts.str.contains("\x7f", literal=True)
    if not odd.any():
        return escaped
    rows = odd.arg_true()
    # JSON text holds no raw line feed, so that one call can write all of them with line feeds between.
    lines = json.dumps(texts.gather(rows).to_list(), separators=("\n", ":"))[2:-2].split('"\n"')
    return escaped.scatter(rows, pl.Series(lines, dtype=pl.String))


def json_floats(values: pl.Series) -> pl.Series:
    """Each float as `json.dumps` writes it, which is Python's `repr`."""
    if not len(values):
        return pl.Series(dtype=pl.String)
    return pl.Series(json.dumps(values.to_list())[1:-1].split(", "), dtype=pl.String)


def compact_json(value: Any) -> str:
    """JSON text without spaces, characters as they are, as `json.dumps(value, ensure_ascii=False)` with compact
    separators; at any depth, and with integers of any length."""
    try:
        return _ENCODER.encode(value)
    except (TypeError, ValueError, RecursionError):
        return _compact_json_of_deep(value)


_ENCODER = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"))


def _compact_json_of_deep(value: Any) -> str:
    pieces: list[str] = []
    todo: list[Any] = [value]
    while todo:
        item = todo.pop()
        if isinstance(item, _Piece):
            pieces.append(item)
        elif isinstance(item, LongInteger):
            pieces.append(item.digits)
        elif isinstance(item, list):
            todo.extend(reversed([_Piece("["), *_separated([[member] for member in item]), _Piece("]")]))
        elif isinstance(item, dict):
            members = [[_Piece(_ENCODER.encode(key) + ":"), member] for key, member in item.items()]
            todo.extend(reversed([_Piece("{"), *_separated(members), _Piece("}")]))
        else:
            pieces.append(_ENCODER.encode(item))
    return "".join(pieces)


class _Piece(str):
    """Text that is JSON already."""

    __slots__ = ()


def _separated(members: list[list[Any]]) -> list[Any]:
    flat: list[Any] = []
    for member in members:
        if flat:
            flat.append(_Piece(","))
        flat.extend(member)
    return flat
