"""Who is blamed for what: faults put into single rows of real runs, and into the runs themselves, on a local Ray.

`python tests/faults/matrix.py [ROWS_A_FAULT] [KILLS]` prints the confusion matrix of owners.
"""

from __future__ import annotations

import sys
import tempfile
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa

_HERE = Path(__file__).parent
sys.path[:0] = [str(_HERE), str(_HERE.parent / "pipeline" / "store")]

from faulty_functions import answer, patient_answer, plausible, quick, strictly  # noqa: E402

import pipeline  # noqa: E402
from pipeline.records import columns  # noqa: E402

NOBODY = "nobody"
MEMORY_LIMIT = "3GiB"  # of two workers
PART_TIMEOUT_S = 5.0
MIN_RIGHT = 0.98


class Fault(NamedTuple):
    """What befalls a row."""

    text: str
    """In the column `fault`: the step and what it does."""
    owner: str
    """Who is to blame, by the contract."""

    @property
    def step(self) -> str:
        """`task`, `scorer` or `slow scorer`."""
        return self.text.partition(": ")[0]


RAISED = ["raises", "raises with two arguments", "raises what cannot be pickled", "recurses without end"]
RETURNED = ["returns what cannot be pickled", "returns 2 GiB", "exits politely", "is cancelled"]
DEADLY = ["segfaults", "never ends", "eats all memory"]

ALIVE = [
    *(Fault(f"task: {how}", "model") for how in [*RAISED, *RETURNED]),
    *(Fault(f"scorer: {how}", "judge") for how in [*RAISED, *RETURNED]),
    Fault("task: finds no memory", "harness"),
    Fault("scorer: finds no memory", "harness"),
    Fault("task: is refused by a rate limit", "network"),
    Fault("scorer: is refused by a rate limit", "network"),
    Fault("slow scorer: waits too long", "network"),
]
"""The worker survives these."""
HALVED = [Fault("task: ends the process", "harness")]
"""Takes its worker along, again and again, until it stands alone: looked for by halves."""
DEATHS = [*(Fault(f"task: {how}", "harness") for how in DEADLY), Fault("scorer: ends the process", "harness")]
"""In parts of one row, since each death costs a start of a worker."""
SLOW = [Fault("task: waits too long", "network"), Fault("task: never ends", "network")]
"""For a task with a time limit."""
UNBOUND = [Fault("", "data")]
"""A null where the task does not take one."""


class Found(NamedTuple):
    """Who was blamed for a row."""

    fault: Fault
    owner: str


@dataclass
class Matrix:
    """What was expected, what was found, and what else was touched."""

    found: list[Found] = field(default_factory=list)
    touched: list[str] = field(default_factory=list)
    """Rows without a fault that are not as in the undisturbed run, and means that have moved; in words."""

    @property
    def right(self) -> float:
        """Share of the faults whose owner is right."""
        return 1 - len(self.wrong) / len(self.found)

    @property
    def wrong(self) -> list[Found]:
        """The faults for which another is blamed."""
        return [found for found in self.found if found.owner != found.fault.owner]

    def to_text(self) -> str:
        """A table of Markdown, and the sums below it."""
        owners = sorted({owner for found in self.found for owner in (found.owner, found.fault.owner)})
        counts = Counter((found.fault.owner, found.owner) for found in self.found)
        lines = [
            f"| expected | {' | '.join(f'found: {owner}' for owner in owners)} |",
            "|---" * (len(owners) + 1) + "|",
        ]
        for expected in sorted({found.fault.owner for found in self.found}):
            lines.append(f"| {expected} | {' | '.join(str(counts[expected, owner]) for owner in owners)} |")
        wrong = [f"- {found.fault.text or 'a null'}: {found.fault.owner}, found {found.owner}" for found in self.wrong]
        summary = f"{len(self.found)} faults, {self.right:.1%} with the right owner; "
        summary += f"{len(self.touched)} other rows or means touched."
        lines += ["", summary, *wrong, *(f"- {text}" for text in self.touched)]
        return "\n".join(lines)


class Case(NamedTuple):
    """One run with faults of some kinds."""

    task: Any
    faults: Sequence[Fault]
    part_rows: int
    run: Mapping[str, Any]


def cases() -> list[Case]:
    """All of them."""
    limits = {"part_timeout_s": PART_TIMEOUT_S, "memory_limit": MEMORY_LIMIT}
    return [
        Case(answer, ALIVE, 20, {}),
        Case(answer, HALVED, 4, {}),
        Case(answer, DEATHS, 1, limits),
        Case(patient_answer, SLOW, 10, {}),
        Case(strictly, UNBOUND, 10, {}),
    ]


def measure(each: int, folder: Path, chosen: Iterable[Case] | None = None) -> Matrix:
    """Run all cases with `each` rows of every fault among rows without one, and the same rows undisturbed."""
    matrix = Matrix()
    for number, case in enumerate(cases() if chosen is None else chosen):
        store = folder / f"case-{number}"
        rows = _rows(case, each)
        disturbed = _score(store, "disturbed", case, rows)
        calm = [{**row, "fault": "none" if case.task is strictly else None} for row in rows]
        undisturbed = _score(store, "undisturbed", case, calm)
        _compare(case, rows, disturbed, undisturbed, matrix)
    return matrix


