"""The kinds of values that fields of specs and suites hold. A list may be written as `.{}` in ZON."""

from __future__ import annotations

import ipaddress
import re
import unicodedata
from collections.abc import Sequence
from typing import Annotated, TypeVar

from pydantic import AfterValidator, BeforeValidator, Field, StringConstraints

from pipeline.formats.zon_values import EmptyBraces, EnumLiteral
from pipeline.records.base import Record

T = TypeVar("T")

_HOST = re.compile(r"(?!-)[A-Za-z0-9_-]{1,63}(?:\.[A-Za-z0-9_-]{1,63})*\.?\Z")
_DRIVE = re.compile(r"[A-Za-z]:")


class SpecRecord(Record):
    """A part of a spec. The docstrings under its fields are their descriptions in the JSON Schema (`json_schema`)."""


def _quoted(value: object) -> object:
    if isinstance(value, EnumLiteral):
        raise ValueError("expected text in quotes")
    return value


def _without_nul(text: str) -> str:
    if "\0" in text:
        raise ValueError("expected text without NUL")
    return text


def _on_one_line(text: str) -> str:
    if any(unicodedata.category(character) in ("Cc", "Zl", "Zp") for character in text) or not text.strip():
        raise ValueError("expected one line of text without control characters")
    return text


def _in_the_fixture(path: str) -> str:
    if path.startswith(("/", "\\")) or _DRIVE.match(path):
        raise ValueError("expected a path relative to the fixture")
    if ".." in re.split(r"[/\\]", path):
        raise ValueError("expected a path without .., which could leave the fixture")
    return path


def _revision(text: str) -> str:
    if text.startswith("-"):
        raise ValueError("expected a revision such as HEAD, a tag or a full object id; git reads -… as an option")
    return text


def _host(text: str) -> str:
    try:
        return str(ipaddress.ip_address(text))
    except ValueError:
        if not _HOST.match(text) or len(text) > 253:
            raise ValueError(
                "expected a host name or an address: ASCII (xn--… for other letters), without scheme, port or path"
            ) from None
    return text.lower().removesuffix(".")


def _as_list(value: object) -> object:
    return () if isinstance(value, EmptyBraces) else value


def _distinct(items: tuple[T, ...]) -> tuple[T, ...]:
    twice = first_twice(items)
    if twice is not None:
        raise ValueError(f"{twice!r} stands twice")
    return items


def first_twice(items: Sequence[T]) -> T | None:
    """The first item that is equal to one before it; None: all differ."""
    return next((item for place, item in enumerate(items) if item in items[:place]), None)


_TEXT = (BeforeValidator(_quoted), AfterValidator(_without_nul))

Argument = Annotated[str, StringConstraints(strict=True), *_TEXT]
"""Text that a command is given; it may be empty."""
Text = Annotated[str, StringConstraints(strict=True, min_length=1), *_TEXT]
Name = Annotated[Text, AfterValidator(_on_one_line)]
"""What something is called, in reports and on terminals."""
RepositoryPath = Annotated[Text, AfterValidator(_in_the_fixture)]
"""A path or glob below the fixture. Whether a link on it leaves the fixture is seen only there."""
Revision = Annotated[Text, AfterValidator(_revision)]
"""What git resolves to a commit."""
Host = Annotated[Text, AfterValidator(_host)]
"""A host in lower case, without the dot of the root; an address in its shortest form."""
Currency = Annotated[str, StringConstraints(strict=True, pattern=re.compile(r"^[A-Z]{3}\Z")), BeforeValidator(_quoted)]
"""ISO 4217."""

Flag = Annotated[bool, Field(strict=True)]
Count = Annotated[int, Field(strict=True, ge=0)]
Positive = Annotated[int, Field(strict=True, ge=1)]
Amount = Annotated[float, Field(strict=True, ge=0)]
Seconds = Annotated[float, Field(strict=True, gt=0, le=7 * 24 * 3600)]
"""A deadline; one beyond a week is a slip of the pen."""

Items = Annotated[tuple[T, ...], BeforeValidator(_as_list)]
DistinctItems = Annotated[tuple[T, ...], BeforeValidator(_as_list), AfterValidator(_distinct)]
SomeItems = Annotated[tuple[T, ...], Field(min_length=1), BeforeValidator(_as_list)]
