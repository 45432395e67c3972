"""`assay eval check` of a small log, whole process, beside a Python that imports the libraries that it needs.

python benchmarks/eval_check.py [--short]      one JSON object
"""

import json
import statistics
import sys
import tempfile
from pathlib import Path

from report import Row, tell
from session_case import Case, make_case
from session_overhead import session_by_assay
from start_up import seconds

from pipeline.formats.zon import write_zon

TIMES, SHORT_TIMES = 11, 1
MAX_S = 0.5
ASSAY = str(Path(sys.executable).with_name("assay"))
BARE = [sys.executable, "-c", "import typer, rich, pydantic, orjson, rfc8785, lark, fsspec"]


def check_command(case: Case, store: Path) -> list[str]:
    """The check of the only session of a store, by a spec in ZON that has no command to run."""
    spec = json.loads(case.spec.read_text())
    del spec["tests"], spec["test_files"]
    case.spec.with_suffix(".zon").write_text(write_zon(spec))
    (record,) = store.glob("sessions/*/session.json")
    options = ["--session", record.parent.name, "--store", str(store)]
    return [ASSAY, "eval", "check", str(case.spec.with_suffix(".zon")), *options]


def measure(is_short: bool) -> list[Row]:
    """Both in turns; the first turn fills the caches. Short: one more."""
    with tempfile.TemporaryDirectory(prefix="assay-bench-") as name:
        case, store = make_case(Path(name)), Path(name, "store")
        session_by_assay(case, store)
        check = check_command(case, store)
        n_turns = SHORT_TIMES if is_short else TIMES
        turns = [(seconds(check), seconds(BARE)) for _ in range(n_turns + 1)][1:]
    assay, bare = (statistics.median(column) for column in zip(*turns, strict=True))
    return [
        Row(
            "`assay eval check` of a small log",
            f"{assay:.3f} s",
            f"bare imports {bare:.3f} s",
            f"{assay / bare:.2f}",
            f"≤ {MAX_S} s",
            assay <= MAX_S,
            f"start to end of the process, medians of {n_turns} turns: a session of three turns in a store, its log, "
            "its patch applied to the commit, its paths, by a spec in ZON that has no command to run. Beside it a "
            f"Python that imports {BARE[-1].removeprefix('import ')} and does nothing.",
        )
    ]


if __name__ == "__main__":
    tell(measure)
