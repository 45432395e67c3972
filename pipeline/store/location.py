"""Where a store is: its normalised URL, how it is shown to people, and which keys may name an object below it.

Knows no fsspec and does no I/O.
"""

from __future__ import annotations

import os
import re
from typing import NamedTuple

from pipeline.errors import InputError

WRITABLE_SCHEMES = ("file", "memory", "s3", "gs", "az", "abfs")
_ALIASES = {"local": "file", "s3a": "s3", "gcs": "gs", "abfss": "abfs"}
_URL = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)://(.*)\Z", re.DOTALL)
_BAD_KEY = re.compile(r"\A\Z|\A/|/\Z|//|[\\\x00-\x1f\x7f]|(?:\A|/)\.{1,2}(?:/|\Z)")
_SECRET_OPTION = re.compile(r"secret|token|key|password|passwd|connection_string|sas|credential|auth", re.IGNORECASE)


class Location(NamedTuple):
    """A root: `scheme` and the `path` behind it, without a final slash."""

    scheme: str
    path: str

    @property
    def url(self) -> str:
        """The absolute URL."""
        return f"{self.scheme}://{self.path}"

    @property
    def display(self) -> str:
        """For messages: a plain path for local files, else the URL."""
        return self.path if self.scheme == "file" else self.url


def split_url(url: str | os.PathLike[str]) -> tuple[str, str]:
    """Scheme and rest of a URL; a plain path is scheme `file`."""
    text = os.fspath(url)
    match = _URL.match(text)
    if match is None:
        return "file", text.removeprefix("file:")
    scheme = match[1].lower()
    return _ALIASES.get(scheme, scheme), match[2]


def parse_location(url: str | os.PathLike[str]) -> Location:
    """The location of a store that may be written.

    Raises:
        InputError: empty, credentials or a query in the URL, or a scheme that cannot commit safely.
    """
    scheme, rest = split_url(url)
    if "\0" in rest or (scheme == "file" and not rest):
        raise InputError(
            f"a store needs a folder or URL, found {os.fspath(url)!r}; use for example ./.assay or s3://bucket/path"
        )
    if scheme not in WRITABLE_SCHEMES:
        raise InputError(
            f"{without_credentials(os.fspath(url))}: {scheme}:// can be read but cannot commit safely; "
            f"use one of {', '.join(f'{known}://' for known in WRITABLE_SCHEMES)} or a local folder as the store"
        )
    if scheme == "file":
        return Location(scheme, os.path.abspath(os.path.expanduser(rest)))
    _refuse_credentials(str(url), scheme, rest)
    path = "/".join(piece for piece in rest.split("/") if piece)
    if not path and scheme != "memory":
        raise InputError(f"{scheme}:// names no bucket or container; use {scheme}://name/folder")
    return Location(scheme, path)


def _refuse_credentials(url: str, scheme: str, rest: str) -> None:
    user, at, _ = rest.split("/", 1)[0].rpartition("@")
    if (at and ":" in user) or "?" in rest or "#" in rest:
        raise InputError(
            f"{without_credentials(url)}: a store's URL holds no credentials and no query; "
            f"pass them as options of Store or in the environment that {scheme}:// clients read"
        )


def without_credentials(url: str) -> str:
    """The URL for messages: no `user:password@`, no query (signed URLs carry tokens there)."""
    match = _URL.match(url)
    if match is None:
        return url
    host, slash, path = match[2].partition("/")
    user, at, name = host.rpartition("@")
    kept = name if ":" in user else f"{user}{at}{name}"
    query = match[1].lower() != "file"
    return f"{match[1]}://{kept}{slash}{re.split(r'[?#]', path)[0] if query else path}"


def redact(text: str, options: object) -> str:
    """The text with every value of an option that looks like a secret replaced by `***`."""
    for value in _secrets(options):
        text = text.replace(value, "***")
    return text


def _secrets(options: object, inside: bool = False) -> list[str]:
    if isinstance(options, dict):
        return [
            s
            for name, value in options.items()
            for s in _secrets(value, inside or bool(_SECRET_OPTION.search(str(name))))
        ]
    return [options] if inside and isinstance(options, str) and len(options) > 3 else []


def check_key(key: str) -> str:
    """Return `key` if it names an object below a root.

    Raises:
        InputError: empty, absolute, with a backslash, NUL, line break, or an empty, `.` or `..` piece.
    """
    if _BAD_KEY.search(key):
        raise InputError(
            f"{key!r} is no key of a store: use names joined by single slashes, without '..' and backslashes"
        )
    return key


def check_prefix(prefix: str) -> str:
    """Return the folder `prefix` without its final slash; empty is the whole store."""
    folder = prefix.removesuffix("/")
    return check_key(folder) if folder else ""
