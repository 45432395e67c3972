"""What a benchmark says: rows of a table, printed as one JSON object. Measures nothing."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass

HEADER = "| what | assay | beside it | ratio | target | | taken |\n|---|---|---|---|---|---|---|"
VERDICTS = {True: "met", False: "missed", None: ""}


@dataclass(frozen=True)
class Row:
    """One row of RESULTS.md: cells as they are shown."""

    what: str
    """Names the row: a row of the same name takes its place."""
    assay: str
    beside: str = ""
    ratio: str = ""
    target: str = ""
    is_met: bool | None = None
    """None: there is no target, or nothing to compare with."""
    detail: str = ""
    """What the figures are, and how they were taken."""

    def line(self, taken: str) -> str:
        """The row of the table; `taken` is a date."""
        cells = (self.what, self.assay, self.beside, self.ratio, self.target, VERDICTS[self.is_met], taken)
        return "| " + " | ".join(cells) + " |"

    def explanation(self) -> str:
        """The line below the table."""
        return f"- **{self.what}**: {self.detail}"


def tell(measure: Callable[[bool], Sequence[Row]]) -> None:
    """Print what a script measures: `python SCRIPT [--short]`; short: a tiny size that only proves that it works."""
    print(json.dumps({"rows": [asdict(row) for row in measure("--short" in sys.argv[1:])]}, ensure_ascii=False))


def told(printed: str) -> list[Row]:
    """The rows that a script printed; what libraries printed above them is left aside."""
    return [Row(**row) for row in json.loads(printed.strip().splitlines()[-1])["rows"]]


def merged(section: str, rows: Sequence[Row], *, about: str, taken: str) -> str:
    """A section's text with these rows in it: in the place of rows of the same name, else behind the others.

    Args:
        section: the text as it stands; "" for a new section.
        about: machine and versions. Rows that were taken on another machine, or with other versions, go.
        taken: the date of `rows`.
    """
    old = section if about in section else ""
    table = {line.split(" | ")[0].removeprefix("| "): line for line in old.splitlines() if line.startswith("| ")}
    table.pop("what", None)
    told_of = {line.split("**")[1]: line for line in old.splitlines() if line.startswith("- **")}
    for row in rows:
        table[row.what] = row.line(taken)
        told_of[row.what] = row.explanation()
    return "\n".join([about, "", HEADER, *table.values(), "", *(told_of[name] for name in table)])
