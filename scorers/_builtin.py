"""What the built-in scorers share: name, inputs, options and their checks, and the reading of columns."""

from __future__ import annotations

import difflib
import hashlib
import json
import threading
import weakref
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, ClassVar

import polars as pl
import pyarrow as pa

from scorers._text import stripped_text_of, text_of
from scorers.base import TEXT_TYPE, VALUE_TYPE, ScoreColumns

PAIR = 2  # inputs of a scorer that compares a candidate with a reference, in this order
MAX_NAME_LENGTH = 63  # characters, as for every name that becomes part of a path
RESERVED_PREFIX = "__assay_"
FUNCTION_OPTIONS = (
    "num_cpus", "cpu", "num_gpus", "gpu", "memory", "concurrency", "retries",
    "rate_limit", "timeout_s", "batch", "env", "secrets", "runtime_env",
)  # fmt: skip
"""Options of functions that any scorer takes; what they mean is checked where they are used."""


@dataclass(frozen=True, kw_only=True)
class Builtin:
    """A built-in scorer with its options; picklable, equal by value."""

    builtin: ClassVar[str]
    """The name of the function that makes it."""
    revision: ClassVar[int]
    """Raised by hand whenever a result changes; a test holds the digest of the vectors beside it."""

    name: str
    inputs: tuple[str, ...]
    function_options: Mapping[str, Any] = field(default_factory=dict, hash=False)

    @property
    def options(self) -> dict[str, Any]:
        """The options that decide the result, in JSON form."""
        own = [item.name for item in fields(self) if item.name not in _SHARED_FIELDS]
        return {name: _json_form(getattr(self, name)) for name in own}

    @property
    def version(self) -> str:
        """Digest of what decides the result: scorer, revision, options, input columns. Not the name."""
        parts = [self.builtin, self.revision, self.options, self.inputs]
        return hashlib.sha256(json.dumps(parts, sort_keys=True, separators=(",", ":")).encode()).hexdigest()

    def to_json(self) -> dict[str, Any]:
        """What `builtin_from_json` makes an equal scorer of (function options are not part of it)."""
        return {"builtin": self.builtin, "name": self.name, "inputs": list(self.inputs), "options": self.options}

    def texts(self, rows: pa.Table) -> list[pl.Series]:
        """The text of each input column."""
        return [text_of(column) for column in self.columns(rows)]

    def stripped_texts(self, rows: pa.Table) -> list[pl.Series]:
        """The text of each input column without whitespace around it."""
        kept = _KEPT.texts_of(rows)
        for name, column in zip(self.inputs, self.columns(rows), strict=True):
            if name not in kept:
                kept[name] = stripped_text_of(column)
        return [kept[name] for name in self.inputs]

    def columns(self, rows: pa.Table) -> list[pa.ChunkedArray]:
        """The input columns; TypeError names one that is missing."""
        names = rows.schema.names
        for name in self.inputs:
            if name not in names:
                raise TypeError(f"scorer {self.name!r} reads column {name!r}, which is not there{nearest(name, names)}")
        return [rows.column(name) for name in self.inputs]


class _KeptTexts(threading.local):
    """The stripped texts of the table that this thread scored last, as long as that table lives.

    The scorers of a run read the same columns in turn; for short texts that is a twentieth of their time.
    """

    def __init__(self) -> None:
        self._table: weakref.ref[pa.Table] | None = None
        self._texts: dict[str, pl.Series] = {}

    def texts_of(self, rows: pa.Table) -> dict[str, pl.Series]:
        """By column; empty for a new table."""
        if self._table is None or self._table() is not rows:
            texts: dict[str, pl.Series] = {}
            self._table, self._texts = weakref.ref(rows, lambda _gone: texts.clear()), texts
        return self._texts


_KEPT = _KeptTexts()
_SHARED_FIELDS = {item.name for item in fields(Builtin)}


def scored(value: pl.Series | pa.Array, metadata: pl.Series | pa.Array, error: pl.Series | None = None) -> ScoreColumns:
    """The columns of a scorer from what it computed, in the types of `ScoreColumns`."""
    failed = pa.nulls(len(value), TEXT_TYPE) if error is None else _array(error, TEXT_TYPE)
    return ScoreColumns(_array(value, VALUE_TYPE), failed, _array(metadata, TEXT_TYPE))


