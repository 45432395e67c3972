"""`contains`: whether one text, or each of a JSON array of texts, occurs in another."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import polars as pl
import pyarrow as pa

from scorers._builtin import (
    PAIR,
    Builtin,
    check_choice,
    check_flag,
    check_function_options,
    check_inputs,
    check_name,
    scored,
)
from scorers._json import LONG_DIGITS, read_json
from scorers._json_text import compact_json, json_escaped
from scorers._text import fold
from scorers.base import ScoreColumns

MODES = ("all", "any", "fraction")


@dataclass(frozen=True, kw_only=True)
class Contains(Builtin):
    """How many of the wanted texts occur in the candidate."""

    builtin: ClassVar[str] = "contains"
    revision: ClassVar[int] = 1

    mode: str
    case_insensitive: bool

    def score(self, rows: pa.Table) -> ScoreColumns:
        """Score each row; a missing column is a TypeError."""
        candidate, reference = self.stripped_texts(rows)
        folded = fold(candidate) if self.case_insensitive else candidate
        value, metadata = self._literals(folded, fold(reference) if self.case_insensitive else reference)
        arrays = reference.str.starts_with("[").arg_true()
        if len(arrays):
            value, metadata = self._arrays(folded, reference, arrays, value, metadata)
        return scored(value, metadata)

    def _literals(self, candidate: pl.Series, needle: pl.Series) -> tuple[pl.Series, pl.Series]:
        """Every reference as one needle; an empty one wants nothing."""
        found = pl.select(pl.lit(candidate).str.contains(pl.lit(needle), literal=True)).to_series()
        wanted = needle != ""
        before = pl.when(found).then(pl.lit('{"matched":["')).otherwise(pl.lit('{"matched":[],"missing":["'))
        after = pl.when(found).then(pl.lit('"],"missing":[]}')).otherwise(pl.lit('"]}'))
        shown = pl.concat_str(before, json_escaped(needle), after)
        frame = pl.select(
            pl.when(wanted).then(found.cast(pl.Float64)).otherwise(self._share(0, 0)).alias("value"),
            pl.when(wanted).then(shown).otherwise(pl.lit('{"matched":[],"missing":[]}')).alias("metadata"),
        )
        return frame["value"], frame["metadata"]

    def _arrays(
        self, candidate: pl.Series, reference: pl.Series, rows: pl.Series, value: pl.Series, metadata: pl.Series
    ) -> tuple[pl.Series, pl.Series]:
        """The rows whose reference may be a JSON array; one that is none stays a literal."""
        at, values, texts = [], [], []
        chosen = reference.gather(rows)
        long_digits = chosen.str.contains(LONG_DIGITS)
        for row, text, wanted, exact in zip(rows, candidate.gather(rows), chosen, long_digits, strict=True):
            needles = self._needles(wanted, exact=exact)
            if needles is None:
                continue
            matched = [needle for needle in needles if needle in text]
            missing = [needle for needle in needles if needle not in text]
            at.append(row)
            values.append(self._share(len(matched), len(needles)))
            texts.append(json.dumps({"matched": matched, "missing": missing}, separators=(",", ":")))
        if not at:
            return value, metadata
        return value.scatter(at, values), metadata.scatter(at, texts)

    def _needles(self, text: str, *, exact: bool) -> list[str] | None:
        try:
            items = read_json(text, exact=exact, lenient=True)
        except ValueError:
            return None
        texts = [item if isinstance(item, str) else compact_json(item) for item in items if item is not None]
        needles = [needle.strip() for needle in texts]
        return [needle.casefold() if self.case_insensitive else needle for needle in needles if needle]

    def _share(self, found: int, wanted: int) -> float:
        if self.mode == "all":
            return float(found == wanted)
        if self.mode == "any":
            return float(found > 0)
        return found / wanted if wanted else 0.0


def contains(
    *,
    name: str = "contains",
    inputs: Sequence[str] = ("output", "expected"),
    mode: str = "all",
    case_insensitive: bool = False,
    **function_options: Any,
) -> Contains:
    """Whether the reference occurs in the candidate. Metadata: `{"matched": [...], "missing": [...]}`.

    A reference that is a JSON array asks for each of its items: text as it is, null not at all, anything else by its
    compact JSON text. NaN, Infinity and numbers beyond a double are read there too, as `NaN` and `Infinity`. An array
    nested too deep to be read is taken for plain text, as any text that is no array.

    Args:
        name: labels the result columns.
        inputs: the candidate's column, then the reference's.
        mode: `all` and `any` give 1.0 or 0.0; `fraction` the share that was found. Nothing
            wanted: 1.0 for `all`, else 0.0.
        case_insensitive: compare with `str.casefold`; the metadata shows the folded texts.
        function_options: resources and limits, as of any function.
    """
    return Contains(
        name=check_name(name),
        inputs=check_inputs(inputs, PAIR),
        function_options=check_function_options(function_options, Contains),
        mode=check_choice("mode", mode, MODES),
        case_insensitive=check_flag("case_insensitive", case_insensitive),
    )
