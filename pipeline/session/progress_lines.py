"""Lines that tell how far a session is, for whoever waits for it."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from pipeline.records.agent_config import AgentConfig

MAX_CHARACTERS = 160  # of what a model or a tool says

Tell = Callable[[str], object]


def reply_teller(
    config: AgentConfig, monotonic: Callable[[], float], tell: Tell
) -> Callable[[int, Sequence[str]], None]:
    """Tells of each reply of the model: its number, the tools that it calls, and how long it took to come so far."""
    began, of = monotonic(), config.limits.max_turns

    def on_turn(number: int, tools: Sequence[str]) -> None:
        called = ", ".join(tools)[:MAX_CHARACTERS] or "done"
        tell(f"{config.agent_kind}: reply {number} of {of} at most, {monotonic() - began:.1f} s: {called}")

    return on_turn


def error_teller(agent_kind: str, tell: Tell) -> Callable[[str, str], None]:
    """Tells of calls that gave errors: what a script or a model misspells is seen at once."""

    def on_error(tool: str, told: str) -> None:
        lines = told.strip().splitlines() or [""]
        tell(f"{agent_kind}: {tool[:MAX_CHARACTERS]} gave an error: {lines[-1][:MAX_CHARACTERS]}")

    return on_error
