"""`json_match`: whether two JSON documents are equal, as a whole or at some paths."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import polars as pl
import pyarrow as pa

from scorers._builtin import PAIR, Builtin, check_function_options, check_inputs, check_name, scored
from scorers._json import LONG_DIGITS, json_equal, read_json
from scorers.base import ScoreColumns
from scorers.result import metadata_json


@dataclass(frozen=True, kw_only=True)
class JsonMatch(Builtin):
    """Equality of two documents, or the share of the paths at which they agree."""

    builtin: ClassVar[str] = "json_match"
    revision: ClassVar[int] = 1

    paths: tuple[str, ...] | None

    def score(self, rows: pa.Table) -> ScoreColumns:
        """Score each row; a missing column is a TypeError."""
        sides = [zip(texts.to_list(), texts.str.contains(LONG_DIGITS), strict=True) for texts in self.texts(rows)]
        verdicts = [self._verdict(candidate, reference) for candidate, reference in zip(*sides, strict=True)]
        value = pl.Series([verdict[0] for verdict in verdicts], dtype=pl.Float64)
        return scored(value, pl.Series([verdict[1] for verdict in verdicts], dtype=pl.String))

    def _verdict(self, *sides: tuple[str, bool]) -> tuple[float, str]:
        documents: list[Any] = []
        for column, (text, exact) in zip(self.inputs, sides, strict=True):
            try:
                documents.append(read_json(text, exact=exact))
            except ValueError as error:
                return 0.0, metadata_json({"error": f"{column}: {error}"})
        left, right = documents
        return _compare_documents(left, right) if self.paths is None else _compare_paths(left, right, self.paths)


def json_match(
    *,
    name: str = "json-match",
    inputs: Sequence[str] = ("output", "expected"),
    paths: Sequence[str] | None = None,
    **function_options: Any,
) -> JsonMatch:
    """Whether two JSON documents are equal: objects by key, lists by order, numbers by value.

    Metadata: `{"mismatched": [...]}`, the top-level keys or the paths that differ; `missing` beside it where a path is
    on neither side; or `{"error": text}` for a text that is no JSON.

    Args:
        name: labels the result columns.
        inputs: the candidate's column, then the reference's.
        paths: compare at these places alone (`items.0.sku`, `items.-1.sku`) and score the share that agrees; a path
            that is on neither side does not agree.
        function_options: resources and limits, as of any function.
    """
    return JsonMatch(
        name=check_name(name),
        inputs=check_inputs(inputs, PAIR),
        function_options=check_function_options(function_options, JsonMatch),
        paths=_checked_paths(paths),
    )


def _checked_paths(paths: object) -> tuple[str, ...] | None:
    if paths is None:
        return None
    if isinstance(paths, (str, bytes)) or not isinstance(paths, Sequence):
        raise TypeError(f"paths must be a list of paths, found {paths!r}")
    if not paths:
        raise ValueError("paths is empty; leave it out to compare whole documents")
    for path in paths:
        if not isinstance(path, str):
            raise TypeError(f"paths must be text, found {path!r}")
    return tuple(paths)


def _compare_documents(left: Any, right: Any) -> tuple[float, str]:
    if json_equal(left, right):
        return 1.0, _NOTHING_MISMATCHED
    if not (isinstance(left, dict) and isinstance(right, dict)):
        return 0.0, _NOTHING_MISMATCHED
    shared = left.keys() & right.keys()
    keys = (left.keys() ^ right.keys()) | {key for key in shared if not json_equal(left[key], right[key])}
    return 0.0, metadata_json({"mismatched": sorted(keys)})


def _compare_paths(left: Any, right: Any, paths: tuple[str, ...]) -> tuple[float, str]:
    mismatched, missing = [], []
    for path in paths:
        a, b = _at(left, path), _at(right, path)
        if a is _ABSENT and b is _ABSENT:
            missing.append(path)
        elif a is _ABSENT or b is _ABSENT or not json_equal(a, b):
            mismatched.append(path)
    value = 1 - (len(mismatched) + len(missing)) / len(paths)
    if not mismatched and not missing:
        return value, _NOTHING_MISMATCHED
    return value, metadata_json(
        {"mismatched": mismatched, "missing": missing} if missing else {"mismatched": mismatched}
    )


def _at(document: Any, path: str) -> Any:
    """The value at a path; `_ABSENT` where a step leads nowhere."""
    value = document
    for step in path.split("."):
        if isinstance(value, dict):
            value = value.get(step, _ABSENT)
        elif isinstance(value, list):
            value = _item(value, step)
        else:
            return _ABSENT
    return value


def _item(items: list[Any], step: str) -> Any:
    if not _INDEX.fullmatch(step):
        return _ABSENT
    index = int(step) if len(step) <= _MAX_INDEX_LENGTH else len(items)
    return items[index] if -len(items) <= index < len(items) else _ABSENT


_ABSENT = object()
_NOTHING_MISMATCHED = '{"mismatched":[]}'
_INDEX = re.compile(r"-?\d+")  # \d of Python's re is str.isdecimal
_MAX_INDEX_LENGTH = 640  # characters that int() always takes; no list has an index that long
