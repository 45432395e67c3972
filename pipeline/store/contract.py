"""The contract of a store, as a list of checks that run against any store: `assay store check URL`.

Each check works on keys of its own below one folder, which is removed at the end.
"""

from __future__ import annotations

import contextlib
import hashlib
import shutil
import tempfile
import uuid
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

from pipeline.errors import CorruptError, InputError, MissingError, StoreError
from pipeline.store.probe import probe
from pipeline.store.store import Store

N_RACERS = 16
N_RACES = 6
LARGE_BYTES = 128 << 20
"""Beyond every client's limit for a single PUT (s3fs 100 MiB, adlfs 64, gcsfs 50), so that it travels in parts."""
LONG_CREATE_BYTES = 12 << 20
"""Beyond the smallest part of a multi-part upload: an index of this size must still be one PUT."""
_HOPELESS = ("DeniedError", "UnavailableError", "InputError")
_ODD_NAMES = ("a b", "é", "x=1%2F2", "a+b&c", "...", "~t", "UPPER", "n" * 200)


class ContractResult(NamedTuple):
    """One line of the table."""

    name: str
    passed: bool
    detail: str


class _Broken(Exception):
    """The store did something else than the contract says."""


def check_store(store: Store, *, large_bytes: int = LARGE_BYTES) -> list[ContractResult]:
    """Run the whole contract.

    Returns:
        One result a check, in a fixed order. After a store that cannot be written at all, only the first.
    """
    folder = f".contract-{uuid.uuid4().hex}"
    results: list[ContractResult] = []
    try:
        for name, check in _checks(large_bytes):
            results.append(_run(name, check, store, f"{folder}/{len(results)}"))
            if results[0].detail.startswith(_HOPELESS):
                break
    finally:
        _clean(store, folder)
    return results


def _run(name: str, check: Callable[[Store, str], str], store: Store, at: str) -> ContractResult:
    try:
        return ContractResult(name, True, check(store, at))
    except _Broken as broken:
        return ContractResult(name, False, str(broken))
    except Exception as error:  # noqa: BLE001 - a border: every failure is a line of the table
        return ContractResult(name, False, f"{type(error).__name__}: {error}")


def _clean(store: Store, folder: str) -> None:
    with contextlib.suppress(StoreError):
        for key in store.list(folder):
            store.delete(key)
    path = store.local_path(folder)
    if path is not None:
        shutil.rmtree(path, ignore_errors=True)


