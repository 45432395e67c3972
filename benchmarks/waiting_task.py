"""Rows through an async task that only waits, as for a model.

python benchmarks/waiting_task.py [--short]      one JSON object
"""

import asyncio
import statistics
import tempfile
from pathlib import Path

import pyarrow as pa
from report import Row, tell

import pipeline
import scorers

ROWS, SHORT_ROWS = 100_000, 3_000
LATENCY_S = 0.05
IN_FLIGHT = 500  # over all workers
WORKERS = 2
TURNS = 3
MAX_RATIO = 1.1


@pipeline.function(concurrency=IN_FLIGHT)
async def answer(text: str) -> str:
    """What a model that answers in 50 ms would say."""
    await asyncio.sleep(LATENCY_S)
    return text


def seconds(store: Path, n_rows: int, engine: str = "ray") -> float:
    """From reading to commit, without the start of Ray."""
    texts = pa.array([f"question {i}" for i in range(n_rows)])
    dataset = pipeline.DatasetClient(store).upload("waiting", pa.table({"text": texts, "expected": texts}))
    evaluation = pipeline.Evaluation.create(
        "waiting", dataset=dataset, task=answer, scorers=[scorers.exact_match()], store=store
    )
    workers = WORKERS if engine == "ray" else None
    done = evaluation.run(engine=engine, workers=workers).wait(poll_interval=0.1)
    if done.summary is None or done.summary.scorers[0].mean != 1.0:
        raise SystemExit("not every row was answered")
    return done.duration_s or 0.0


def measure(is_short: bool) -> list[Row]:
    """Short: few rows in this process, once."""
    n_rows, n_turns, engine = (SHORT_ROWS, 1, "inline") if is_short else (ROWS, TURNS, "ray")
    least = n_rows * LATENCY_S / IN_FLIGHT
    taken = []
    for _ in range(n_turns):
        with tempfile.TemporaryDirectory(prefix="assay-bench-") as folder:
            taken.append(seconds(Path(folder), n_rows, engine))
    ratio = statistics.median(taken) / least
    return [
        Row(
            f"{ROWS:,} rows, async task of 50 ms, {IN_FLIGHT} in flight",
            f"{statistics.median(taken):.2f} s",
            f"rows × latency / in flight {least:.2f} s",
            f"{ratio:.2f}",
            f"≤ {MAX_RATIO}",
            ratio <= MAX_RATIO,
            f"first read to commit, without the start of Ray, {WORKERS} workers on the real engine; the task sleeps, "
            f"`exact_match` runs beside it. Median of {n_turns} runs: {', '.join(f'{each:.2f}' for each in taken)} s.",
        )
    ]


if __name__ == "__main__":
    tell(measure)