def _rows(case: Case, each: int) -> list[dict[str, str | None]]:
    """Unique questions; a fault now and then, never at the beginning, where rows that fail alike end a run."""
    calm = "none" if case.task is strictly else None
    rows: list[dict[str, str | None]] = [{"question": f"q{n}", "fault": calm} for n in range(10)]
    for n in range(each):
        for fault in case.faults:
            rows += [{"question": f"after {fault.text or 'null'} {n} {i}", "fault": calm} for i in range(3)]
            rows.append({"question": f"{fault.text or 'null'} {n}", "fault": fault.text or None})
    return rows


def _score(store: Path, name: str, case: Case, rows: list[dict[str, str | None]]) -> pipeline.Scores:
    schema = pa.schema([("question", pa.string()), ("fault", pa.string())])
    dataset = pipeline.DatasetClient(store=store).upload(name, pa.Table.from_pylist(rows, schema))
    scorers = [pipeline.scorers.contains(inputs=["output", "question"]), plausible, quick]
    evaluation = pipeline.Evaluation.create(name, dataset=dataset, task=case.task, scorers=scorers, store=store)
    run = evaluation.run(engine="ray", part_rows=case.part_rows, **case.run)
    return pipeline.read_results(run.wait(timeout=None), store=store)


def _compare(
    case: Case,
    rows: Sequence[Mapping[str, str | None]],
    disturbed: pipeline.Scores,
    undisturbed: pipeline.Scores,
    matrix: Matrix,
) -> None:
    by_text = {fault.text or None: fault for fault in case.faults}
    calm = "none" if case.task is strictly else None
    shown = [name for name in disturbed.table.column_names if name != "fault"]
    pairs = zip(disturbed.table.to_pylist(), undisturbed.table.to_pylist(), rows, strict=True)
    for found, expected, row in pairs:
        if row["fault"] == calm:
            if any(found[name] != expected[name] for name in shown):
                matrix.touched.append(f"row {row['question']!r} differs")
        else:
            matrix.found.append(Found(by_text[row["fault"]], _blamed(found, by_text[row["fault"]], expected, matrix)))
    _compare_means(disturbed, undisturbed, matrix)


def _blamed(found: Mapping[str, Any], fault: Fault, expected: Mapping[str, Any], matrix: Matrix) -> str:
    """The owner that the row names; and the steps that had no fault are as they were."""
    scorers = dict(found[columns.SCORER_OWNER] or ())
    if fault.step in ("scorer", "slow scorer"):
        name, other = ("plausible", "quick") if fault.step == "scorer" else ("quick", "plausible")
        unlike = [field for field in ("output", f"{other}_value", "contains_value") if found[field] != expected[field]]
        if unlike or found[f"{name}_value"] is not None:
            matrix.touched.append(f"{fault.text}: {unlike or 'a failed scorer has a value'}")
        return scorers.get(name, NOBODY)
    if any(found[f"{name}_value"] is not None for name in ("contains", "plausible", "quick")):
        matrix.touched.append(f"{fault.text}: a row without an output has a score")
    return found[columns.OWNER] or NOBODY


def _compare_means(disturbed: pipeline.Scores, undisturbed: pipeline.Scores, matrix: Matrix) -> None:
    """The mean is that of the rows that have a value, and the undisturbed mean lies within the bounds."""
    for summary, whole in zip(disturbed.summary.scorers, undisturbed.summary.scorers, strict=True):
        name = summary.name
        values = [value for value in disturbed.table[f"{name}_value"].to_pylist() if value is not None]
        if summary.mean is None or abs(summary.mean - sum(values) / len(values)) > 1e-12:
            matrix.touched.append(f"the mean of {name} is not that of its values")
        lower, upper = summary.lower, summary.upper
        if lower is None or upper is None or whole.mean is None or not lower <= whole.mean + 1e-12 <= upper + 2e-12:
            matrix.touched.append(f"the undisturbed mean {whole.mean} of {name} is not within {lower} to {upper}")


def of_runs(kills: int, seed: int = 7) -> list[Found]:
    """Faults of whole runs: processes that are killed, a store that fails. No row may be blamed for them."""
    from fault_table import measure as meet_store_faults
    from kills import plan, run_plan

    found: list[Found] = []
    for toll in run_plan(plan(kills, seed)):
        owner = NOBODY if toll.is_equal and not toll.problems else "somebody"
        found += [Found(Fault(f"run: the {blow.victim} is killed", NOBODY), owner) for blow in toll.kills]
    for verdict in meet_store_faults(only="moto · run: ", with_large=False):
        if verdict.outcome != "not met":
            owner = NOBODY if verdict.outcome != "wrong" else "somebody"
            found.append(Found(Fault(f"store: {verdict.case.name}", NOBODY), owner))
    return found


def main(each: int, kills: int) -> int:
    """Print the matrix; 1 where fewer than 98 % are right or anything else was touched."""
    with tempfile.TemporaryDirectory(prefix="assay-matrix-") as name:
        matrix = measure(each, Path(name))
    matrix.found += of_runs(kills) if kills else []
    rows = sum(found.fault.owner != NOBODY for found in matrix.found)
    print(
        f"`python tests/faults/matrix.py {each} {kills}`: {rows} faults in rows of real runs on Ray, "
        f"{len(matrix.found) - rows} of whole runs (processes killed, a store that fails).\n"
    )
    print(matrix.to_text())
    return int(matrix.right < MIN_RIGHT or bool(matrix.touched))


if __name__ == "__main__":
    given = [int(argument) for argument in sys.argv[1:3]]
    sys.exit(main(*given, *(4, 25)[len(given) :]))
