"""Where a model's answers came from: its weights, how they were trained, and what was done to it while it answered."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field, StringConstraints, model_validator

from pipeline.formats.canonical_json import MAX_EXACT_INTEGER
from pipeline.records.base import Record
from pipeline.records.digest import Sha256

Text = Annotated[str, StringConstraints(min_length=1, strict=True)]


class Provenance(Record):
    """Kept in specs, reports, trajectories and rollout sets, apart from the task. Null: not told."""

    model_profile: Text | None = None
    """The protocol of tokenizer, chat and tools."""
    checkpoint: Text | None = None
    """The exact revision of the weights or the adapter."""
    trainer: Text | None = None
    """The recipe of optimisation."""
    seed: Annotated[int, Field(strict=True, gt=-MAX_EXACT_INTEGER, lt=MAX_EXACT_INTEGER)] | None = None
    """A number in JSON; a longer one would come back from a report as text."""
    intervention: Text | None = None
    """Layer, representation and strength of what was done to the activations."""
    intervention_sha256: Sha256 | None = None
    """Of the bytes of the vector or the configuration."""

    @model_validator(mode="after")
    def _both_or_neither(self) -> Provenance:
        if (self.intervention is None) != (self.intervention_sha256 is None):
            raise ValueError("give intervention and intervention_sha256 together, or neither")
        return self
