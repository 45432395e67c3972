"""Revisions in a store: written once, found by id, by reference or by the name of their dataset."""

from __future__ import annotations

from typing import Any

from pipeline.errors import CorruptError, DatasetError, MissingError
from pipeline.records.dataset import DatasetRevisionRef, Revision
from pipeline.records.names import check_name, nearest
from pipeline.store.heads import append_head, current_head
from pipeline.store.open_url import input_size
from pipeline.store.pinned import is_pinned
from pipeline.store.store import Store


def as_ref(value: Any) -> DatasetRevisionRef:
    """A reference from itself, or from any object with `dataset_id` and `revision_id`, or with `dataset_name`.

    Raises:
        DatasetError: None: a run that has no result yet.
        TypeError: anything else, text included.
    """
    if isinstance(value, DatasetRevisionRef):
        return value
    if value is None:
        raise DatasetError("there is no dataset yet: the run has no result before it has succeeded; wait for it", 404)
    dataset, revision = getattr(value, "dataset_id", None), getattr(value, "revision_id", None)
    if dataset is not None and revision is not None:
        return DatasetRevisionRef(dataset_id=str(dataset), revision_id=str(revision))
    name = getattr(value, "dataset_name", None)
    if name is not None:
        return DatasetRevisionRef(dataset_name=str(name))
    hint = f"; write DatasetRevisionRef(dataset_name={value!r})" if isinstance(value, str) else ""
    raise TypeError(
        f"a dataset is given as a DatasetRevisionRef or an object with dataset_id and revision_id, or dataset_name; "
        f"found {type(value).__name__}{hint}"
    )


def get_revision(store: Store, revision_id: str) -> Revision:
    """The revision of an id.

    Raises:
        DatasetError: no such revision (404).
        CorruptError: what is there is another revision.
    """
    key = _key(revision_id)
    if key is None:
        raise _unknown(store, revision_id)
    try:
        revision = Revision.from_bytes(store.read(key), f"{store.display}/{key}")
    except MissingError:
        raise _unknown(store, revision_id) from None
    if revision.id != revision_id:
        raise CorruptError(f"{store.display}/{key}: holds the revision {revision.id}; restore it", key)
    return revision


def newest_revision(store: Store, name: str) -> str:
    """The id of the newest revision of a dataset.

    Raises:
        DatasetError: no such dataset (404).
    """
    try:
        head = current_head(store, f"datasets/{check_name(name.strip(), 'dataset')}")
    except ValueError as error:
        raise DatasetError(str(error), 404) from None
    if head is None:
        known = store.list_folders("datasets")
        raise DatasetError(f"no dataset {name!r} in {store.display}{nearest(name, known)}; upload it first", 404)
    return str(head["revision"])


def resolve_revision(store: Store, ref: Any) -> Revision:
    """The revision of an id or of anything that `as_ref` takes; a name stands for its newest revision.

    Raises:
        DatasetError: no such dataset or revision.
        TypeError: no reference.
    """
    if isinstance(ref, str):
        return get_revision(store, ref.strip())
    found = as_ref(ref)
    if found.dataset_name is not None:
        return get_revision(store, newest_revision(store, found.dataset_name))
    return get_revision(store, str(found.revision_id))


def register_revision(store: Store, revision: Revision, name: str | None = "") -> DatasetRevisionRef:
    """Write a revision down and make it the newest of a dataset.

    The same rows under another name are the same revision; the record that stands first stays.

    Args:
        name: of the dataset; blank: the one that the revision carries; None: no dataset is given a new state.

    Raises:
        DatasetError: it was registered before with pinned files that are no longer there.
    """
    key = f"revisions/{revision.id}.json"
    standing = store.create(key, revision.to_bytes())
    _check_reachable(Revision.from_bytes(standing, f"{store.display}/{key}"), revision)
    if name is not None:
        append_head(store, f"datasets/{check_name(name or revision.dataset, 'dataset')}", {"revision": revision.id})
    return DatasetRevisionRef(dataset_id=name or revision.dataset, revision_id=revision.id)


def _check_reachable(standing: Revision, mine: Revision) -> None:
    for part, own in zip(standing.parts, mine.parts, strict=True):
        if part.path == own.path or not is_pinned(part):
            continue
        try:
            input_size(part.path)
        except ValueError:
            raise DatasetError(
                f"the same rows were registered from {part.path}, which is gone; put the file back, "
                "or register in another store"
            ) from None


def _key(revision_id: str) -> str | None:
    is_digest = len(revision_id) == 64 and set(revision_id) <= set("0123456789abcdef")
    return f"revisions/{revision_id}.json" if is_digest else None


def _unknown(store: Store, revision_id: str) -> DatasetError:
    hint = nearest(revision_id, store.list_folders("datasets")) if _key(revision_id) is None else ""
    named = (
        f"; {revision_id!r} is a dataset: pass client.resolve({revision_id!r})" if f"{revision_id!r}?" in hint else ""
    )
    return DatasetError(
        f"no revision {revision_id!r} in {store.display}{named}; of another store: name it (store=, --store)",
        404,
    )
