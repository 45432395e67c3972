"""Functions on a store: create-only records and payloads by version, and heads that a name resolves to."""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass

from pipeline.errors import CorruptError, FunctionError, MissingError, UntrustedFunctionError
from pipeline.functions.payload import check_python
from pipeline.functions.trust import TrustPolicy, made_here
from pipeline.records.digest import digest_bytes
from pipeline.records.function import FunctionRecord
from pipeline.records.names import check_name, nearest
from pipeline.store import Store, append_head, current_head, list_heads

FOLDER = "functions"
BY_VERSION = f"{FOLDER}/_versions"  # no function can be called so: names start with a letter or digit


@dataclass(frozen=True)
class FunctionMaterial:
    """What a worker makes a caller of: a record, and a payload that its user trusts. Pickles."""

    record: FunctionRecord
    payload: bytes
    sha256: str
    """Of the payload; the record's, or of the equal version that the driver's process made."""


def record_key(name: str, version_id: str) -> str:
    """Where the record of a version lies."""
    return f"{FOLDER}/{name}/{version_id}.json"


def payload_key(name: str, version_id: str) -> str:
    """Where the payload of a version lies."""
    return f"{FOLDER}/{name}/{version_id}.pkl"


def write_version(store: Store, record: FunctionRecord, payload: bytes) -> FunctionRecord:
    """Write a version, the payload first; the record that stands, which may be that of an earlier, equal deploy."""
    standing = store.create(payload_key(record.name, record.version_id), payload)
    record = record.model_copy(update={"payload_sha256": digest_bytes(standing)})
    key = record_key(record.name, record.version_id)
    written = FunctionRecord.from_bytes(store.create(key, record.to_bytes()), key)
    store.create(f"{BY_VERSION}/{record.version_id}.json", written.to_bytes())
    return written


def select_version(store: Store, record: FunctionRecord) -> None:
    """Let the name resolve to this version from now on."""
    append_head(store, f"{FOLDER}/{record.name}", {"version_id": record.version_id})


def read_by_name(store: Store, name: str) -> FunctionRecord:
    """The record of the version that a name resolves to now.

    Raises:
        FunctionError: no function of that name.
    """
    head = current_head(store, f"{FOLDER}/{check_name(name, 'function')}")
    if head is None:
        raise FunctionError(f"no function {name!r} in {store.display}{nearest(name, _names(store))}")
    return read_by_version(store, head["version_id"])


def read_by_version(store: Store, version_id: str) -> FunctionRecord:
    """The record of an exact version.

    Raises:
        FunctionError: no such version in this store.
    """
    if not re.fullmatch(r"[0-9a-f]{64}", version_id):
        raise FunctionError(f"{version_id!r} is no version id: it has 64 characters of 0-9 a-f; from_name takes names")
    key = f"{BY_VERSION}/{version_id}.json"
    try:
        record = FunctionRecord.from_bytes(store.read(key), key)
    except MissingError:
        raise FunctionError(f"no function version {version_id} in {store.display}: deploy it there first") from None
    if record.version_id != version_id:
        raise CorruptError(f"{key} holds version {record.version_id}", key=key)
    return record


def read_versions(store: Store, name: str) -> list[FunctionRecord]:
    """The versions of a name that were selected, newest first, each once."""
    heads = list_heads(store, f"{FOLDER}/{check_name(name, 'function')}")
    ids = dict.fromkeys(str(head.payload["version_id"]) for head in reversed(heads))
    return [read_by_version(store, version_id) for version_id in ids]


def load_function(store: Store, version_id: str, *, trusted: TrustPolicy | Collection[str]) -> FunctionMaterial:
    """Fetch what a caller is made of. Loads nothing: FunctionCaller does, in a worker.

    Args:
        trusted: the user's policy, or the version ids that were found trusted already.

    Raises:
        FunctionError: no such version.
        UntrustedFunctionError: the payload is not trusted.
        FunctionBuildError: another Python pickled it.
        CorruptError: the payload is not the one of the record.
    """
    record = read_by_version(store, version_id)
    own = made_here(version_id)
    if own is not None:
        return FunctionMaterial(record, own, digest_bytes(own))
    if isinstance(trusted, TrustPolicy):
        trusted.check(store, record)
    elif version_id not in trusted:
        raise UntrustedFunctionError(f"function {record.name!r}, payload {record.payload_sha256}, is not trusted")
    check_python(record)
    payload = store.read(payload_key(record.name, version_id), sha256=record.payload_sha256)
    return FunctionMaterial(record, payload, record.payload_sha256)


def copy_version(source: Store, target: Store, record: FunctionRecord, trust: TrustPolicy) -> FunctionRecord:
    """Bring a version into another store; only a trusted one, since the other store may be trusted as a whole."""
    if source.url == target.url:
        return record
    material = load_function(source, record.version_id, trusted=trust)
    return write_version(target, record, material.payload)


def _names(store: Store) -> list[str]:
    keys = store.list(f"{FOLDER}/")
    return sorted({key.split("/")[1] for key in keys if key.count("/") >= 2} - {"_versions"})
