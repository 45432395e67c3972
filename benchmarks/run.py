"""What `make bench` runs: every benchmark several times in turns; prints the figures and writes them to RESULTS.md.

    python benchmarks/run.py [TURNS]

What stands in RESULTS.md below the line `## Notes` is written by hand and stays.
"""

import hashlib
import json
import os
import platform
import shutil
import statistics
import subprocess
import sys
import tempfile
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

import agree
import rows

TURNS = 5
RESULTS = Path(__file__).with_name("RESULTS.md")
NOTES = "\n## Notes\n"
LIBRARIES = ("ray", "pyarrow", "polars", "rapidfuzz", "duckdb", "pydantic", "typer")
HEAD = """# Results

`make bench`, {date}: medians of {turns} turns, after one that warms the caches. Seconds of the million rows run from
the first read to the commit; neither side counts the start of its processes.

Machine: {machine}.

| what | assay | beside it | ratio | target | |
|---|---|---|---|---|---|
{lines}

{by_turn}
"""
MAX_SPINE_RATIO = 1.25
MIN_TASK_ROWS_PER_S = 100_000
MAX_START_RATIO = 1.5


def million_rows() -> Path:
    """The input, kept between runs for as long as its generator does not change."""
    digest = hashlib.sha256(Path(rows.__file__).read_bytes()).hexdigest()[:12]
    target = Path(tempfile.gettempdir()) / f"assay-bench-{digest}.parquet"
    if not target.exists():
        partial = target.with_suffix(".partial")
        rows.write_rows(partial)
        partial.rename(target)
    return target


def figures(script: str, *arguments: Path) -> dict[str, float]:
    """What a benchmark printed, in a process of its own: none inherits threads or caches of another."""
    command = [sys.executable, str(Path(__file__).with_name(script)), *map(str, arguments)]
    return dict(json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout))


def spine_figures(turns: int, folder: Path) -> list[str]:
    """The million rows by hand and by assay, in turns; the first turn only fills the caches."""
    source, taken = million_rows(), []
    by_hand, by_assay = folder / "floor", folder / "spine"
    for turn in range(turns + 1):
        shutil.rmtree(by_hand, ignore_errors=True)
        shutil.rmtree(by_assay, ignore_errors=True)
        taken.append(
            (figures("floor.py", source, by_hand)["duration_s"], figures("spine.py", source, by_assay)["duration_s"])
        )
        print(f"turn {turn}: by hand {taken[-1][0]:.2f} s, assay {taken[-1][1]:.2f} s", flush=True)
    if differ := agree.columns_that_differ(by_hand, by_assay / "data"):
        sys.exit(f"the floor and assay do not agree in {', '.join(differ)}")
    ratio = statistics.median(assay / hand for hand, assay in taken[1:])
    hand, assay = (statistics.median(column) for column in zip(*taken[1:], strict=True))
    by_turn = "; ".join(f"{a:.2f} / {h:.2f}" for h, a in taken[1:])
    return [
        row("1,000,000 rows, four scorers with metadata", f"{assay:.2f} s", f"by hand {hand:.2f} s",
            f"{ratio:.2f}", f"≤ {MAX_SPINE_RATIO}", ratio <= MAX_SPINE_RATIO),
        f"Turns, assay / by hand in seconds: {by_turn}. Every value and metadata of every row agreed.",
    ]  # fmt: skip


def task_figures(turns: int) -> str:
    """A trivial Python task."""
    rate = statistics.median(figures("python_task.py")["rows_per_s"] for _ in range(turns))
    return row("trivial Python task, 100,000 rows", f"{rate:,.0f} rows/s", "", "", f"≥ {MIN_TASK_ROWS_PER_S:,} rows/s",
                rate >= MIN_TASK_ROWS_PER_S)  # fmt: skip


def start_figures() -> str:
    """The start of the command line."""
    found = figures("start_up.py")
    assay, bare = found["assay_s"], found["bare_s"]
    return row("`assay --help`", f"{assay:.3f} s", f"bare imports {bare:.3f} s", f"{assay / bare:.2f}",
                f"≤ {MAX_START_RATIO}", assay / bare <= MAX_START_RATIO)  # fmt: skip


def row(what: str, assay: str, other: str, ratio: str, target: str, is_met: bool) -> str:
    """One row of the table."""
    return f"| {what} | {assay} | {other} | {ratio} | {target} | {'met' if is_met else 'missed'} |"


def machine() -> str:
    """What the figures were taken on, and with."""
    cpu = next((line.split(":")[1].strip() for line in _cpu_lines() if line.startswith("model name")), "")
    system = f"{platform.system()} {platform.release()}, Python {platform.python_version()}"
    libraries = ", ".join(f"{name} {version(name)}" for name in LIBRARIES)
    return f"{os.cpu_count()} cores {cpu}, {system}; {libraries}"


def _cpu_lines() -> list[str]:
    info = Path("/proc/cpuinfo")
    return info.read_text().splitlines() if info.exists() else []


def report(turns: int) -> str:
    """The whole text above the notes."""
    with tempfile.TemporaryDirectory(prefix="assay-bench-") as name:
        spine_line, spine_turns = spine_figures(turns, Path(name))
        lines = [spine_line, task_figures(turns), start_figures()]
    return HEAD.format(
        date=f"{datetime.now(UTC):%Y-%m-%d}",
        turns=turns,
        machine=machine(),
        lines="\n".join(lines),
        by_turn=spine_turns,
    )


def main() -> None:
    """Measure, print, and write down; the notes written by hand stay."""
    text = report(int(sys.argv[1]) if len(sys.argv) > 1 else TURNS)
    _, _, notes = RESULTS.read_text().partition(NOTES) if RESULTS.exists() else ("", "", "")
    RESULTS.write_text(text + NOTES + notes)
    print(text)


if __name__ == "__main__":
    main()
