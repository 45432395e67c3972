"""What `make bench` runs: every benchmark, or the named ones; prints the rows and writes them to RESULTS.md.

    python benchmarks/run.py [--short] [NAME …]

Each is a script of its own that prints its rows as JSON. A row that is measured again takes the place of the old one;
rows of another machine or other versions go from the sections that are written. Short: tiny sizes that only prove that
the scripts work; nothing is written, and what installs peers is left out.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

from machine import machine, today
from processes import FOLDER
from report import HEADER, Row, merged, told
from section import RESULTS, section_of, write_section


class Benchmark(NamedTuple):
    """A script, and the section of RESULTS.md that its rows go to."""

    script: str
    section: str
    has_short: bool = True


BENCHMARKS = {
    "floor": Benchmark("against_floor.py", "Speed"),
    "ray-data": Benchmark("against_ray_data.py", "Speed"),
    "inspect": Benchmark("against_inspect.py", "Speed", has_short=False),
    "autoevals": Benchmark("against_autoevals.py", "Speed", has_short=False),
    "waiting": Benchmark("waiting_task.py", "Speed"),
    "task": Benchmark("python_task.py", "Speed"),
    "start": Benchmark("start_up.py", "Speed"),
    "audit-log": Benchmark("audit_log.py", "Speed"),
    "model-client": Benchmark("model_client.py", "Speed"),
    "session-overhead": Benchmark("session_overhead.py", "Speed"),
    "eval-check": Benchmark("eval_check.py", "Speed"),
    "growth": Benchmark("growth.py", "Memory and growth"),
    "overhead": Benchmark("engine_overhead.py", "Memory and growth"),
    "killed": Benchmark("killed_worker.py", "Faults"),
}


def rows_of(script: str, *, is_short: bool) -> list[Row]:
    """Run one script; empty where it failed, its stderr has been shown."""
    command = [sys.executable, str(FOLDER / script), *(["--short"] if is_short else [])]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True)
    return told(done.stdout) if done.returncode == 0 else []


def run(names: Sequence[str], *, is_short: bool) -> list[str]:
    """Run benchmarks one by one, and write down at once what each found. Returns the names of those that failed."""
    failed = []
    print(HEADER, flush=True)
    for name in names:
        script, section, _ = BENCHMARKS[name]
        started = time.monotonic()
        rows = rows_of(script, is_short=is_short)
        print(f"{name}: {time.monotonic() - started:.1f} s", file=sys.stderr)
        for row in rows:
            shown = replace(row, ratio="", target="", is_met=None) if is_short else row  # tiny sizes prove no speed
            print(shown.line(today()), flush=True)
        if not rows:
            failed.append(name)
        elif not is_short:
            old = section_of(RESULTS.read_text() if RESULTS.exists() else "", section)
            write_section(section, merged(old, rows, about=machine(), taken=today()), RESULTS)
    return failed


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(description="Measures assay; without names, everything.")
    parser.add_argument("--short", action="store_true", help="tiny sizes, nothing is written")
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(BENCHMARKS)}")
    asked = parser.parse_args()
    if unknown := set(asked.names) - set(BENCHMARKS):
        parser.error(f"no benchmark is called {', '.join(sorted(unknown))}; there are {', '.join(BENCHMARKS)}")
    names = asked.names or [name for name, each in BENCHMARKS.items() if each.has_short or not asked.short]
    if failed := run(names, is_short=asked.short):
        sys.exit(f"failed: {', '.join(failed)}")


if __name__ == "__main__":
    main()
