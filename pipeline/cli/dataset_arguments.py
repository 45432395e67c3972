"""A dataset as it is written in a config or on a command line, made into a reference."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from pipeline.errors import DatasetError, InputError

if TYPE_CHECKING:
    from pipeline.records.dataset import DatasetRevisionRef
    from pipeline.store import Store

_SUFFIXES = (
    ".parquet",
    ".pq",
    ".csv",
    ".tsv",
    ".jsonl",
    ".ndjson",
    ".json",
    ".arrow",
    ".feather",
    ".ipc",
    ".gz",
    ".zst",
)


def is_path(text: str) -> bool:
    """Whether a text names files and not a registered dataset."""
    return (
        any(mark in text for mark in "/\\*?[") or text.lower().endswith(_SUFFIXES) or Path(text).expanduser().is_file()
    )


def expand_paths(texts: Sequence[str], folder: Path) -> list[str]:
    """The files that paths, globs and URLs stand for; paths are relative to `folder`.

    Raises:
        InputError: nothing is there.
    """
    from pipeline.store import expand_inputs

    return [
        file for text in texts for file in expand_inputs(text if "://" in text else folder / Path(text).expanduser())
    ]


def parse_types(texts: Sequence[str] | None) -> dict[str, str]:
    """The types of `--type`, by column. Raises InputError for what is not `COLUMN=TYPE`."""
    types = {}
    for text in texts or ():
        name, separator, kind = text.rpartition("=")
        if not separator or not name or not kind:
            raise InputError(f"--type {text!r} is not COLUMN=TYPE, as in --type zip=string")
        types[name] = kind
    return types


@contextmanager
def told_as_option(advice: str = "") -> Iterator[None]:
    """What is said of the argument `column_types` is said of `--type`.

    Args:
        advice: added where a message recommends it and the command has no such option.
    """
    try:
        yield
    except (DatasetError, InputError) as error:
        message = str(error)
        if "column_types" not in message:
            raise
        message = re.sub(r"""column_types=\{"(.+?)": "(.+?)"\}""", r"--type '\1=\2'", message)
        message = re.sub(r"column_types\['(.+?)'\]", r"--type of '\1'", message)
        message = message.replace("in column_types", "with --type").replace("column_types", "--type")
        raise InputError(message + advice) from error


def dataset_reference(texts: Sequence[str], folder: Path, name: str, *, home: Store, into: Store) -> DatasetRevisionRef:
    """The revision that a config's `dataset` stands for, registered in `into`.

    Args:
        texts: paths, globs, URLs; or one `name` or `name@revision` of a dataset in `home`.
        folder: what relative paths are relative to.
        name: what files are registered as.
        home: where names are looked up.
        into: where the evaluation is made: `home`, or a scratch store.

    Raises:
        InputError, DatasetError: no such files, name or revision.
    """
    from pipeline.records.names import slug
    from pipeline.store import DatasetClient, register_revision, resolve_revision

    if any(is_path(text) for text in texts):
        files = expand_paths(texts, folder)
        can_stay = all(PurePosixPath(file).suffix.lower() == ".parquet" for file in files)
        return DatasetClient(into).upload(slug(name), files, pin=can_stay)
    if len(texts) != 1:
        raise InputError(f"dataset names {len(texts)} registered datasets ({', '.join(texts)}); give one, or paths")
    ref = named_reference(home, texts[0])
    return ref if into is home else register_revision(into, resolve_revision(home, ref))


def named_reference(store: Store, text: str) -> DatasetRevisionRef:
    """The revision that `name` or `name@revision` stands for; a unique beginning of the revision will do.

    Raises:
        DatasetError: no such dataset.
        InputError: no such revision, or several.
    """
    from pipeline.store import DatasetClient

    name, separator, wanted = text.partition("@")
    client = DatasetClient(store)
    newest = client.resolve(name)
    if not separator:
        return newest
    refs = {info.ref.revision_id: info.ref for info in client.revisions(name)}
    found = [ref for key, ref in refs.items() if wanted and key is not None and key.startswith(wanted)]
    if len(found) != 1:
        state = f"{len(found)} revisions" if found else "no revision"
        raise InputError(f"{text!r} stands for {state} of dataset {name!r}; `assay dataset show {name}` lists them")
    return found[0]
