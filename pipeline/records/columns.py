"""The columns of a result, and the names that a dataset may not use."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import pyarrow as pa

from pipeline.errors import InputError
from pipeline.records.evaluation import ScorerRecord
from pipeline.records.names import slug

OUTPUT = "output"
OUTPUT_ERROR = "output_error"
ROW_ID = "__assay_row_id"
OWNER = "__assay_owner"
SCORER_OWNER = "__assay_scorer_owner"
INTERNAL_PREFIX = "__assay_"

# The six of the evaluation runtime whose surface this project keeps.
RESERVED = (
    OUTPUT,
    "trace",
    "__chalk_evaluation_output",
    "__chalk_evaluation_row_id",
    "__chalk__session_id__",
    "__chalk__task_session_id__",
)

TEXT = pa.large_string()
VALUES = pa.list_(pa.struct([pa.field("score", pa.float64(), nullable=False), pa.field("metadata", TEXT)]))
SCORER_OWNERS = pa.map_(pa.string(), pa.string())


def scorer_fields(scorer: ScorerRecord) -> list[pa.Field]:
    """The result columns of one scorer; a SQL scorer has its value alone."""
    fields = [pa.field(f"{scorer.name}_value", pa.float64())]
    if scorer.sql_expression is None:
        fields += [pa.field(f"{scorer.name}_error", TEXT), pa.field(f"{scorer.name}_metadata", TEXT)]
    if scorer.emits_list:
        fields.append(pa.field(f"{scorer.name}_values", VALUES))
    return fields


def result_schema(dataset: pa.Schema, output: pa.DataType, scorers: Iterable[ScorerRecord]) -> pa.Schema:
    """The columns of a result, in order. A dataset column `output` that is scored as it is keeps its place."""
    fields = list(dataset)
    if OUTPUT not in dataset.names:
        fields.append(pa.field(OUTPUT, output))
    fields.append(pa.field(OUTPUT_ERROR, TEXT))
    for scorer in scorers:
        fields += scorer_fields(scorer)
    fields += [
        pa.field(ROW_ID, pa.int64(), nullable=False),
        pa.field(OWNER, pa.string()),
        pa.field(SCORER_OWNER, SCORER_OWNERS),
    ]
    return pa.schema(fields)


def _also(other: str, name: str) -> str:
    return "" if other == name else f" and {other!r}, which are one name in a path"


def check_dataset_columns(names: Sequence[str], output_column: str | None) -> None:
    """Refuse dataset columns that the evaluation runtime keeps for itself.

    Raises:
        InputError: a reserved name; `output` is allowed where it is the output column.
    """
    for name in names:
        scored_as_it_is = name == OUTPUT and output_column == OUTPUT
        if (name in RESERVED and not scored_as_it_is) or name.startswith(INTERNAL_PREFIX):
            hint = "; to score it as it is, name it as the output column and give no task" if name == OUTPUT else ""
            raise InputError(
                f'dataset column "{name}" is reserved by the evaluation runtime; rename it before the upload{hint}'
            )


def check_collisions(dataset: Sequence[str], scorers: Sequence[ScorerRecord]) -> None:
    """Refuse result columns that would bear one name.

    Raises:
        InputError: two scorers of one name (after case folding), or a column that the result needs for itself.
    """
    owners: dict[str, str] = {OUTPUT_ERROR: "the output's error"}
    by_name: dict[str, ScorerRecord] = {}
    for scorer in scorers:
        other = by_name.setdefault(slug(scorer.name), scorer)
        if other is not scorer:
            raise InputError(
                f"two scorers are called {scorer.name!r}{_also(other.name, scorer.name)}: give one of them another "
                f"name, for example '{scorer.name}-2'"
            )
        for field in scorer_fields(scorer):
            if field.name in owners:
                raise InputError(
                    f"scorer {scorer.name!r} would write the column {field.name!r}, which {owners[field.name]} writes "
                    "already: give it another name"
                )
            owners[field.name] = f"scorer {scorer.name!r}"
    for name in dataset:
        if name in owners:
            raise InputError(
                f'dataset column "{name}" is a column that {owners[name]} writes; rename the column or the scorer'
            )
