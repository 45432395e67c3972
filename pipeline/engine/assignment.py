"""What a worker is handed: a part, or some rows of a part that was lost as a whole."""

from __future__ import annotations

from typing import NamedTuple

from pipeline.records.plan import Part


class Assignment(NamedTuple):
    """One call of a worker."""

    part: Part
    first_row: int
    """Position in the whole input."""
    rows: int
    is_whole: bool = True
    """The part, and its receipt is wanted; else its rows are kept beside the result."""
    attempt: int = 1
    """Of the part."""
    lost: str | None = None
    """What befell the workers that had this one row: the step they were lost in is not tried again."""

    @classmethod
    def of(cls, part: Part, attempt: int = 1) -> Assignment:
        """A whole part."""
        return cls(part, part.first_row, part.rows, attempt=attempt)

    @property
    def is_retry(self) -> bool:
        """It may end its worker, as an earlier attempt did."""
        return self.attempt > 1

    def halves(self) -> tuple[Assignment, Assignment]:
        """Its rows in two, to be kept; there are at least two."""
        middle = self.rows // 2
        half = self._replace(is_whole=False, attempt=self.attempt + 1)
        return half._replace(rows=middle), half._replace(first_row=self.first_row + middle, rows=self.rows - middle)

    def __str__(self) -> str:
        last = self.first_row + self.rows - 1
        rows = f"row {last}" if self.rows == 1 else f"rows {self.first_row} to {last}"
        return f"part {self.part.index} ({rows})" if self.is_whole else f"{rows} of part {self.part.index}"
