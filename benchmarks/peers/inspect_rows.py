"""Runs where inspect-ai is installed: a log with the benchmark's rows as samples, and what `inspect score` made of one.

    python inspect_rows.py write FILE ROWS LOG     an unscored log; prints the CPU seconds of `inspect_ai.score` on it
    python inspect_rows.py read LOG FILE           the values of a scored log as Parquet

Inspect has three of the four scorers; the fourth is written as its documentation says.
"""

import json
import sys
import time
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from inspect_ai import score
from inspect_ai.log import (
    EvalConfig,
    EvalDataset,
    EvalLog,
    EvalSample,
    EvalSpec,
    read_eval_log,
    write_eval_log,
)
from inspect_ai.model import ModelOutput
from inspect_ai.scorer import Score, Scorer, Target, includes, match, mean, pattern, scorer
from inspect_ai.solver import TaskState
from rapidfuzz.distance import Levenshtein

PATTERN = r"(?P<number>\d{4,}) (?P<next>[a-m]\w*)"
EXACT: dict[str, Any] = {"location": "exact", "ignore_case": False}
CASE: dict[str, Any] = {"ignore_case": False}


@scorer(metrics=[mean()])
def levenshtein() -> Scorer:
    """1 − distance / length of the longer text."""

    async def judge(state: TaskState, target: Target) -> Score:
        a, b = state.output.completion.strip(), target.text.strip()
        distance = Levenshtein.distance(a, b)
        return Score(value=1 - distance / max(len(a), len(b), 1), metadata={"distance": distance})

    return judge


def log_of(source: str, n_rows: int) -> EvalLog:
    """The first rows as samples that have been answered and not been scored."""
    rows = next(pq.ParquetFile(source).iter_batches(n_rows)).to_pylist()
    samples = [
        EvalSample(
            id=row["id"],
            epoch=1,
            input="",
            target=row["expected"],
            output=ModelOutput.from_content("none", row["output"]),
        )
        for row in rows
    ]
    scorers = [
        {"name": "match", "options": EXACT},
        {"name": "includes", "options": CASE},
        {"name": "pattern", "options": {"pattern": PATTERN, **CASE}},
        {"name": "levenshtein"},
    ]
    spec = EvalSpec(
        created="2026-01-01T00:00:00+00:00", task="rows", task_file=str(Path(__file__).resolve()), model="none/none",
        dataset=EvalDataset(name="rows", samples=n_rows), config=EvalConfig(), scorers=scorers,
    )  # fmt: skip
    return EvalLog(eval=spec, samples=samples, status="success")


def write(source: str, n_rows: str, target: str) -> dict[str, Any]:
    """Write the log; CPU seconds of the scoring step alone."""
    log = log_of(source, int(n_rows))
    write_eval_log(log, target)
    scorers = [match(**EXACT), includes(**CASE), pattern(PATTERN, **CASE), levenshtein()]
    started = time.process_time()
    score(log, scorers, display="none", action="overwrite")
    return {"cpu_s": time.process_time() - started, "version": version("inspect-ai")}


def read(source: str, target: str) -> dict[str, Any]:
    """The values that have a counterpart."""
    samples = read_eval_log(source).samples or []
    scores = [sample.scores or {} for sample in samples]
    values = {
        "id": [int(sample.id) for sample in samples],
        "exact": [1.0 if found["match"].value == "C" else 0.0 for found in scores],
        "levenshtein": [float(found["levenshtein"].value) for found in scores],
    }
    pq.write_table(pa.table(values), target)
    return {"rows": len(samples)}


if __name__ == "__main__":
    print(json.dumps({"write": write, "read": read}[sys.argv[1]](*sys.argv[2:])))
