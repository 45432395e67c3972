"""`--provenance-…`: replaces fields of a spec that is run or replayed; refused where there is no such session."""

from __future__ import annotations

from typing import Annotated

import typer

from pipeline.errors import InputError


def _refuse(parameter: typer.CallbackParam, value: str | None) -> None:
    if value is not None:
        raise InputError(
            f"{parameter.opts[0]} is for sessions that are run or replayed: this command only looks at what a session "
            "left, whose provenance stands in the spec and in the report"
        )


def _flag(name: str) -> object:
    return typer.Option(f"--provenance-{name}", hidden=True, callback=_refuse)


Checkpoint = Annotated[str | None, _flag("checkpoint")]
Trainer = Annotated[str | None, _flag("trainer")]
Seed = Annotated[str | None, _flag("seed")]
Intervention = Annotated[str | None, _flag("intervention")]
InterventionSha256 = Annotated[str | None, _flag("intervention-sha256")]


def _replacing(name: str, what: str) -> object:
    return typer.Option(f"--provenance-{name}", metavar="TEXT", help=f"{what}, in place of the spec's.")


GivenCheckpoint = Annotated[str | None, _replacing("checkpoint", "Revision of the weights")]
GivenTrainer = Annotated[str | None, _replacing("trainer", "Recipe of the training")]
GivenSeed = Annotated[int | None, typer.Option("--provenance-seed", metavar="N", help="Seed, in place of the spec's.")]
GivenIntervention = Annotated[str | None, _replacing("intervention", "What was done to the activations")]
GivenInterventionSha256 = Annotated[str | None, _replacing("intervention-sha256", "Digest of the intervention")]


def given(
    checkpoint: str | None, trainer: str | None, seed: int | None, intervention: str | None, digest: str | None
) -> dict[str, object]:
    """The fields that were given."""
    fields = {
        "checkpoint": checkpoint, "trainer": trainer, "seed": seed, "intervention": intervention,
        "intervention_sha256": digest,
    }  # fmt: skip
    return {name: value for name, value in fields.items() if value is not None}