def _checks(large_bytes: int) -> Iterator[tuple[str, Callable[[Store, str], str]]]:
    yield "refuses to overwrite on create", _probe
    yield "a created object reads back", _create_once
    yield "a second create leaves the first bytes", _create_twice
    yield "equal bytes stand as one's own", _create_equal
    yield f"of {N_RACERS} racing creates exactly one wins", _race
    yield "a large create is exclusive too", _race_large
    yield "an absent object is missing, not an error", _missing
    yield "sizes and ranges are right", _ranges
    yield "an empty object is an object", _empty
    yield "a folder is no object", _folder
    yield "odd names keep their bytes apart", _odd_names
    yield "listings show what was just written", _listing
    yield "a deleted object is gone", _delete
    yield "a write replaces", _replace
    yield f"a file of {large_bytes >> 20} MiB arrives whole", lambda store, at: _large(store, at, large_bytes)
    yield "a put is never seen in part", lambda store, at: _never_torn(store, at, large_bytes // 4)
    yield "other bytes are caught by their digest", _digest
    yield "keys cannot leave the root", _escape


def _require(condition: bool, otherwise: str) -> None:
    if not condition:
        raise _Broken(otherwise)


def _probe(store: Store, at: str) -> str:  # noqa: ARG001 - the probe has a key of its own
    probe(store)
    return "the second create was refused"


def _create_once(store: Store, at: str) -> str:
    stands, found = store.create(f"{at}/x", b"one"), store.read(f"{at}/x")
    _require(stands == found == b"one", f"created b'one', create said {stands!r}, read {found!r}")
    return ""


def _create_twice(store: Store, at: str) -> str:
    store.create(f"{at}/x", b"one")
    stands, found = store.create(f"{at}/x", b"two"), store.read(f"{at}/x")
    _require(stands == found == b"one", f"b'one' stood, create said {stands!r}, read {found!r}")
    return ""


def _create_equal(store: Store, at: str) -> str:
    stands = [store.create(f"{at}/x", b"same") for _ in range(2)]
    _require(stands == [b"same"] * 2, f"expected b'same' twice, found {stands!r}")
    return ""


def _race(store: Store, at: str) -> str:
    for number in range(N_RACES):
        _race_once(store, f"{at}/{number}", [b"racer %d" % racer for racer in range(N_RACERS)])
    return f"{N_RACES} races"


def _race_large(store: Store, at: str) -> str:
    racers = [bytes([racer]) * LONG_CREATE_BYTES for racer in range(4)]
    _race_once(store, f"{at}/x", racers)
    return f"4 racers of {LONG_CREATE_BYTES >> 20} MiB"


def _race_once(store: Store, key: str, racers: list[bytes]) -> None:
    with ThreadPoolExecutor(len(racers)) as pool:
        stands = list(pool.map(lambda data: store.create(key, data), racers))
    found = store.read(key)
    winners = sum(mine == theirs for mine, theirs in zip(racers, stands, strict=True))
    _require(winners == 1, f"{winners} writers were told that their bytes stand")
    _require(all(data == found for data in stands), "writers were told of other bytes than those that stand")


def _missing(store: Store, at: str) -> str:
    _require(store.size(f"{at}/no") is None and not store.exists(f"{at}/no"), "an absent object has a size")
    _require(store.list(f"{at}/none") == [], "an empty folder lists something")
    store.delete(f"{at}/no")
    try:
        store.read(f"{at}/no")
    except MissingError:
        return ""
    raise _Broken("an absent object was read")


def _ranges(store: Store, at: str) -> str:
    data = bytes(range(256)) * 64
    store.put(f"{at}/x", data)
    _require(store.size(f"{at}/x") == len(data), f"{len(data)} bytes written, size says {store.size(f'{at}/x')}")
    for start, length in ((0, 1), (5, 1000), (len(data) - 3, 3), (len(data) - 3, 100), (len(data), 5)):
        found = store.read_range(f"{at}/x", start, length)
        _require(found == data[start : start + length], f"range {start}+{length} has other bytes")
    with store.open(f"{at}/x") as file:
        file.seek(-10, 2)
        _require(file.read() == data[-10:], "the end read by seeking has other bytes")
    return ""


def _empty(store: Store, at: str) -> str:
    store.create(f"{at}/x", b"")
    _require((store.size(f"{at}/x"), store.read(f"{at}/x")) == (0, b""), "an empty object is not kept")
    return ""


def _folder(store: Store, at: str) -> str:
    store.put(f"{at}/folder/x", b"x")
    _require(store.size(f"{at}/folder") is None, "a folder has a size")
    folders = store.list_folders(at)
    _require(folders == ["folder"], f"expected one folder, found {folders}")
    return ""


def _odd_names(store: Store, at: str) -> str:
    for name in _ODD_NAMES:
        store.create(f"{at}/{name}", name.encode())
    for name in _ODD_NAMES:
        found = store.read(f"{at}/{name}")
        _require(found == name.encode(), f"{name!r} has the bytes of {found!r}")
    expected = sorted(f"{at}/{name}" for name in _ODD_NAMES)
    _require(store.list(at) == expected, f"the listing is {store.list(at)}")
    return f"{len(_ODD_NAMES)} names"


def _listing(store: Store, at: str) -> str:
    expected = []
    for number in range(5):
        key = f"{at}/deep/{number}/x"
        store.put(key, b"x")
        expected.append(key)
        _require(store.list(at) == expected, f"after {number + 1} writes the listing is {store.list(at)}")
    _require(store.list(f"{at}/de") == [], "a part of a folder's name lists its objects")
    return ""


def _delete(store: Store, at: str) -> str:
    store.create(f"{at}/x", b"one")
    store.delete(f"{at}/x")
    store.delete(f"{at}/x")
    _require(not store.exists(f"{at}/x"), "a deleted object is there")
    _require(store.create(f"{at}/x", b"two") == b"two", "a deleted object cannot be created again")
    return ""


def _replace(store: Store, at: str) -> str:
    for data in (b"long ago", b"now"):
        store.write(f"{at}/x", data)
        _require(store.read(f"{at}/x") == data, "a write does not show")
    return ""


def _large(store: Store, at: str, n_bytes: int) -> str:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "large")
        with open(file, "wb") as out:
            for number in range(n_bytes >> 20):
                out.write(hashlib.sha256(str(number).encode()).digest() * (1 << 15))
        digest = hashlib.sha256(file.read_bytes()).hexdigest()
        store.put(f"{at}/x", file)
    store.read(f"{at}/x", sha256=digest)
    return ""


def _never_torn(store: Store, at: str, n_bytes: int) -> str:
    seen: set[int | None] = set()
    with ThreadPoolExecutor(1) as pool:
        upload = pool.submit(store.put, f"{at}/x", bytes(n_bytes))
        while not upload.done():
            seen.add(store.size(f"{at}/x"))
        upload.result()
    _require(seen <= {None, n_bytes}, f"while {n_bytes} bytes were put, sizes {sorted(map(str, seen))} were seen")
    return f"looked at while {n_bytes >> 20} MiB were put"


def _digest(store: Store, at: str) -> str:
    store.put(f"{at}/x", b"right")
    try:
        store.read(f"{at}/x", sha256=hashlib.sha256(b"wrong").hexdigest())
    except CorruptError:
        return ""
    raise _Broken("bytes with another digest were handed out")


def _escape(store: Store, at: str) -> str:
    for key in ("../x", "/x", f"{at}/../../x", "a\\b", "a\0b", "a//b", "."):
        try:
            store.create(key, b"x")
        except InputError:
            continue
        raise _Broken(f"the key {key!r} was accepted")
    return ""
