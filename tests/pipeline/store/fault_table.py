"""Every fault at every step of the commit, before moto and SeaweedFS: `python tests/pipeline/store/fault_table.py`.

Prints each case as it ends, then a table of store × fault; ends with status 1 where one went
wrong. Ten to twenty minutes.
"""

from __future__ import annotations

import argparse
import contextlib
import sys
import tempfile
from pathlib import Path
from typing import Any

_HERE = Path(__file__).parent
sys.path[:0] = [str(_HERE.parents[1]), str(_HERE), str(_HERE.parents[2])]

import conftest  # noqa: E402 - the tests' servers
from fault_cases import LARGE_FAULTS, LARGE_STEPS, RUN_STEPS, STEPS, Verdict, as_markdown, carry_out_all, cases  # noqa: E402

TIMEOUT_S = 4.0  # of a store, so that a try has two seconds on a busy machine


def _tell(verdict: Verdict) -> None:
    sys.stderr.write(f"{verdict.outcome}: {verdict.case.name} ({verdict.seconds:.1f} s): {verdict.detail}\n")


def measure(
    *, at_once: int = 8, only: str = "", with_large: bool = True, timeout_s: float = TIMEOUT_S
) -> list[Verdict]:
    """Carry out all cases whose name has `only` in it, on servers of their own."""
    with contextlib.ExitStack() as stack:
        folders = {name: Path(stack.enter_context(tempfile.TemporaryDirectory())) for name in ("moto", "seaweed")}
        servers: dict[str, Any] = {
            "moto": stack.enter_context(conftest.serving_moto(folders["moto"])),
            "seaweed": stack.enter_context(conftest.serving_seaweed(folders["seaweed"])),
        }
        wanted = [case for case in cases(servers, [*STEPS, *RUN_STEPS]) if only in case.name]
        verdicts = carry_out_all(wanted, servers, timeout_s=timeout_s, at_once=at_once, on_verdict=_tell)
        # A hundred megabytes each: one after the other.
        large = [case for case in cases(servers, LARGE_STEPS, LARGE_FAULTS) if with_large and only in case.name]
        return verdicts + carry_out_all(large, servers, timeout_s=timeout_s, at_once=1, on_verdict=_tell)


def markdown(verdicts: list[Verdict]) -> str:
    """The table, and a sentence of what it counts."""
    met = [verdict for verdict in verdicts if verdict.outcome != "not met"]
    wrong = sum(verdict.outcome == "wrong" for verdict in met)
    head = (
        f"{len(met)} faults injected at {len({verdict.case.step.name for verdict in met})} steps: "
        f"{len(met) - wrong} ended right, {wrong} did not.\n\n"
    )
    return head + as_markdown(met)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", default="", help="cases whose name has this in it, such as `moto · S6`")
    parser.add_argument("--at-once", type=int, default=8)
    parser.add_argument("--without-large", action="store_true", help="leave out the uploads of 101 MiB")
    arguments = parser.parse_args()
    verdicts = measure(at_once=arguments.at_once, only=arguments.only, with_large=not arguments.without_large)
    print(markdown(verdicts))
    return int(any(verdict.outcome == "wrong" for verdict in verdicts))


if __name__ == "__main__":
    sys.exit(main())
