"""The comparison of two reports (`chock.eval-comparison` version 1): the decision and the numbers behind it."""

from __future__ import annotations

from typing import Annotated, ClassVar

from pydantic import Field

from pipeline.records.base import Document, Record
from pipeline.records.digest import Sha256
from pipeline.records.report import Fraction


class ComparedReport(Record):
    """One of the two reports."""

    name: str
    score: Fraction
    sha256: Sha256
    """Of the bytes of the report's file."""


class Comparison(Document):
    """Whether a candidate is as good as its baseline."""

    schema_name: ClassVar[str] = "chock.eval-comparison"
    is_bound: ClassVar[bool] = True

    baseline: ComparedReport
    candidate: ComparedReport
    minimum_score: Fraction | None
    """null: no floor."""
    max_regression: Fraction
    delta: Annotated[float, Field(ge=-1, le=1)]
    """Score of the candidate minus score of the baseline."""
    passed: bool
    reasons: tuple[str, ...]
    """Why it did not pass; empty where it did."""
