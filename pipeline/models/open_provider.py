"""From a profile to a provider."""

from __future__ import annotations

import importlib.util
from collections.abc import Mapping
from pathlib import Path

from pipeline.errors import InputError
from pipeline.models.costs import pricing_of
from pipeline.models.guarded import GuardedProvider
from pipeline.models.own_provider import open_own_provider
from pipeline.models.provider import Provider
from pipeline.models.redacted import Redactor, secret_values
from pipeline.models.scripted import ScriptedProvider, read_script
from pipeline.models.timing import Timing
from pipeline.records.provider_profile import ProviderProfile
from pipeline.records.script import ENDINGS


def open_provider(
    profile: ProviderProfile, model: str | None, environment: Mapping[str, str], *, timing: Timing | None = None
) -> Provider:
    """A provider, of which `close` must be called in the end. Nothing is sent or started yet.

    Args:
        profile: what to reach, and how.
        model: as a spec or a command names it; None: the profile's.
        environment: holds the key, and whatever else looks like a secret and must not be recorded.
        timing: clocks, waits and jitter; None: the real ones.

    Raises:
        InputError: no model, no key, no script, an extra that is not installed.
    """
    named = model or profile.model
    timing = timing or Timing()
    redactor = redactor_of(profile, environment)
    if profile.is_own:
        return GuardedProvider(open_own_provider(profile, named or "", environment), redactor)
    if profile.kind == "scripted":
        script = read_script(_script(profile, named))
        return ScriptedProvider(script, pricing_of(profile), redactor, sleep=timing.sleep)
    _check_client(profile)
    if profile.kind == "local":
        return _local(profile, named or profile.name, redactor, timing)
    if named is None and profile.kind != "llama.cpp":  # whose server has one model
        raise InputError(f"provider {profile.name!r} has no model: name one, or write model: … into the profile")
    return _reached(profile, named or "", _key(profile, environment), redactor, timing)


def redactor_of(profile: ProviderProfile, environment: Mapping[str, str]) -> Redactor:
    """Takes out the profile's key, and what else looks like a secret in the environment."""
    return Redactor(secret_values(environment, [profile.api_key_env] if profile.api_key_env else []))


def _reached(profile: ProviderProfile, model: str, key: str | None, redactor: Redactor, timing: Timing) -> Provider:
    from pipeline.models.chat_provider import ChatProvider
    from pipeline.models.endpoint import Endpoint
    from pipeline.models.llama_cpp import LlamaCppProvider

    endpoint = Endpoint(profile, key, redactor, timing)
    kind = LlamaCppProvider if profile.kind in ("llama.cpp", "local") else ChatProvider
    return kind(profile, model, endpoint=endpoint, pricing=pricing_of(profile), redactor=redactor)


def _local(profile: ProviderProfile, model: str, redactor: Redactor, timing: Timing) -> Provider:
    from pipeline.models.local_model import LocalProvider, check_local_model

    def reach(address: str) -> Provider:
        return _reached(profile.model_copy(update={"base_url": address}), model, None, redactor, timing)

    return LocalProvider(check_local_model(), reach)


def _check_client(profile: ProviderProfile) -> None:
    if importlib.util.find_spec("aiohttp") is None:
        raise InputError(f"provider {profile.name!r} needs aiohttp: `pip install 'assay[models]'`")


def _key(profile: ProviderProfile, environment: Mapping[str, str]) -> str | None:
    variable = profile.api_key_env
    if variable is None:
        return None
    key = environment.get(variable, "").strip()
    if not key:
        raise InputError(f"provider {profile.name!r}: {variable} is not set; export it, or take api_key_env out")
    if not key.isascii() or not key.isprintable():
        raise InputError(f"provider {profile.name!r}: {variable} holds what no HTTP header can; copy the key anew")
    return key


def _script(profile: ProviderProfile, model: str | None) -> Path:
    if profile.script is not None:
        return profile.folder / profile.script
    if model is None or not (model.endswith(ENDINGS) or Path(model).exists()):
        named = "" if model is None else f", and the model {model!r} is no file of one"
        raise InputError(
            f"provider {profile.name!r} is of kind scripted and has no field script{named}; write it into the profile: "
            f"{{name: {profile.name}, kind: scripted, script: answers.yaml}} (relative to the profile's file), "
            "or give the path of a script as the model"
        )
    return Path(model)
