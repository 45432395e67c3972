"""A function as a scorer: numbers, EvaluationScorerResults or lists of them become score columns."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from pipeline.functions.caller import FunctionCaller
from pipeline.functions.failures import RowOutcome
from pipeline.functions.row_calls import Outcomes, RowCalls
from pipeline.records.owners import Owner
from scorers._function import RowFailure, columns_of
from scorers.base import ScoreColumns

OWNERS_OF_OTHERS = (Owner.DATA.value, Owner.NETWORK.value, Owner.HARNESS.value)


class FunctionScorer:
    """Scores rows by calling a function for each.

    Args:
        caller: the function.
        name: labels the result columns; default: the function's own name.
    """

    def __init__(self, caller: FunctionCaller, *, name: str | None = None) -> None:
        self._caller = caller
        self._name = name or caller.name

    @property
    def name(self) -> str:
        """Labels the result columns."""
        return self._name

    @property
    def inputs(self) -> tuple[str, ...]:
        """The columns that it reads where they are there."""
        return self._caller.columns

    @property
    def version(self) -> str:
        """The function's version id."""
        return self._caller.version_id

    def score(self, rows: pa.Table) -> ScoreColumns:
        """Score each row.

        Raises:
            TypeError: a column without which the function cannot be called is missing.
        """
        return self.score_owned(rows)[0]

    def score_owned(self, rows: pa.Table) -> tuple[ScoreColumns, pa.Array]:
        """Score each row, and say who is to blame for those that failed.

        Returns:
            The columns, and an owner a row: null where it did not fail, `data` where a value could not be bound,
            `network` for time-outs and rate limits, `harness` for a secret that is not there, else `judge`.
        """
        calls = self.begin(rows)
        calls.run()
        return self.columns_of(calls.outcomes())

    def begin(self, rows: pa.Table, wanted: Sequence[int] | None = None) -> RowCalls:
        """The calls for some rows, not yet made; see `FunctionCaller.begin`.

        Raises:
            TypeError: a column without which the function cannot be called is missing.
        """
        missing = [name for name in self._caller.required if name not in rows.column_names]
        if missing:
            raise TypeError(
                f"scorer {self._name!r} needs a column {missing[0]!r}; found {', '.join(rows.column_names)}"
            )
        return self._caller.begin(rows, wanted)

    def columns_of(self, outcomes: Outcomes) -> tuple[ScoreColumns, pa.Array]:
        """The columns and owners that `score_owned` returns, of some rows."""
        found = self._caller.rows_of(outcomes)
        answers = [outcome.value if outcome.error is None else RowFailure(outcome.error) for outcome in found]
        columns = self._masked(columns_of(answers, is_list=self._caller.returns_list))
        if columns.error.null_count == len(columns.error):
            return columns, pa.nulls(len(found), pa.string())
        failed = columns.error.is_valid().to_pylist()
        owners = [_owner(one) if bad else None for one, bad in zip(found, failed, strict=True)]
        return columns, pa.array(owners, pa.string())

    def _masked(self, columns: ScoreColumns) -> ScoreColumns:
        """Without the function's secrets, which may stand in what it recorded."""
        values = columns.values
        return ScoreColumns(
            value=columns.value,
            error=self._caller.mask(columns.error),
            metadata=self._caller.mask_json(columns.metadata),
            values=None if values is None else self._caller.mask_json(values),
        )

    def close(self) -> None:
        """Give back threads and the event loop."""
        self._caller.close()


def _owner(outcome: RowOutcome) -> str:
    return outcome.owner if outcome.owner in OWNERS_OF_OTHERS else Owner.JUDGE.value
