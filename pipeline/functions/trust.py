"""Whose payloads may be loaded: loading one runs its code, so a store that many can write to proves nothing."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Self

from pipeline.errors import UntrustedFunctionError
from pipeline.records.function import FunctionRecord
from pipeline.store import Store, open_store

ENVIRONMENT_TRUST = "ASSAY_TRUST"  # store URLs and payload digests, between commas or blanks

_made_here: dict[str, bytes] = {}


def remember_made_here(version_id: str, payload: bytes) -> None:
    """Note a payload that this process made: it is trusted, and preferred to the one that stands in a store."""
    _made_here[version_id] = payload


def made_here(version_id: str) -> bytes | None:
    """The payload of a version that this process made."""
    return _made_here.get(version_id)


@dataclass(frozen=True)
class TrustPolicy:
    """The stores and payload digests that the user trusts. Pickles, so that workers can ask it too."""

    stores: frozenset[str]
    digests: frozenset[str] = frozenset()

    @classmethod
    def of(cls, entries: Iterable[str] = (), environ: Mapping[str, str] | None = None) -> Self:
        """The default local store, `ASSAY_TRUST`, and further entries (`--trust`): store URLs, folders or digests."""
        listed = (os.environ if environ is None else environ).get(ENVIRONMENT_TRUST, "")
        found = [*re.split(r"[,\s]+", listed), *entries]
        digests = frozenset(entry for entry in found if re.fullmatch(r"[0-9a-f]{64}", entry))
        stores = [Store(entry).url for entry in found if entry and entry not in digests]
        default = open_store(None)
        return cls(frozenset([*stores, *([default.url] if default.is_local else [])]), digests)

    def trusts_store(self, store: Store) -> bool:
        """Whether all that lies in a store is trusted. A `memory://` store is this process's own."""
        inside = any(store.url == url or store.url.startswith(f"{url.rstrip('/')}/") for url in self.stores)
        return store.is_memory or inside

    def is_trusted(self, store: Store, record: FunctionRecord) -> bool:
        """Whether the payload of a record in a store may be loaded."""
        return record.payload_sha256 in self.digests or self.trusts_store(store)

    def check(self, store: Store, record: FunctionRecord) -> None:
        """Raise UntrustedFunctionError unless the payload may be loaded."""
        if not self.is_trusted(store, record):
            raise UntrustedFunctionError(
                f"function {record.name!r} comes from {store.display}, which is not trusted, and loading it runs its "
                f"code. Its payload is {record.payload_sha256}: allow the store with --trust {store.url} or "
                f"{ENVIRONMENT_TRUST}={store.url}, or this payload alone by giving its digest instead"
            )


def is_trusted(store: Store, record: FunctionRecord) -> bool:
    """Whether the payload of a record may be loaded: made by this process, or trusted by its environment."""
    return made_here(record.version_id) is not None or TrustPolicy.of().is_trusted(store, record)