def check_name(name: object) -> str:
    """A scorer's name: printable text with a letter or digit, at most 63 characters; else ValueError."""
    if not isinstance(name, str):
        raise ValueError(f"a scorer's name must be text, found {type(name).__name__}")
    is_usable = name.isprintable() and name == name.strip() and any(char.isalnum() for char in name)
    if not is_usable or len(name) > MAX_NAME_LENGTH:
        raise ValueError(
            f"scorer name {name!r} is not allowed: use 1 to {MAX_NAME_LENGTH} printable characters with a letter or "
            "digit among them and no space around them"
        )
    return name


def check_inputs(inputs: object, count: int) -> tuple[str, ...]:
    """The columns that a scorer reads: `count` distinct names.

    Raises:
        TypeError: no sequence of names, such as one text.
        ValueError: another number of names, one twice, or one that no dataset may have.
    """
    if isinstance(inputs, (str, bytes)) or not isinstance(inputs, Sequence):
        raise TypeError(f"inputs must be a list of column names, found {inputs!r}")
    names = tuple(inputs)
    for name in names:
        if not isinstance(name, str) or not name:
            raise ValueError(f"inputs must be column names, found {name!r}")
        if name.startswith(RESERVED_PREFIX):
            raise ValueError(f"input {name!r} is reserved: no dataset has columns that start with {RESERVED_PREFIX}")
    if len(names) != count or len(set(names)) != count:
        raise ValueError(f"inputs must be {_COUNTS[count]}, found {list(names)!r}")
    return names


_COUNTS = {1: "one column name", PAIR: "two different column names: the candidate, then the reference"}


def check_function_options(options: Mapping[str, Any], scorer: type[Builtin]) -> dict[str, Any]:
    """The keywords that are none of the scorer's own; TypeError for one that no function knows either."""
    for name, value in options.items():
        if name == "image" and value is not None:
            raise TypeError("image is not supported: describe what a scorer needs installed with runtime_env")
        if name != "image" and name not in FUNCTION_OPTIONS:
            raise TypeError(f"{scorer.builtin}() has no option {name!r}{_nearest_option(name, scorer)}")
    return {name: value for name, value in options.items() if name != "image"}


def _nearest_option(name: str, scorer: type[Builtin]) -> str:
    """As `nearest`, but the scorer's own options come before those of every function."""
    shared = {item.name for item in fields(Builtin)}
    own = [item.name for item in fields(scorer) if item.name not in shared] + ["name", "inputs"]
    for options in (own, FUNCTION_OPTIONS):
        if difflib.get_close_matches(name, options):
            return nearest(name, options)
    alike = [option for option in own if any(word in option.split("_") for word in name.split("_"))]
    if alike:
        return f"; did you mean {' or '.join(map(repr, alike))}?"
    return f"{nearest(name, own)}; and the options of every function: {', '.join(FUNCTION_OPTIONS)}"


def check_flag(name: str, value: object) -> bool:
    """An option that is on or off; TypeError for anything but a bool."""
    if not isinstance(value, bool):
        raise TypeError(f"{name} must be true or false, found {value!r}")
    return value


def check_choice(name: str, value: object, choices: Sequence[str]) -> str:
    """An option out of a set; else ValueError with the set."""
    if not isinstance(value, str) or value not in choices:
        raise ValueError(f"{name} must be one of {', '.join(choices)}, found {value!r}")
    return value


def nearest(name: str, known: Iterable[str]) -> str:
    """The end of a message about an unknown name: the nearest known ones, or all."""
    names = list(known)
    close = difflib.get_close_matches(name, names, n=2)
    if close:
        return f"; did you mean {' or '.join(map(repr, close))}?"
    return f"; known: {', '.join(names)}" if names else ""


def _json_form(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value


def _array(column: pl.Series | pa.Array, kind: pa.DataType) -> pa.Array:
    if isinstance(column, pl.Series):
        column = column.to_arrow(compat_level=pl.CompatLevel.oldest())
    return column if column.type == kind else column.cast(kind)
