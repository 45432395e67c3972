"""The config of `assay run` (`assay.run` version 1): a dataset, a task or an output column, and scorers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, ConfigDict, Field, StringConstraints, ValidationError, model_validator

from pipeline.errors import InputError
from pipeline.formats.located import Located, Path
from pipeline.formats.strict_yaml import parse_yaml
from pipeline.records.base import Record
from pipeline.records.names import nearest
from pipeline.records.told import IN_OUR_WORDS, check_kind, shown, told

SCHEMA, VERSION = "assay.run", 1

_WORDS = {**IN_OUR_WORDS, "tuple_type": "expected a text or a list of texts"}

Text = Annotated[str, StringConstraints(min_length=1, strict=True)]


def _as_list(value: object) -> object:
    return [value] if isinstance(value, str) else value


Texts = Annotated[tuple[Text, ...], BeforeValidator(_as_list)]
"""A list of texts; one text stands for a list of one."""


class UseEntry(Record):
    """A built-in scorer. Members beside these are its options, checked where the scorer is made."""

    model_config = ConfigDict(frozen=True, extra="allow", allow_inf_nan=False)

    use: Text
    name: Text | None = None
    inputs: Texts | None = None

    @property
    def options(self) -> dict[str, Any]:
        """The options of the built-in."""
        return dict(self.model_extra or {})


class SqlEntry(Record):
    """A SQL expression."""

    sql: Text
    name: Text


class FunctionEntry(Record):
    """An own scorer: `path.py:function`, relative to the config."""

    function: Text
    name: Text | None = None


ENTRIES: Mapping[str, type[UseEntry | SqlEntry | FunctionEntry]] = {
    "use": UseEntry,
    "sql": SqlEntry,
    "function": FunctionEntry,
}
"""The member that tells what kind of scorer an entry is."""


class RunConfig(Record):
    """What `assay run` reads. Paths are relative to the file; the caller resolves them."""

    schema_: Literal["assay.run"] = Field(alias="schema")
    version: Literal[1]
    name: Text
    dataset: Texts
    """Paths, globs or URLs; or one name, or `name@revision`, of a registered dataset."""
    task: Text | None = None
    """`path.py:function`; None: `output_column` is scored as it is."""
    output_column: Text | None = None
    scorers: Annotated[tuple[UseEntry | SqlEntry | FunctionEntry, ...], Field(min_length=1)]
    partition_by: Texts = ()
    limit: Annotated[int, Field(ge=1, strict=True)] | None = None
    engine: Literal["auto", "inline", "ray"] = "auto"
    metadata: dict[str, Any] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _one_output(self) -> RunConfig:
        if (self.task is None) == (self.output_column is None):
            raise ValueError("give either task: path.py:function, or output_column: the column that holds the answers")
        return self


class LoadedConfig(Record):
    """A config, where it was read, and the line of each of its scorers."""

    config: RunConfig
    where: str
    scorer_lines: tuple[int, ...]


def load_run_config(data: bytes, where: str) -> LoadedConfig:
    """Read a config from the bytes of its file.

    Raises:
        InputError: names file, line, field, what was found and what is allowed, and the nearest known field.
    """
    document = parse_yaml(data, where)
    check_kind(document, where, RunConfig, {"schema": SCHEMA, "version": VERSION})
    if "scorers" in document.value:
        _check_scorers(document.value["scorers"], document, where)
    try:
        config = RunConfig.model_validate(document.value)
    except ValidationError as error:
        raise told(error, RunConfig, document, where, words=_WORDS) from None
    lines = tuple(document.line_of(("scorers", index)) for index in range(len(config.scorers)))
    return LoadedConfig(config=config, where=where, scorer_lines=lines)


def _check_scorers(entries: object, document: Located, where: str) -> None:
    if not isinstance(entries, list) or not entries:
        found = "is empty" if entries in ([], None) else f"is {shown(entries)}"
        raise InputError(
            f"{where}:{document.line_of(('scorers',))}: scorers {found}; list at least one, such as "
            "- {use: exact_match, inputs: [output, answer]}"
        )
    for index, entry in enumerate(entries):
        _check_entry(entry, ("scorers", index), document, where)


def _check_entry(entry: object, path: Path, document: Located, where: str) -> None:
    line = document.line_of(path)
    kinds = [kind for kind in ENTRIES if isinstance(entry, dict) and kind in entry]
    if len(kinds) != 1:
        hint = f"; found {shown(entry)}" if not kinds else f"; found {' and '.join(kinds)}"
        close = ""
        if isinstance(entry, dict) and not kinds:
            close = nearest(str(next(iter(entry), "")), ENTRIES)
        elif isinstance(entry, str):
            close = f"; write it as {{{'function' if '.py' in entry else 'use'}: {entry}}}"
        raise InputError(f"{where}:{line}: a scorer has one of use, sql, function{hint}{close}")
    try:
        ENTRIES[kinds[0]].model_validate(entry)
    except ValidationError as error:
        raise told(error, ENTRIES[kinds[0]], document, where, above=path, words=_WORDS) from None
