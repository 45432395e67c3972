"""Which hosts a command may reach, and at which addresses: a name that leads into this machine is not let through."""

from __future__ import annotations

import ipaddress
import re
import socket
from collections.abc import Sequence
from typing import NamedTuple

from pipeline.errors import InputError

USUAL_PORTS = (80, 443)
_NAME = re.compile(r"(?=.{1,253}\Z)[a-z0-9_](?:[a-z0-9_-]{0,62})(?:\.[a-z0-9_](?:[a-z0-9_-]{0,62}))*", re.IGNORECASE)


class Host(NamedTuple):
    """One that may be reached."""

    name: str
    """In lower case, without the dot of the root; an address in its shortest form."""
    ports: tuple[int, ...]


def checked_hosts(texts: Sequence[str]) -> tuple[Host, ...]:
    """The hosts that are allowed, each `host`, `host:port`, `[address]` or `[address]:port`.

    Raises:
        InputError: one is none of these.
    """
    return tuple(_host(text) for text in texts)


def split_target(text: str, port: int | None) -> tuple[str, int] | None:
    """Name and port of `host`, `host:port` or `[address]:port`; None: it is none of these.

    Args:
        port: where none is named; None: one has to be.
    """
    matched = re.fullmatch(r"(?:\[([0-9a-fA-F:.]+)\]|([^:\[\]/@\s]+))(?::([0-9]{1,5}))?", text)
    if matched is None:
        return None
    number = int(matched[3]) if matched[3] else port
    name = plain_name(matched[1] or matched[2])
    return (name, number) if name and number is not None and 0 < number < 65536 else None


def plain_name(name: str) -> str:
    """A host's name as it is compared; empty: it can be none."""
    try:
        return str(ipaddress.ip_address(name))
    except ValueError:
        name = name.lower().removesuffix(".")
        return name if _NAME.fullmatch(name) else ""


def is_allowed(hosts: Sequence[Host], name: str, port: int) -> bool:
    """Whether a host may be reached at a port."""
    return any(host.name == name and port in host.ports for host in hosts)


def addresses_of(name: str, port: int) -> list[str]:
    """The addresses at which a host may be reached.

    A name may lead to addresses of the public network alone. An address and `localhost` are what they are: whoever
    allowed them meant them.
    """
    found = [str(entry[4][0]) for entry in socket.getaddrinfo(name, port, type=socket.SOCK_STREAM)]
    if name == "localhost" or _is_address(name):
        return found
    return [address for address in found if _is_public(address)]


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


def _is_public(text: str) -> bool:
    address = ipaddress.ip_address(text.partition("%")[0])
    inner = getattr(address, "ipv4_mapped", None) or getattr(address, "sixtofour", None)
    return address.is_global and not address.is_multicast and (inner is None or inner.is_global)


def _host(text: str) -> Host:
    exact = split_target(text, None)
    if exact is not None:
        return Host(exact[0], (exact[1],))
    usual = split_target(text, USUAL_PORTS[0])
    if usual is None:
        raise InputError(f"network host {text!r} is none; expected a name, an address, or one with :port")
    return Host(usual[0], USUAL_PORTS)
