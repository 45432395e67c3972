"""Hosts as a log names them: in actions, with their labels reversed, and in the arguments of the tool that fetches."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

import orjson

FETCH_TOOL = "fetch_url"

_ACTION = re.compile(r"(?:net\.[a-z_]+|nix\.net)(?:\.(.*))?", re.DOTALL)
_PORT = re.compile(r":[0-9]{1,5}\Z")
_MAX_VALUES = 10_000  # of the arguments of one call that are looked through


def normal_host(host: str) -> str:
    """A host as it is compared: lower case, without a port and a final dot, letters outside ASCII as `xn--…`."""
    plain = _PORT.sub("", host.strip().lower()) if host.count(":") < 2 else host.strip().lower().strip("[]")
    plain = plain.rstrip(".")
    try:
        return plain if plain.isascii() else plain.encode("idna").decode()
    except UnicodeError:
        return plain


def host_of_action(action: str) -> str | None:
    """The host of an action such as `net.fetch.org.ziglang.docs`; "" where it names none; None: no network action."""
    found = _ACTION.fullmatch(action)
    if found is None:
        return None
    return normal_host(".".join(reversed(_PORT.sub("", found[1] or "").split("."))))


def hosts_of_arguments(arguments: str) -> tuple[str, ...]:
    """The hosts of all URLs in the arguments (JSON text) of `fetch_url`; empty where they name none."""
    try:
        value = orjson.loads(arguments)
    except ValueError:
        value = arguments
    return tuple(dict.fromkeys(host for text in _texts(value) for host in _hosts_of_url(text)))


def _texts(value: Any) -> Iterator[str]:
    left = [value]
    for _ in range(_MAX_VALUES):
        if not left:
            return
        each = left.pop()
        if isinstance(each, str):
            yield each
        elif isinstance(each, list):
            left.extend(reversed(each))
        elif isinstance(each, dict):
            # What is not called a URL counts if it looks like one.
            left.extend(text for key, text in reversed(each.items()) if _may_be_url(key, text))


def _may_be_url(key: str, value: Any) -> bool:
    return not isinstance(value, str) or key.lower() in ("url", "urls", "uri", "href") or "://" in value


def _hosts_of_url(url: str) -> Iterator[str]:
    # A backslash is a slash to some programs, and then the host is another one.
    for text in dict.fromkeys((url, url.replace("\\", "/"))):
        try:
            host = urlsplit(text if "://" in text else f"//{text.lstrip('/')}").hostname
        except ValueError:
            continue
        if host:
            yield normal_host(host)
