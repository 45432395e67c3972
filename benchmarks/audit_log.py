"""Verifying and reading audit logs against a loop by hand over the same bytes: split, sha256 and orjson.loads.

python benchmarks/audit_log.py [--short]      one JSON object
"""

import hashlib
import statistics
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import orjson
from report import Row, tell

from pipeline.session.audit_log import HEADER_DIGEST, read_events, verify_log
from pipeline.session.fold import examine_log

SEED = 7
TURNS, SHORT_TURNS = 5, 1  # of the measurement
SESSION_TURNS, SHORT_SESSION_TURNS = 20_000, 200  # of the agent
MAX_RATIO = 1.5
SESSION = "01J0000000ABCDEFGHJKMNPQRS"
WORDS = ("the", "parser", "returns", "error", "const", "value:", "src/main.zig", "line", "{", "}", "=>", "fn", "№")
TYPICAL_CHARACTERS = 400  # of what a tool gives; the median, a few give tens of thousands


class Log(NamedTuple):
    """A log to be measured with."""

    path: Path
    events: int
    bytes: int


def make_log(path: Path, turns: int, *, is_terse: bool) -> Log:
    """A session of so many turns: usage, answer, call, decision, result, message each.

    Args:
        is_terse: what tools give is one word, so that a line is as short as lines get: nothing hides what a line costs.
    """
    random = np.random.default_rng(SEED)
    previous, n_events = HEADER_DIGEST, 0
    with path.open("wb") as file:
        file.write(b'{"chock_log":1}\n')
        for turn in range(turns):
            size = 4 if is_terse else min(int(random.lognormal(np.log(TYPICAL_CHARACTERS), 1.2)), 100_000)
            for name, payload in turn_events(turn, output(random, size)):
                envelope = {"id": 0, "session": SESSION, "time_ms": 1_760_000_000_000 + n_events}
                line = orjson.dumps({**envelope, "event": {name: payload}, "version": 1, "prev": previous})
                file.write(line + b"\n")
                previous, n_events = hashlib.sha256(line).hexdigest(), n_events + 1
    return Log(path, n_events, path.stat().st_size)


def output(random: np.random.Generator, n_characters: int) -> str:
    """Lines of words."""
    words = [WORDS[number] for number in random.integers(0, len(WORDS), n_characters // 6 + 1)]
    return "\n".join(" ".join(words[first : first + 10]) for first in range(0, len(words), 10))


def turn_events(turn: int, text: str) -> Sequence[tuple[str, dict[str, object]]]:
    """What one turn of an agent writes."""
    call = {"call_id": f"call{turn}", "tool": "read_file", "arguments": f'{{"path":"src/file{turn}.zig"}}'}
    tokens = {"input_tokens": 1_000 + turn, "output_tokens": 50, "cache_creation_input_tokens": 0}
    names = {"price_table_version": "2026-11", "model": "coder", "model_alias": "local", "request_id": f"r{turn}"}
    cost = {"known": {"value": 0.0125, "currency": "USD"}}
    result = {"call_id": f"call{turn}", "output": text, "is_error": False}
    said = {"role": "assistant", "content": [{"text": "Let me look."}, {"tool_use": call}], "model_alias": "local"}
    decided = {"request_id": 0, "decision": "allowed_by_policy", "responder": "", "action": "call.read_file"}
    return [
        (
            "usage",
            {**tokens, "cache_read_input_tokens": 0, "cost": cost, **names, "inference_ms": 900,
             "reasoning_effort_applied": ""},
        ),
        ("message", said),
        ("tool.call", call),
        ("approval.response", {**decided, "tool_call_id": f"call{turn}", "review": "none", "review_note": ""}),
        ("tool.result", {**result, "truncated": False, "note": "", "image": None}),
        ("message", {"role": "tool", "content": [{"tool_result": result}], "model_alias": ""}),
    ]  # fmt: skip


def by_hand(path: Path) -> int:
    """The loop beside which all is measured. Believes that each line is an event, and that all fits into memory."""
    header, *lines = path.read_bytes().split(b"\n")[:-1]
    expected = hashlib.sha256(header).hexdigest()
    for line in lines:
        if orjson.loads(line)["prev"] != expected:
            raise SystemExit("the chain is broken")
        expected = hashlib.sha256(line).hexdigest()
    return len(lines)


def verify(path: Path) -> int:
    """Header, chain, every event, the digest of the file."""
    return verify_log(path).events or 0


def read(path: Path) -> int:
    """Every event, as a reader gets it."""
    return sum(1 for _ in read_events(path))


def examine(path: Path) -> int:
    """Verified and folded in one pass, as an evaluation does it."""
    facts = examine_log(path).facts
    return sum(facts.events.values()) if facts else 0


def seconds(act: Callable[[Path], int], log: Log) -> float:
    """How long it takes. Every way must see every event."""
    started = time.perf_counter()
    n_events = act(log.path)
    taken = time.perf_counter() - started
    if n_events != log.events:
        raise SystemExit(f"{act.__name__} saw {n_events} of {log.events} events")
    return taken


def compare(log: Log, kind: str, turns: int) -> list[Row]:
    """All ways in turns, after one that warms the caches."""
    ways = (by_hand, verify, read, examine)
    taken = [[seconds(way, log) for way in ways] for _ in range(turns + 1)][1:]
    hand, *others = (statistics.median(column) for column in zip(*taken, strict=True))
    told = {
        "verify": f"header, chain, every event and the digest of the file; {log.bytes / log.events:,.0f} bytes a line",
        "read": "every event as a value, payload and all, without the chain",
        "verify and fold": "one pass, as an evaluation does it; by hand there is no fold",
    }
    rows = []
    for (what, how), own in zip(told.items(), others, strict=True):
        has_target = what in ("verify", "read")
        rows.append(
            Row(
                f"{what} an audit log of {kind}",
                f"{log.bytes / own / 1e6:,.0f} MB/s",
                f"by hand {log.bytes / hand / 1e6:,.0f} MB/s",
                f"{own / hand:.2f}",
                f"≤ {MAX_RATIO}" if has_target else "",
                own / hand <= MAX_RATIO if has_target else None,
                f"{how}. {log.events:,} events, {log.bytes / 1e6:,.0f} MB; medians of {turns} turns. Beside it "
                "a loop of split, sha256 and orjson.loads over the same bytes, which checks nothing but the chain.",
            )
        )
    return rows


def measure(is_short: bool) -> list[Row]:
    """Two logs: one with what tools give in it, one of the shortest lines."""
    session_turns, turns = (SHORT_SESSION_TURNS, SHORT_TURNS) if is_short else (SESSION_TURNS, TURNS)
    rows = []
    with tempfile.TemporaryDirectory(prefix="assay-bench-") as folder:
        for kind, is_terse in (("usual lines", False), ("short lines", True)):
            log = make_log(Path(folder) / "log.jsonl", session_turns, is_terse=is_terse)
            rows += compare(log, kind, turns)
    return rows


if __name__ == "__main__":
    tell(measure)
