"""`assay score` against `inspect score`. `python benchmarks/against_inspect.py`: one JSON object."""

import json
import tempfile
from pathlib import Path

from agree import peer_values_that_differ
from cpu_rate import Rate, own_rate
from inputs import million_rows
from peer_environment import NoPeersError, peer_command
from processes import FOLDER, figures, run
from report import Row, tell

ROWS = 5_000
MIN_TIMES = 1_000
SCRIPT = FOLDER / "peers" / "inspect_rows.py"
COMMANDS = "`inspect score`, rows a CPU-second"
STEPS = "`inspect_ai.score()` in memory, rows a CPU-second"


def measure(is_short: bool) -> list[Row]:  # noqa: ARG001 - has no short form: it installs a peer
    """Both commands as a whole, then the step that scores alone."""
    with tempfile.TemporaryDirectory(prefix="assay-bench-") as name:
        try:
            python, inspect = peer_command("python"), peer_command("inspect")
        except NoPeersError as error:
            return [Row(COMMANDS, "", f"could not be installed: {error}")]
        folder = Path(name)
        log, scored, values = folder / "rows.eval", folder / "scored.eval", folder / "values.parquet"
        step = json.loads(run([python, SCRIPT, "write", million_rows(), str(ROWS), log]).stdout)
        options = ["--output-file", scored, "--action", "overwrite", "--display", "none"]
        command_s = run([inspect, "score", log, *options]).cpu_s
        run([python, SCRIPT, "read", scored, values])
        own = own_rate(folder / "assay")
        if differ := peer_values_that_differ(values, folder / "assay" / "data"):
            raise SystemExit(f"inspect and assay do not agree in {', '.join(differ)}")
    return [_command_row(own, command_s, step["version"]), _step_row(step["cpu_s"])]


def _command_row(own: Rate, command_s: float, version: str) -> Row:
    times = own.rows_per_cpu_s / (ROWS / command_s)
    return Row(
        COMMANDS,
        f"{own.rows_per_cpu_s:,.0f}",
        f"inspect {ROWS / command_s:,.0f}",
        f"{times:,.0f} times as many",
        f"≥ {MIN_TIMES:,}",
        times >= MIN_TIMES,
        f"whole commands, in user and system seconds of their process: `assay score --engine inline` on 1,000,000 rows "
        f"({', '.join(f'{each:.2f}' for each in own.cpu_s)} s), `inspect score` of inspect-ai {version} on a log of "
        f"the first {ROWS:,} of them ({command_s:.2f} s); start, reading and writing included on both sides. Inspect's "
        "`match`, `includes` and `pattern`, and a Levenshtein of four lines with rapidfuzz; the values of the two that "
        "mean the same (exact, Levenshtein) agreed.",
    )


def _step_row(step_s: float) -> Row:
    cpu = figures("scoring.py", million_rows())
    mine = cpu["rows"] / cpu["together"] * 1000
    times = mine / (ROWS / step_s)
    return Row(
        STEPS,
        f"{mine:,.0f}",
        f"inspect {ROWS / step_s:,.0f}",
        f"{times:,.0f} times as many",
        detail=f"the step that scores alone, without start, reading and writing: `score(table)` of the four scorers "
        f"against `inspect_ai.score(log)` with the scorers named above on {ROWS:,} samples ({step_s:.2f} s).",
    )


if __name__ == "__main__":
    tell(measure)
