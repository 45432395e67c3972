"""A trivial Python function as task, from reading to commit.

python benchmarks/python_task.py [--short]      one JSON object
"""

import statistics
import tempfile
from pathlib import Path

import pyarrow as pa
from report import Row, tell

import pipeline
import scorers

ROWS, SHORT_ROWS = 100_000, 5_000
TURNS = 5
MIN_ROWS_PER_S = 100_000


@pipeline.function
def first_word(text: str) -> str:
    """The least that a task can do."""
    return text.split(" ", 1)[0]


def rows_per_s(store: Path, n_rows: int, engine: str = "ray") -> float:
    """Of one run."""
    rows = pa.table({"text": [f"word{i} and {i % 977} more of them" for i in range(n_rows)]})
    rows = rows.append_column("expected", pa.array([f"word{i}" for i in range(n_rows)]))
    dataset = pipeline.DatasetClient(store).upload("python-task", rows)
    evaluation = pipeline.Evaluation.create(
        "python-task", dataset=dataset, task=first_word, scorers=[scorers.exact_match()], store=store
    )
    done = evaluation.run(engine=engine).wait(poll_interval=0.1)
    if done.summary is None or done.summary.scorers[0].mean != 1.0:
        raise SystemExit("not every row was right")
    return n_rows / (done.duration_s or 0.0)


def measure(is_short: bool) -> list[Row]:
    """Short: few rows in this process, once."""
    n_rows, n_turns, engine = (SHORT_ROWS, 1, "inline") if is_short else (ROWS, TURNS, "ray")
    taken = []
    for _ in range(n_turns):
        with tempfile.TemporaryDirectory(prefix="assay-bench-") as folder:
            taken.append(rows_per_s(Path(folder), n_rows, engine))
    rate = statistics.median(taken)
    return [
        Row(
            f"trivial Python task, {ROWS:,} rows",
            f"{rate:,.0f} rows/s",
            target=f"≥ {MIN_ROWS_PER_S:,} rows/s",
            is_met=rate >= MIN_ROWS_PER_S,
            detail=f"first read to commit on two workers, `exact_match` beside it; median of {n_turns} runs of one "
            f"process: {', '.join(f'{each:,.0f}' for each in taken)} rows/s.",
        )
    ]


if __name__ == "__main__":
    tell(measure)
