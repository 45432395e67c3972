"""`assay score` against autoevals in a loop. `python benchmarks/against_autoevals.py`: one JSON object."""

import json
import tempfile
from pathlib import Path

from agree import peer_values_that_differ
from cpu_rate import own_rate
from inputs import million_rows
from peer_environment import NoPeersError, peer_command
from processes import FOLDER, run
from report import Row, tell

ROWS = 50_000
WHAT = "autoevals in a loop, rows a CPU-second"
SCORERS = ('exact_match:{"name": "exact"}', "levenshtein")


def measure(is_short: bool) -> list[Row]:  # noqa: ARG001 - has no short form: it installs a peer
    """The two scorers that mean the same in both."""
    with tempfile.TemporaryDirectory(prefix="assay-bench-") as name:
        try:
            python = peer_command("python")
        except NoPeersError as error:
            return [Row(WHAT, "", f"could not be installed: {error}")]
        folder = Path(name)
        values = folder / "values.parquet"
        loop = json.loads(
            run([python, FOLDER / "peers" / "autoevals_loop.py", million_rows(), str(ROWS), values]).stdout
        )
        own = own_rate(folder / "assay", SCORERS)
        if differ := peer_values_that_differ(values, folder / "assay" / "data"):
            raise SystemExit(f"autoevals and assay do not agree in {', '.join(differ)}")
    beside = ROWS / loop["cpu_s"]
    return [
        Row(
            WHAT,
            f"{own.rows_per_cpu_s:,.0f}",
            f"autoevals {beside:,.0f}",
            f"{own.rows_per_cpu_s / beside:,.1f} times as many",
            detail=f"`ExactMatch` and `Levenshtein` of autoevals {loop['version']} on {ROWS:,} rows in memory, the "
            f"loop alone ({loop['cpu_s']:.2f} s), against the whole command `assay score --engine inline` with the "
            f"same two scorers on 1,000,000 rows ({', '.join(f'{each:.2f}' for each in own.cpu_s)} s): start, digest, "
            "reading, metadata, writing and commit included. Its other scorers mean something else. All values agreed.",
        )
    ]


if __name__ == "__main__":
    tell(measure)
