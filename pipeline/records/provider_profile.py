"""How a model is reached: the profiles of `assay-providers.yaml` (`assay.providers` version 1)."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated, Any, Literal
from urllib.parse import urlsplit

from pydantic import AfterValidator, Field, JsonValue, PrivateAttr, ValidationError, model_validator

from pipeline.errors import InputError
from pipeline.formats.strict_yaml import parse_yaml
from pipeline.records.exchange import Sampling
from pipeline.records.names import nearest
from pipeline.records.spec_fields import (
    Amount,
    Count,
    Currency,
    Flag,
    Items,
    Name,
    Positive,
    Seconds,
    SpecRecord,
    Text,
    first_twice,
)
from pipeline.records.told import at_field, check_kind, told

SCHEMA, VERSION = "assay.providers", 1

KINDS = ("openai", "vllm", "sglang", "llama.cpp", "local", "scripted")
SERVED = ("openai", "vllm", "sglang", "llama.cpp")
"""Kinds that are reached over HTTP, at `base_url`."""

_OWN = re.compile(r"[^:\0]+\.py:[^\W\d]\w*\Z")
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")
_OUR_MEMBERS = ("model", "messages", "tools", "stream", "stream_options", "prompt")


def _kind(text: str) -> str:
    if text not in KINDS and not _OWN.match(text):
        close = nearest(text, KINDS)
        hint = close if "did you mean" in close else ""
        raise ValueError(f"expected one of {', '.join(KINDS)}, or my_provider.py:Provider{hint}")
    return text


def _url(text: str) -> str:
    try:
        parts = urlsplit(text)
        is_whole = parts.scheme in ("http", "https") and bool(parts.hostname) and (parts.port or 1) > 0
    except ValueError:
        is_whole = False
        parts = urlsplit("")
    if not is_whole or parts.query or parts.fragment:
        raise ValueError("expected an address such as http://127.0.0.1:8000/v1")
    if "@" in parts.netloc:
        raise ValueError("expected an address without user and password; api_key_env names a variable that holds a key")
    return text.rstrip("/")


def _variable(text: str) -> str:
    if not _VARIABLE.match(text):
        raise ValueError("expected the name of an environment variable, such as OPENAI_API_KEY, and never the key")
    return text


Ratio = Annotated[float, Field(strict=True, ge=0, le=1)]


class ProfileSampling(Sampling, SpecRecord):
    """How tokens are to be drawn. What is absent is left to the engine."""

    temperature: Annotated[float, Field(strict=True, ge=0, le=100)] | None = None
    top_p: Ratio | None = None
    top_k: Annotated[int, Field(strict=True, ge=-1)] | None = None
    """0, or -1 with some engines: all tokens."""
    min_p: Ratio | None = None
    repeat_penalty: Annotated[float, Field(strict=True, gt=0, le=100)] | None = None
    max_tokens: Positive | None = None
    seed: Count | None = None


class Prices(SpecRecord):
    """What a million tokens costs."""

    free: Flag = False
    """Nothing is paid for any token, such as with an engine of one's own; then there are no other fields."""
    input: Amount | None = None
    output: Amount | None = None
    cache_read: Amount | None = None
    """Of input tokens that the provider had kept; null: as `input`."""
    cache_creation: Amount | None = None
    """Of input tokens that the provider kept for later; null: as `input`."""
    currency: Currency = "USD"

    @model_validator(mode="after")
    def _are_whole(self) -> Prices:
        given = self.model_fields_set - {"free"}
        if self.free and given:
            raise at_field("free", f"expected no {' and '.join(sorted(given))} beside it")
        if not self.free and (self.input is None or self.output is None):
            raise at_field("input" if self.input is None else "output", "expected input and output, or free: true")
        return self


