"""Files as one source: what a path stands for, one reader a suffix, and schemas that must be the same."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator

import pyarrow as pa

from pipeline.errors import DatasetError, InputError
from pipeline.store.location import split_url, without_credentials
from pipeline.store.open_url import expand_inputs, input_size
from pipeline.store.sources.csv_file import open_csv
from pipeline.store.sources.jsonl_file import open_jsonl
from pipeline.store.sources.parquet_file import open_parquet_source
from pipeline.store.sources.source import Progress, Source, SourceOptions

_SUFFIXES = {".csv": "csv", ".parquet": "parquet", ".jsonl": "jsonl", ".ndjson": "jsonl"}
_READERS = {"csv": open_csv, "jsonl": open_jsonl, "parquet": open_parquet_source}
_NAMED = 5  # files that are named in `origin`


def open_files(paths: Iterable[str | os.PathLike[str]], progress: Progress, options: SourceOptions) -> Source:
    """Files, in the order given, as one source.

    Raises:
        DatasetError: no file, a folder, another suffix, or a file whose columns differ from the first one's.
    """
    files = _expand(paths)
    spans = [progress.expect(_size(path)) for path in files]
    sources = [_READERS[_kind(path)](path, span, options) for path, span in zip(files, spans, strict=True)]
    for path, source in zip(files[1:], sources[1:], strict=True):
        check_same_schema(files[0], sources[0].schema, path, source.schema)

    def tables() -> Iterator[pa.Table]:
        for source in sources:
            yield from source.tables()

    kinds = dict.fromkeys(source.kind for source in sources)
    return Source(sources[0].schema, tables, " and ".join(kinds), _origin(files))


def parquet_inputs(paths: Iterable[str | os.PathLike[str]]) -> list[str]:
    """The files that paths, globs and URLs of Parquet stand for: absolute, in order.

    Raises:
        DatasetError: no file, or one that is no Parquet.
    """
    files = _expand(paths)
    for path in files:
        if _kind(path) != "parquet":
            raise DatasetError(f"{_shown(path)}: only Parquet files can be pinned where they are; upload it instead")
    return [_absolute(path) for path in files]


def check_same_schema(first: str, expected: pa.Schema, path: str, found: pa.Schema) -> None:
    """Raise DatasetError unless names, order, types and nullability are the same; names the column and both types."""
    if found.names != expected.names:
        raise DatasetError(
            f"{_shown(path)}: has the columns {', '.join(found.names)}, but {_shown(first)} has "
            f"{', '.join(expected.names)}; all files of a dataset need the same columns in the same order"
        )
    for one, other in zip(expected, found, strict=True):
        if (one.type, one.nullable) != (other.type, other.nullable):
            raise DatasetError(
                f"{_shown(path)}: column {other.name!r} is {_typed(other)}, but {_typed(one)} in {_shown(first)}; make "
                f'them equal; for CSV and JSON Lines a type can be given: column_types={{"{one.name}": "{one.type}"}}'
            )


def _expand(paths: Iterable[str | os.PathLike[str]]) -> list[str]:
    files: list[str] = []
    for path in paths:
        text = os.fspath(path)
        if not isinstance(text, str) or not text.strip():
            raise DatasetError(f"{text!r} is no path; give the path or URL of a file")
        if split_url(text)[0] == "file" and os.path.isdir(_absolute(text)):
            raise DatasetError(f"{text}: is a folder; name its files, for example {os.path.join(text, '*.parquet')}")
        files += _matches(text)
    if not files:
        raise DatasetError("no files: the data is empty; pass at least one path")
    for path in files:
        _kind(path)
    return files


def _matches(path: str) -> list[str]:
    try:
        return expand_inputs(path)
    except InputError as error:
        raise DatasetError(str(error), 404) from None


def _size(path: str) -> int:
    try:
        return input_size(path)
    except InputError as error:
        raise DatasetError(str(error), 404) from None


def _kind(path: str) -> str:
    scheme, rest = split_url(path)
    suffix = os.path.splitext(rest if scheme == "file" else rest.split("?")[0])[1]
    kind = _SUFFIXES.get(suffix.casefold())
    if kind is None:
        found = f"the suffix {suffix!r}" if suffix else "no suffix"
        raise DatasetError(f"{_shown(path)}: has {found}, expected one of {', '.join(_SUFFIXES)}")
    return kind


def _typed(field: pa.Field) -> str:
    return f"{field.type}{'' if field.nullable else ' (never null)'}"


def _origin(files: list[str]) -> str:
    more = f" and {len(files) - _NAMED} more" if len(files) > _NAMED else ""
    return ", ".join(_shown(path) for path in files[:_NAMED]) + more


def _absolute(path: str) -> str:
    scheme, rest = split_url(path)
    return os.path.abspath(os.path.expanduser(rest)) if scheme == "file" else path


def _shown(path: str) -> str:
    return without_credentials(path)
