"""`assay score` on the job of `floor.py`, as a user types it: two workers of a local Ray, one committed result.

python benchmarks/spine.py FILE FOLDER      one JSON object with `duration_s`, from reading to commit
"""

import json
import sys
from collections.abc import Sequence
from pathlib import Path

from floor import PATTERN
from processes import run as run_command

SCORERS = (
    'exact_match:{"name": "exact"}',
    'contains:{"inputs": ["output", "needle"]}',
    f"regex_match:{json.dumps({'name': 'regex', 'pattern': PATTERN})}",
    "levenshtein",
)


def command(
    sources: Sequence[Path], folder: Path, *, scorers: Sequence[str] = SCORERS, engine: str = "ray"
) -> list[str]:
    """The command line."""
    assay = str(Path(sys.executable).with_name("assay"))
    columns = ["--output-column", "output", "--expected-column", "expected"]
    named = [word for scorer in scorers for word in ("-s", scorer)]
    where = ["--to", str(folder), "--engine", engine]
    return [assay, "score", *map(str, sources), *columns, *named, *where, "--json", "--quiet"]


def seconds(source: Path, folder: Path) -> float:
    """Seconds from reading to commit, without the start of Ray."""
    return float(json.loads(run_command(command([source], folder)).stdout)["duration_s"])


if __name__ == "__main__":
    print(json.dumps({"duration_s": seconds(Path(sys.argv[1]), Path(sys.argv[2]))}))
