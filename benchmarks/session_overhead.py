"""A whole evaluated session of three turns, without a model's time, beside what git and bubblewrap cost by themselves.

python benchmarks/session_overhead.py [--short]      one JSON object
"""

import os
import resource
import statistics
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

from report import Row, tell
from session_case import Case, make_case
from session_floor import session_by_hand

import pipeline
from pipeline.cli.live_session import live_provider, this_world
from pipeline.session.check import CheckOptions
from pipeline.session.configure import AgentChoice, agent_config, load_agent_file
from pipeline.session.eval_session import LiveAgent, run_spec
from pipeline.session.spec_file import load_spec
from pipeline.store import open_store

TURNS, SHORT_TURNS = 30, 1  # of the measurement, both sides in each
WARM_UP = 2
MAX_WALL_MS, MAX_CPU_MS = 150, 50  # more than by hand


class Cost(NamedTuple):
    """Of one session, in milliseconds."""

    wall: float
    cpu: float
    """Of this process."""
    children_cpu: float


def session_by_assay(case: Case, store: Path) -> str:
    """Read the spec, run its session, judge it, bind the trajectory. Returns the end of the session's diff."""
    loaded = load_spec(case.spec, "run")
    asked = loaded.spec
    assert asked.provider is not None
    choice = AgentChoice(asked.tools, asked.limits, asked.expect.max_cost, asked.expect.currency)
    live = live_provider(asked.provider, asked.model, None, os.environ)
    config = agent_config(choice, load_agent_file(None), live.profile, live.model)
    options = CheckOptions(pipeline.__version__, os.environ)
    agent = LiveAgent(config, live.model, live.provider, live.redactor)
    done = run_spec(loaded, agent, open_store(str(store)), this_world(is_quiet=True), options)
    if not done.report.passed:
        raise SystemExit(f"the session did not pass: {[each for each in done.report.findings if not each.passed]}")
    if len(done.trajectory(pipeline.__version__).turns) != 3:
        raise SystemExit("the session had other than three turns")
    return done.outcome.capture.workspace.patch_base64.decode()


def cost(act: Callable[[], object]) -> Cost:
    """What it costs; processes that it started have ended when it returns."""
    before, started = cpu_seconds(), time.perf_counter()
    act()
    wall, after = time.perf_counter() - started, cpu_seconds()
    return Cost(wall * 1000, *((b - a) * 1000 for a, b in zip(before, after, strict=True)))


def cpu_seconds() -> tuple[float, float]:
    """User and system time of this process, and of all that it started and waited for."""
    own, children = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return own.ru_utime + own.ru_stime, children.ru_utime + children.ru_stime


def turns(n_turns: int) -> list[tuple[Cost, Cost]]:
    """(assay, by hand), in turns, after some that warm up."""
    with tempfile.TemporaryDirectory(prefix="assay-bench-") as name:
        case, store = make_case(Path(name)), Path(name, "store")
        sides = (lambda: session_by_assay(case, store), lambda: session_by_hand(case.fixture))
        for _ in range(WARM_UP):
            for side in sides:
                side()
        return [(cost(sides[0]), cost(sides[1])) for _ in range(n_turns)]


def median(costs: Sequence[Cost]) -> Cost:
    """Of each figure by itself."""
    return Cost(*(statistics.median(column) for column in zip(*costs, strict=True)))


def measure(is_short: bool) -> list[Row]:
    """Short: one turn."""
    taken = turns(SHORT_TURNS if is_short else TURNS)
    assay, hand = (median(side) for side in zip(*taken, strict=True))
    about = (
        "three turns (`exec` that edits, `exec` that reads, `finish`), a scripted provider, one test command, the "
        "report and the trajectory; in one process after warm-up. Beside it the same commands by hand: clone, "
        "checkout, three times bwrap, diff, the commit's tests on a copy. Medians of "
        f"{len(taken)} turns. CPU of the processes that were started: {assay.children_cpu:.0f} / "
        f"{hand.children_cpu:.0f} ms."
    )
    return [
        beside("an evaluated session without model time", assay.wall, hand.wall, MAX_WALL_MS, f"wall time of {about}"),
        beside(
            "CPU of an evaluated session", assay.cpu, hand.cpu, MAX_CPU_MS,
            "user and system time of our own process, without those that it starts; the same sessions as in the row "
            "above.",
        ),
    ]  # fmt: skip


def beside(what: str, own: float, hand: float, most: float, detail: str) -> Row:
    """A row whose target is a difference."""
    more = own - hand
    told = f"{more:+.0f} ms"
    return Row(what, f"{own:.0f} ms", f"by hand {hand:.0f} ms", told, f"≤ +{most} ms", more <= most, detail)


if __name__ == "__main__":
    tell(measure)
