"""`json_valid`: whether a text is JSON."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import polars as pl
import pyarrow as pa

from scorers._builtin import Builtin, check_function_options, check_inputs, check_name, scored
from scorers._json import read_json
from scorers.base import ScoreColumns
from scorers.result import metadata_json


@dataclass(frozen=True, kw_only=True)
class JsonValid(Builtin):
    """1.0 where the text is one JSON document, else 0.0."""

    builtin: ClassVar[str] = "json_valid"
    revision: ClassVar[int] = 1

    def score(self, rows: pa.Table) -> ScoreColumns:
        """Score each row; a missing column is a TypeError."""
        [texts] = self.texts(rows)
        metadata = pl.Series([_verdict(text) for text in texts.to_list()], dtype=pl.String)
        return scored(metadata == _VALID, metadata)


def json_valid(*, name: str = "json-valid", inputs: Sequence[str] = ("output",), **function_options: Any) -> JsonValid:
    """Whether a text is JSON: scalars too, NaN and Infinity not, at most 1,000 levels deep.

    Metadata: `{}`, or `{"error": text}`.

    Args:
        name: labels the result columns.
        inputs: the column.
        function_options: resources and limits, as of any function.
    """
    return JsonValid(
        name=check_name(name),
        inputs=check_inputs(inputs, 1),
        function_options=check_function_options(function_options, JsonValid),
    )


_VALID = "{}"


def _verdict(text: str) -> str:
    try:
        read_json(text)
    except ValueError as error:
        return metadata_json({"error": str(error)})
    return _VALID