class ProviderProfile(SpecRecord):
    """One way to reach a model."""

    name: Name
    """What specs and commands call it."""
    kind: Annotated[Text, AfterValidator(_kind)]
    """`openai`, `vllm`, `sglang`, `llama.cpp`, `local`, `scripted`, or `my_provider.py:Provider` beside the file."""
    base_url: Annotated[Text, AfterValidator(_url)] | None = None
    """Where the endpoint is, up to and with `/v1` where it has that; for llama.cpp the server's address."""
    api_key_env: Annotated[Text, AfterValidator(_variable)] | None = None
    """The environment variable that holds the key; null: no key is sent."""
    model: Name | None = None
    """Asked for where nobody names another."""
    sampling: ProfileSampling = ProfileSampling()
    prices: Prices | None = None
    """null: what is known of the model elsewhere, else unknown. Models on this machine are free."""
    logprobs_mode: Literal["raw", "processed"] | None = None
    """What the engine was started with (vLLM's --logprobs-mode); null: what such an engine does by itself."""
    stream: Flag = False
    """Whether replies are read as they are made."""
    body: dict[str, JsonValue] = Field(default_factory=dict)
    """Further members of each request, such as chat_template_kwargs."""
    script: Text | None = None
    """For `scripted`: the file of replies, relative to the profile's file; null: the model's name is its path."""
    connect_timeout_s: Seconds = 10.0
    idle_timeout_s: Seconds = 300.0
    """Without a byte. A reply that is not streamed begins when all of it is made."""
    total_timeout_s: Seconds = 600.0
    """Of one try."""
    max_retries: Annotated[int, Field(strict=True, ge=0, le=100)] = 5
    requests_per_minute: Annotated[float, Field(strict=True, gt=0)] | None = None
    concurrency: Annotated[int, Field(strict=True, ge=1, le=4096)] = 64
    """Requests under way at most."""

    _folder: Path = PrivateAttr(default_factory=Path)
    _may_load: bool = PrivateAttr(default=False)

    @property
    def folder(self) -> Path:
        """Where the profile's file lies: its paths are relative to it. Not part of the record."""
        return self._folder

    @property
    def may_load(self) -> bool:
        """Whether the user named the file, so that code beside it may be run. Not part of the record."""
        return self._may_load

    @property
    def is_own(self) -> bool:
        """Whether the kind is a class in a file of the user's."""
        return self.kind not in KINDS

    def placed(self, folder: Path, *, may_load: bool) -> ProviderProfile:
        """This profile, as it stands in a file of that folder."""
        here = self.model_copy()
        here._folder, here._may_load = folder, may_load
        return here

    @model_validator(mode="after")
    def _fits_its_kind(self) -> ProviderProfile:
        if self.kind in SERVED and self.base_url is None:
            raise at_field("base_url", f"{self.kind} needs an address such as http://127.0.0.1:8000/v1")
        if self.kind in ("local", "scripted"):
            for field in ("base_url", "api_key_env"):
                if getattr(self, field) is not None:
                    raise at_field(field, f"{self.kind} has none: take it out")
        if self.script is not None and self.kind != "scripted":
            raise at_field("script", f"it is for kind scripted, and this is {self.kind}")
        if self.stream and self.kind in ("sglang", "llama.cpp", "local"):
            raise at_field("stream", f"{self.kind} gives token ids of a whole reply only: take it out")
        for member in _OUR_MEMBERS:
            if member in self.body:
                raise at_field("body", f"{member} is set by assay: take it out")
        return self


class ProviderFile(SpecRecord):
    """`assay-providers.yaml`."""

    schema_: Literal["assay.providers"] = Field("assay.providers", alias="schema")
    version: Literal[1] = 1
    providers: Items[ProviderProfile]

    @model_validator(mode="after")
    def _names_differ(self) -> ProviderFile:
        if (twice := first_twice([each.name for each in self.providers])) is not None:
            raise at_field("providers", f"the name {twice!r} stands twice")
        return self


BUILT_IN = {
    "local": ProviderProfile(
        name="local",
        kind="local",
        model="SmolLM2-135M-Instruct",
        sampling=ProfileSampling(max_tokens=256),  # it seldom ends by itself once it goes astray
        concurrency=1,
    ),
    "scripted": ProviderProfile(name="scripted", kind="scripted"),
}
"""Profiles that are there without a file."""


def load_provider_file(data: bytes, where: str) -> ProviderFile:
    """Read profiles from the bytes of their file.

    Raises:
        InputError: names file, line, field, what was found and what is allowed, and the nearest known field.
    """
    document = parse_yaml(data, where)
    check_kind(document, where, ProviderFile, {"schema": SCHEMA, "version": VERSION})
    found: Any = document.value
    if not isinstance(found.get("providers"), list) or not found["providers"]:
        raise InputError(
            f"{where}:{document.line_of(('providers',))}: providers lists no profile; list at least one, such as "
            "- {name: house, kind: vllm, base_url: 'http://127.0.0.1:8000/v1', model: my-model}"
        )
    try:
        return ProviderFile.model_validate(found)
    except ValidationError as error:
        raise told(error, ProviderFile, document, where) from None
