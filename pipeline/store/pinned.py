"""Files that stay where they are: what they were when they were pinned, and whether they still are."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from pipeline.errors import CorruptError, DatasetError, InputError, MissingError
from pipeline.records.dataset import PartFile, Revision, encode_schema
from pipeline.store.location import without_credentials
from pipeline.store.open_url import input_size, open_input
from pipeline.store.parquet import open_parquet
from pipeline.store.sources import Progress, parquet_inputs, storable_schema
from pipeline.store.sources.files import check_same_schema
from pipeline.store.sources.parquet_file import parquet_file
from pipeline.store.sources.source import Span
from pipeline.store.store import Store

PINNED = "pinned"
"""The dataset of a revision whose files were pinned without a name."""
_CHUNK_BYTES = 1 << 20
FileIdentity = tuple[str, int, int, int, int]
"""A local file as it was: path, inode, size, times of its last write and change (ns)."""
_digests: dict[FileIdentity, str] = {}
"""SHA-256 of local files: a file that is the same by its identity is digested once a run."""


def is_pinned(part: PartFile) -> bool:
    """Whether the file is where its owner keeps it, and not in a store."""
    return "://" in part.path or os.path.isabs(part.path)


def pin_files(
    paths: Sequence[str | os.PathLike[str]], name: str = PINNED, progress: Progress | None = None
) -> Revision:
    """A revision of Parquet files that stay where they are. Each is read once, for its digest.

    Args:
        paths: paths, globs or URLs.

    Raises:
        DatasetError: no file, no Parquet, a damaged file, or columns that differ from the first file's.
    """
    progress = progress or Progress()
    files = parquet_inputs(paths)
    spans = [progress.expect(input_size(path)) for path in files]
    schemas, parts = [], []
    for path, span in zip(files, spans, strict=True):
        what = without_credentials(path)
        try:
            with open_parquet(parquet_file(path), what) as file:
                schemas.append(storable_schema(file.schema_arrow, what))
                rows = file.metadata.num_rows
        except InputError as error:
            raise DatasetError(str(error)) from None
        check_same_schema(files[0], schemas[0], path, schemas[-1])
        parts.append(PartFile(path=path, rows=rows, bytes=span.total, sha256=file_digest(path, span)))
    source = {"kind": "parquet, pinned in place", "from": ", ".join(map(without_credentials, files[:5]))}
    return Revision(dataset=name, arrow_schema=encode_schema(schemas[0]), parts=tuple(parts), source=source)


def pin_stored(store: Store, revision: Revision) -> Revision:
    """The same revision with its files pinned where the store keeps them, so that another store can refer to them."""
    parts = tuple(
        part if is_pinned(part) else part.model_copy(update={"path": _place(store, part.path)})
        for part in revision.parts
    )
    return revision.model_copy(update={"parts": parts})


def file_digest(path: str, span: Span | None = None) -> str:
    """SHA-256 of a file or URL; of a local file that has not changed, from memory."""
    key = file_identity(path)
    if key in _digests:
        return _digests[key]
    digest, n_bytes = hashlib.sha256(), 0
    with open_input(path) as file:
        while chunk := file.read(_CHUNK_BYTES):
            digest.update(chunk)
            n_bytes += len(chunk)
            if span is not None and span.total:
                span.reach(n_bytes / span.total)
    if key is not None and key == file_identity(path):
        _digests[key] = digest.hexdigest()
    return digest.hexdigest()


def known_digests(revision: Revision) -> dict[FileIdentity, str]:
    """What this process has digested of a revision's pinned files, for workers to know as well."""
    identities = [file_identity(part.path) for part in revision.parts if is_pinned(part)]
    return {identity: _digests[identity] for identity in identities if identity in _digests}


def learn_digests(known: Mapping[FileIdentity, str]) -> None:
    """Take over what another process of the run has digested; a file of another identity is digested here."""
    _digests.update(known)


def check_unchanged(path: str, part: PartFile) -> None:
    """Raise unless the file still is the one that the part describes.

    Raises:
        MissingError: it is gone.
        CorruptError: its size or digest differs.
    """
    what = without_credentials(path)
    try:
        found = file_digest(path) if input_size(path) == part.bytes else None
    except InputError:
        raise MissingError(f"{what}: is gone; restore the file, or make the dataset again", part.path) from None
    if found != part.sha256:
        raise damaged(what, part)


def damaged(what: str, part: PartFile) -> CorruptError:
    """The error of a file that is not the one that the part describes."""
    pinned = is_pinned(part)
    change = "has changed since it was pinned" if pinned else "was damaged or replaced after it was written"
    fix = "restore it, or pin or upload the data again" if pinned else "restore it, or make it again"
    return CorruptError(f"{what}: {change} (its size or SHA-256 differs); {fix}", part.path)


def _place(store: Store, key: str) -> str:
    path = store.local_path(key)
    return f"{store.url}/{key}" if path is None else str(path)


def file_identity(path: str) -> FileIdentity | None:
    """What tells a local file from what it may become; None for URLs, and where there is no file."""
    if "://" in path:
        return None
    try:
        stat = Path(path).stat()
    except OSError:
        return None
    return path, stat.st_ino, stat.st_size, stat.st_mtime_ns, stat.st_ctime_ns
