"""What a command needs to run a session here: a provider, and this process's clock and chance."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import pipeline
from pipeline.cli.exit_codes import tell
from pipeline.cli.screen import printable
from pipeline.models.open_provider import open_provider, redactor_of
from pipeline.models.profiles import find_profile
from pipeline.models.provider import Provider
from pipeline.models.redacted import Redactor
from pipeline.records.provider_profile import ProviderProfile
from pipeline.session.run import World


class LiveProvider(NamedTuple):
    """A provider that is open; whoever runs a session with it closes it."""

    provider: Provider
    profile: ProviderProfile
    model: str
    redactor: Redactor


def live_provider(name: str, model: str | None, providers: Path | None, environment: Mapping[str, str]) -> LiveProvider:
    """The provider of a name.

    Raises:
        InputError: no such profile, no key, an extra that is not installed.
    """
    profile = find_profile(name, providers, environment)
    provider = open_provider(profile, model, environment)
    return LiveProvider(provider, profile, model or profile.model or name, redactor_of(profile, environment))


def this_world(*, is_quiet: bool = False) -> World:
    """This process, which tells on stderr how far a session is."""
    return World(
        version=pipeline.__version__,
        environment=os.environ,
        now_ms=lambda: time.time_ns() // 1_000_000,
        monotonic=time.monotonic,
        random=os.urandom,
        tell=lambda line: None if is_quiet else tell(printable(line)),  # names of tools are a model's words
    )
