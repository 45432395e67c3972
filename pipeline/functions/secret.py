"""Secrets: names of environment variables whose values are read where the work is done, and never written."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

from pipeline.errors import FunctionError
from pipeline.records.function import FunctionRecord

VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")


@dataclass(frozen=True)
class Secret:
    """A value known by the name of an environment variable. Only the name travels."""

    name: str

    def __post_init__(self) -> None:
        if not isinstance(self.name, str):
            raise TypeError(f"a secret's name must be text, found {type(self.name).__name__}")
        if not VARIABLE.match(self.name):
            raise ValueError(
                f"{self.name!r} cannot be an environment variable: write Secret.from_env('OPENAI_API_KEY')"
            )

    @classmethod
    def from_env(cls, name: str) -> Self:
        """The secret that the environment variable `name` holds on the node that does the work."""
        return cls(name)

    def value(self, environ: Mapping[str, str] | None = None) -> str:
        """The value, read now.

        Raises:
            FunctionError: the variable is not set, or empty.
        """
        found = (os.environ if environ is None else environ).get(self.name)
        if not found:
            raise FunctionError(f"{self.name} is not set: export it on every node that runs the function")
        return found

    def __repr__(self) -> str:
        return f"Secret.from_env({self.name!r})"


def secret_names(options: Mapping[str, Any]) -> list[str]:
    """Names of all secrets in a record's options: those of `secrets`, then those that `env` refers to."""
    in_env = [value["secret"] for value in options.get("env", {}).values() if isinstance(value, dict)]
    return list(dict.fromkeys([*options.get("secrets", []), *in_env]))


def missing_names(options: Mapping[str, Any], environ: Mapping[str, str] | None = None) -> list[str]:
    """Names of the secrets that options (a record's, or a built-in's) need and this process does not have."""
    known = os.environ if environ is None else environ
    return [name for name in secret_names(options) if not known.get(name)]


def missing_secrets(record: FunctionRecord, environ: Mapping[str, str] | None = None) -> list[str]:
    """Names of the secrets that the function needs and this process does not have: the probe of a node."""
    return missing_names(record.options, environ)
