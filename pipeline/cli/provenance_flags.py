"""`--provenance-…`, refused where there is no model to which they could belong."""

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
