"""The text of a column's values, and what is done to text, in bulk and with Python's own semantics.

Knows no scorer. Where a library's rule differs from Python's for some rows, those rows alone go through Python.
"""

from __future__ import annotations

from collections.abc import Callable

import polars as pl
import pyarrow as pa
import pyarrow.compute as pc

WHITESPACE = (
    "\t\n\x0b\x0c\r\x1c\x1d\x1e\x1f \x85\xa0\u1680"
    "\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u2028\u2029\u202f\u205f\u3000"
)
"""What `str.strip` and `str.split` take for whitespace. Rust's own set lacks U+001C to U+001F, so it is spelt out."""

_WHITESPACE_RUN = "[" + "".join(f"\\x{{{ord(char):x}}}" for char in WHITESPACE) + "]+"


def text_of(column: pa.ChunkedArray) -> pl.Series:
    """The text of each value: null → `""`, text as it is, anything else as Python's `str(value)`."""
    kind = column.type
    if pa.types.is_dictionary(kind):
        return text_of(column.cast(kind.value_type))
    if pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind):
        return _series(column)
    if pa.types.is_integer(kind):
        return _series(column.cast(pa.large_string()))
    if pa.types.is_boolean(kind):
        return _series(pc.if_else(column, "True", "False"))
    return pl.Series(_python_texts(column), dtype=pl.String)


def stripped_text_of(column: pa.ChunkedArray) -> pl.Series:
    """`text_of`, stripped as by `strip`; for columns of text in half the time."""
    kind = column.type
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        return _series(pc.utf8_trim(column, characters=WHITESPACE))
    return strip(text_of(column))


def strip(texts: pl.Series) -> pl.Series:
    """`str.strip()` of each text."""
    return texts.str.strip_chars(WHITESPACE)


def collapse_whitespace(texts: pl.Series) -> pl.Series:
    """`" ".join(text.split())` of each text."""
    return texts.str.replace_all(_WHITESPACE_RUN, " ").str.strip_chars(" ")


def fold(texts: pl.Series) -> pl.Series:
    """`str.casefold()` of each text. On ASCII that is lower case; the other rows are folded by Python."""
    return replace_where(texts.str.to_lowercase(), ~is_ascii(texts), texts, str.casefold)


def is_ascii(texts: pl.Series) -> pl.Series:
    """Which texts are ASCII alone."""
    return texts.str.len_bytes() == texts.str.len_chars()


def replace_where(result: pl.Series, mask: pl.Series, texts: pl.Series, function: Callable[[str], str]) -> pl.Series:
    """`result`, but `function(text)` in the rows that `mask` names."""
    if not mask.any():
        return result
    rows = mask.arg_true()
    return result.scatter(rows, pl.Series([function(text) for text in texts.gather(rows).to_list()], dtype=pl.String))


def _series(column: pa.ChunkedArray) -> pl.Series:
    if len(column) == 0:
        return pl.Series(dtype=pl.String)
    series = pl.from_arrow(column)
    assert isinstance(series, pl.Series)  # from_arrow answers a frame only for tables
    return series.fill_null("") if series.null_count() else series  # filling copies, four times over


def _python_texts(column: pa.ChunkedArray) -> list[str]:
    plain = _without_nanoseconds(column.type)
    try:
        values = (column if plain == column.type else column.cast(plain, safe=False)).to_pylist()
    except (ValueError, OverflowError, NotImplementedError):  # a date that Python cannot hold
        return [_scalar_text(scalar) for scalar in column]
    return ["" if value is None else str(value) for value in values]


def _scalar_text(scalar: pa.Scalar) -> str:
    if not scalar.is_valid:
        return ""
    try:
        return str(scalar.as_py())
    except (ValueError, OverflowError):
        pass
    try:
        return str(scalar.cast(pa.large_string()).as_py())
    except NotImplementedError:
        return f"<{scalar.type}>"


def _without_nanoseconds(kind: pa.DataType) -> pa.DataType:
    """The type with times cut to microseconds: what Python's own date types hold.

    Without this pyarrow answers pandas objects where pandas is installed, and an error where it is not.
    """
    if pa.types.is_timestamp(kind) and kind.unit == "ns":
        return pa.timestamp("us", kind.tz)
    if pa.types.is_duration(kind) and kind.unit == "ns":
        return pa.duration("us")
    if pa.types.is_time64(kind):
        return pa.time64("us")
    if pa.types.is_struct(kind):
        return pa.struct([field.with_type(_without_nanoseconds(field.type)) for field in kind])
    if pa.types.is_map(kind):
        return pa.map_(_without_nanoseconds(kind.key_type), _without_nanoseconds(kind.item_type))
    if pa.types.is_large_list(kind):
        return pa.large_list(_plain_field(kind.value_field))
    if pa.types.is_fixed_size_list(kind):
        return pa.list_(_plain_field(kind.value_field), kind.list_size)
    if pa.types.is_list(kind):
        return pa.list_(_plain_field(kind.value_field))
    return kind


def _plain_field(field: pa.Field) -> pa.Field:
    return field.with_type(_without_nanoseconds(field.type))
