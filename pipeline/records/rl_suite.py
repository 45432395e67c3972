"""The spec of a rollout suite (`chock.rl-suite` version 1): cases, and how many rollouts of each."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Literal

from pydantic import Field, model_validator

from pipeline.records.names import slug
from pipeline.records.spec_fields import Name, Positive, SomeItems, SpecRecord, Text
from pipeline.records.told import at_field

MAX_PARALLELISM = 4096  # live sessions; far beyond what one store and one endpoint serve


class Split(StrEnum):
    """What the rollouts of a case are for."""

    TRAIN = "train"
    VALIDATION = "validation"
    TEST = "test"


class RlCase(SpecRecord):
    """Rollouts of one evaluation."""

    name: Name
    spec: Text
    """The path of its spec, relative to the suite's folder."""
    split: Split
    rollouts: Positive
    group_size: Positive
    """Rollouts that are compared with each other; it divides `rollouts`."""

    @model_validator(mode="after")
    def _groups_are_whole(self) -> RlCase:
        if self.rollouts % self.group_size:
            raise at_field("group_size", f"it must divide rollouts, which is {self.rollouts}")
        return self


class RlSuite(SpecRecord):
    """What `assay eval suite` carries out."""

    schema_: Literal["chock.rl-suite"] = Field("chock.rl-suite", alias="schema")
    version: Literal[1] = 1
    name: Name
    output: Text | None = None
    """The folder of the rollout set, relative to the suite's folder; None: the command line names it."""
    parallelism: Annotated[int, Field(strict=True, ge=1, le=MAX_PARALLELISM)] = 1
    """Live sessions at most."""
    cases: SomeItems[RlCase]

    @model_validator(mode="after")
    def _cases_have_folders_of_their_own(self) -> RlSuite:
        seen: dict[str, str] = {}
        for case in self.cases:
            other = seen.setdefault(slug(case.name), case.name)
            if seen[slug(case.name)] is not case.name:
                same = "stands twice" if other == case.name else f"and {other!r} are one name in a path"
                raise at_field("cases", f"the name {case.name!r} {same}: give one of them another name")
        return self
