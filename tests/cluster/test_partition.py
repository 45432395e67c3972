"""A host that is cut off from the others works on, and its late writes change nothing."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from pathlib import Path

import pytest
from clusters import PATIENCE_S, ROOT
from squares import PART_ROWS, ROWS, Work, index_of

pytestmark = pytest.mark.ray

PROGRAM = Path(__file__).with_name("partition.py")
ISOLATED = ["unshare", "--net", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc", "--ipc"]


def run_with_cuts(
    environ: dict[str, str], work: Work, store: Path, cuts: list[tuple[float | None, bool]]
) -> dict[str, object]:
    command = [sys.executable, "-m", "pipeline.cli", *work.command(store)]
    plan = {"command": command, "environ": environ, "calls": str(work.calls), "cuts": cuts}
    as_root = [] if os.geteuid() == 0 else ["--map-root-user"]
    done = subprocess.run(
        [*ISOLATED, *as_root, sys.executable, str(PROGRAM), json.dumps(plan)], cwd=ROOT, env=environ,
        capture_output=True, text=True, timeout=3 * PATIENCE_S,
    )  # fmt: skip
    said = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    if not said:
        pytest.skip(f"namespaces with a network of their own are not allowed here: {done.stderr.strip()[-300:]}")
    assert done.returncode == 0, done.stderr[-3000:]
    return dict(said[-1])


def test_a_host_that_is_cut_off_and_writes_after_the_commit_changes_nothing(
    ray_environ: dict[str, str], work: Work, undisturbed: dict[str, bytes], tmp_path: Path
) -> None:
    work.begin(pace=0.03)
    seen = run_with_cuts(ray_environ, work, tmp_path / "store", [(None, False)])
    print(seen)
    (cut,) = seen["cuts"]  # type: ignore[misc, attr-defined]
    assert (seen["code"], cut["driver"]) == (0, 0)
    assert cut["late_rows"] > 0, "the host that was cut off had a part in hand, and ended it after the commit"
    assert index_of(tmp_path / "store") == undisturbed
    callers = work.callers()
    assert sorted(callers) == list(range(ROWS))
    assert sum(len(nodes) - 1 for nodes in callers.values()) <= 2 * PART_ROWS, "one part in work, one queued behind"


@pytest.mark.slow
@pytest.mark.timeout(1200)
@pytest.mark.parametrize("seed", range(5))
def test_hosts_that_are_cut_off_for_a_while_change_nothing(
    ray_environ: dict[str, str], work: Work, undisturbed: dict[str, bytes], tmp_path: Path, seed: int
) -> None:
    chance = random.Random(seed)
    work.begin(pace=0.15)
    seen = run_with_cuts(ray_environ, work, tmp_path / "store", [(chance.uniform(0.0, 12.0), False)])
    print(seed, seen)
    assert seen["code"] == 0
    assert index_of(tmp_path / "store") == undisturbed
    assert sorted(work.callers()) == list(range(ROWS))
