"""Rows a second of a trivial Python function as task over 100,000 rows, from reading to commit.

python benchmarks/python_task.py [ENGINE]      one JSON object with `rows_per_s`
"""

import json
import sys
import tempfile
from pathlib import Path

import pyarrow as pa

import pipeline
import scorers

ROWS = 100_000


@pipeline.function
def first_word(text: str) -> str:
    """The least that a task can do."""
    return text.split(" ", 1)[0]


def run(store: Path, engine: str = "ray") -> float:
    """Rows a second."""
    rows = pa.table({"text": [f"word{i} and {i % 977} more of them" for i in range(ROWS)]})
    rows = rows.append_column("expected", pa.array([f"word{i}" for i in range(ROWS)]))
    dataset = pipeline.DatasetClient(store).upload("python-task", rows)
    evaluation = pipeline.Evaluation.create(
        "python-task", dataset=dataset, task=first_word, scorers=[scorers.exact_match()], store=store
    )
    done = evaluation.run(engine=engine).wait(poll_interval=0.1)
    return ROWS / done.duration_s


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        print(json.dumps({"rows_per_s": round(run(Path(folder), *sys.argv[1:]))}))
