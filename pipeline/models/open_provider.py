"""From a profile to a provider."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from pipeline.errors import InputError
from pipeline.models.costs import pricing_of
from pipeline.models.own_provider import open_own_provider
from pipeline.models.provider import Provider
from pipeline.models.redacted import Redactor, secret_values
from pipeline.models.scripted import ScriptedProvider, read_script
from pipeline.records.provider_profile import ProviderProfile


def open_provider(profile: ProviderProfile, model: str | None, environment: Mapping[str, str]) -> Provider:
    """A provider, of which `close` must be called in the end. Nothing is sent or started yet.

    Args:
        profile: what to reach, and how.
        model: as a spec or a command names it; None: the profile's.
        environment: holds the key, and whatever else looks like a secret and must not be recorded.

    Raises:
        InputError: no model, no key, no script, an extra that is not installed.
    """
    named = model or profile.model
    if profile.is_own:
        return open_own_provider(profile, named or "", environment)
    redactor = redactor_of(profile, environment)
    if profile.kind == "scripted":
        return ScriptedProvider(read_script(_script(profile, named)), pricing_of(profile), redactor)
    raise InputError(f"provider {profile.name!r}: kind {profile.kind} cannot be reached yet")


def redactor_of(profile: ProviderProfile, environment: Mapping[str, str]) -> Redactor:
    """Takes out the profile's key, and what else looks like a secret in the environment."""
    return Redactor(secret_values(environment, [profile.api_key_env] if profile.api_key_env else []))


def _script(profile: ProviderProfile, model: str | None) -> Path:
    if profile.script is not None:
        return profile.folder / profile.script
    if model is None:
        raise InputError(
            f"provider {profile.name!r} has no script: give the path of one as the model, or as the profile's script"
        )
    return Path(model)
