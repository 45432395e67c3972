"""`--fail-under SCORER=X`: floors for means, read before the work and judged after it."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from pipeline.cli.exit_codes import ExitCode, tell
from pipeline.errors import InputError
from pipeline.records.names import nearest

if TYPE_CHECKING:
    from pipeline.records.summary import Summary


class Floor(NamedTuple):
    """The least mean that a scorer may have."""

    scorer: str
    least: float


def parse_floors(texts: Sequence[str] | None, names: Iterable[str] | None) -> list[Floor]:
    """The floors of `--fail-under`.

    Args:
        texts: `SCORER=X` each.
        names: of the scorers; None where they are not known yet.

    Raises:
        InputError: not `SCORER=X`, or no such scorer (the nearest is named).
    """
    known = None if names is None else list(names)
    floors = []
    for text in texts or ():
        name, separator, number = text.rpartition("=")
        try:
            least = float(number)
        except ValueError:
            least = math.nan
        if not separator or not math.isfinite(least):
            raise InputError(
                f"--fail-under {text}: expected SCORER=X with a number, as in --fail-under exact-match=0.8"
            )
        if known is not None and name not in known:
            raise _no_scorer(name, known)
        floors.append(Floor(name, least))
    return floors


def judge(summary: Summary, floors: Sequence[Floor]) -> ExitCode:
    """The exit status of a run that succeeded; says on stderr what was not met, or that nothing was scored."""
    scorers = {scorer.name: scorer for scorer in summary.scorers}
    for floor in floors:
        if floor.scorer not in scorers:
            raise _no_scorer(floor.scorer, scorers)
    means = [(floor, scorers[floor.scorer].mean) for floor in floors]
    below = [(floor, mean) for floor, mean in means if mean is not None and mean < floor.least]
    for floor, mean in below:
        tell(f"{floor.scorer} has the mean {mean:.4f}, below the floor of {floor.least:g}")
    if below:
        return ExitCode.GATE_NOT_MET
    unknown = [floor.scorer for floor, mean in means if mean is None]
    if unknown:
        tell(f"no row has a score of {', '.join(unknown)}, so that its floor cannot be judged")
        return ExitCode.NOT_ENOUGH
    if not any(scorer.n for scorer in summary.scorers):
        tell("no row was scored")
        return ExitCode.NOT_ENOUGH
    return ExitCode.DONE


def _no_scorer(name: str, known: Iterable[str]) -> InputError:
    return InputError(f"--fail-under names no scorer of this run: {name!r}{nearest(name, known)}")
