"""`assay score` on the job of `floor.py`, as a user types it: two workers of a local Ray, one committed result.

python benchmarks/spine.py FILE FOLDER      one JSON object with `duration_s`, from reading to commit
"""

import json
import subprocess
import sys
from pathlib import Path

from floor import PATTERN

SCORERS = (
    'exact_match:{"name": "exact"}',
    'contains:{"inputs": ["output", "needle"]}',
    f"regex_match:{json.dumps({'name': 'regex', 'pattern': PATTERN})}",
    "levenshtein",
)


def command(source: Path, folder: Path) -> list[str]:
    """The command line."""
    assay = str(Path(sys.executable).with_name("assay"))
    columns = ["--output-column", "output", "--expected-column", "expected"]
    scorers = [word for scorer in SCORERS for word in ("-s", scorer)]
    return [
        assay,
        "score",
        str(source),
        *columns,
        *scorers,
        "--to",
        str(folder),
        "--engine",
        "ray",
        "--json",
        "--quiet",
    ]


def run(source: Path, folder: Path) -> float:
    """Seconds from reading to commit, without the start of Ray."""
    done = subprocess.run(command(source, folder), check=True, stdout=subprocess.PIPE, text=True)
    return float(json.loads(done.stdout)["duration_s"])


if __name__ == "__main__":
    print(json.dumps({"duration_s": run(Path(sys.argv[1]), Path(sys.argv[2]))}))
