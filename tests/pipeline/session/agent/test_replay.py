"""A replay is answered from the capture alone: the same log, or a refusal that says what does not fit."""

from __future__ import annotations

import json
import os
import random
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from pipeline.errors import ReplayError
from pipeline.records.capture import Capture, Exchange, ProviderExchange, ToolExchange
from pipeline.session.audit_log import read_events
from pipeline.session.replay import repeat_session, replay_session
from pipeline.session.replay_capture import check_order, parse_capture
from pipeline.session.run import World

TASK = "Mend the sum."
N_MUTANTS = 1000  # of each kind: as they are, and with a digest that fits them


class NoLog:
    """Takes events and forgets them."""

    def append(self, payload: Any) -> int:
        return 0


@pytest.fixture(scope="module")
def capture(shared: Any, turns: Callable[[], list[dict[str, Any]]]) -> Capture:
    with shared.play(turns(), task=TASK) as outcome:
        return outcome.capture


def plain(log: Path, session: str) -> list[Any]:
    """The events of a log but for times and the session's own id."""
    return [json.loads(json.dumps((each.name, each.raw)).replace(session, "SESSION")) for each in read_events(log)]


def test_a_replay_leaves_the_same_log_every_time(shared: Any, turns: Any, make_turn: Any, make_call: Any) -> None:
    script = [
        make_turn(
            make_call("fetch_url", url="http://refused.invalid/"), make_call("exec", command="date; echo $RANDOM")
        ),
        *turns(),
    ]
    with shared.play(script, task=TASK, network_hosts=("granted.invalid",)) as live:
        first = plain(live.log, live.session)
        assert "network.connection" in [name for name, _ in first]
        for _ in range(10):
            with replay_session(live.capture, TASK, shared.fixture, shared.store, shared.world()) as again:
                assert plain(again.log, again.session) == first
                assert (again.tree / "src" / "sum.sh").read_text() == shared.honest.SOLVED
                assert again.session != live.session
                assert again.ending == live.ending


def test_neither_a_sandbox_nor_a_provider_is_needed(shared: Any, capture: Capture, monkeypatch: Any) -> None:
    def never(*_: object, **__: object) -> None:
        raise AssertionError("something was run")

    monkeypatch.setattr("pipeline.session.tools.in_sandbox.run_sandboxed", never)
    monkeypatch.setattr("socket.socket.connect", never)
    with replay_session(capture, TASK, shared.fixture, shared.store, shared.world()) as again:
        assert again.ending.reason == "finished"


def refusal_of(data: bytes, world: World) -> str | None:
    """How a capture is refused; None: it is not."""
    try:
        found = parse_capture(data, "capture")
        check_order(found, "capture")
        repeat_session(found, TASK, NoLog(), world)
    except ReplayError as error:
        return error.refusal
    return None


@pytest.fixture(scope="module")
def world(shared: Any) -> World:
    return shared.world()


def test_the_capture_itself_is_not_refused(capture: Capture, world: World) -> None:
    assert refusal_of(capture.to_bytes(), world) is None


def test_a_capture_that_was_changed_is_refused_for_its_integrity(capture: Capture, world: World) -> None:
    data = capture.to_bytes()
    chance = random.Random(7)
    n_tried = 0
    while n_tried < N_MUTANTS:
        changed = damaged(data, chance)
        if changed == data:
            continue
        n_tried += 1
        assert refusal_of(changed, world) == "integrity", changed[:80]


def damaged(data: bytes, chance: random.Random) -> bytes:
    start = chance.randrange(len(data))
    end = min(len(data), start + chance.randrange(1, 400))
    other = chance.randrange(len(data))
    match chance.randrange(7):
        case 0:
            return data[:start] + bytes([data[start] ^ 1 << chance.randrange(8)]) + data[start + 1 :]
        case 1:
            return data[:start] + data[end:]
        case 2:
            first, second = sorted((start, other))
            return (
                data[:first]
                + data[second : second + 1]
                + data[first + 1 : second]
                + data[first : first + 1]
                + (data[second + 1 :])
            )
        case 3:
            return data[:end] + data[start:end] + data[end:]
        case 4:
            return data[:start]
        case 5:
            return data + chance.choice([b"\n", b" ", b"{}", b"\0", data[start:end]])
        case _:
            ids = re.findall(rb"01[0-9A-HJKMNP-TV-Z]{24}", data)
            return data.replace(chance.choice(ids), b"01K0000000ABCDEFGHJKMNPQRS", 1)


def test_a_capture_that_was_changed_and_signed_again_is_refused_for_what_was_done(
    capture: Capture, world: World
) -> None:
    chance = random.Random(11)
    for _ in range(N_MUTANTS):
        changed, allowed = restructured(capture, chance)
        refusal = refusal_of(changed.to_bytes(), world)
        assert refusal in allowed, [each.sequence for each in changed.exchanges]


def restructured(capture: Capture, chance: random.Random) -> tuple[Capture, set[str]]:
    """A capture whose digest fits, and the refusals that tell what was done to it."""
    exchanges = list(capture.exchanges)
    place = chance.randrange(len(exchanges))
    is_last = place == len(exchanges) - 1
    match chance.randrange(8):
        case 0:  # one is missing, and its number too
            del exchanges[place]
            after_end = {"exhausted"} if isinstance(capture.exchanges[place], ProviderExchange) else {"truncated"}
            return of(capture, exchanges), after_end if is_last else {"truncated"}
        case 1:  # one is missing, and the others are numbered anew
            missing = exchanges.pop(place)
            after_end = {"exhausted"} if isinstance(missing, ProviderExchange) else {"truncated"}
            return of(capture, numbered(exchanges)), after_end if is_last else {"diverged", "reordered"}
        case 2:  # two have changed places
            if is_last:
                place -= 1
            exchanges[place], exchanges[place + 1] = exchanges[place + 1], exchanges[place]
            return of(capture, exchanges), {"reordered"}
        case 3:
            if is_last:
                place -= 1
            exchanges[place], exchanges[place + 1] = exchanges[place + 1], exchanges[place]
            return of(capture, numbered(exchanges)), {"reordered"}
        case 4:  # one stands twice
            exchanges.insert(place, exchanges[place])
            return of(capture, numbered(exchanges)), {"unused"} if is_last else {"reordered"}
        case 5:  # the end is missing
            following = exchanges[place]
            del exchanges[place:]
            return of(capture, exchanges), {"exhausted" if isinstance(following, ProviderExchange) else "truncated"}
        case 6:  # something was added
            exchanges.append(exchanges[place])
            return of(capture, numbered(exchanges)), {"unused"}
        case _:
            return of(capture, [*exchanges[:place], meddled(exchanges[place], chance), *exchanges[place + 1 :]]), {
                "integrity" if isinstance(exchanges[place], ProviderExchange) else "diverged"
            }


def meddled(exchange: Exchange, chance: random.Random) -> Exchange:
    """By which it is recognised is changed."""
    if isinstance(exchange, ProviderExchange):
        return exchange.model_copy(update={"request_sha256": f"{chance.getrandbits(256):064x}"})
    field = chance.choice(["call_id", "tool", "arguments_sha256"])
    value = f"{chance.getrandbits(256):064x}" if field == "arguments_sha256" else "another"
    return exchange.model_copy(update={field: value})


def numbered(exchanges: list[Exchange]) -> list[Exchange]:
    return [each.model_copy(update={"sequence": number}) for number, each in enumerate(exchanges)]


def of(capture: Capture, exchanges: list[Exchange]) -> Capture:
    return capture.model_copy(update={"exchanges": tuple(exchanges)})


def test_a_result_that_was_changed_makes_the_next_request_another_one(capture: Capture, world: World) -> None:
    exchanges = list(capture.exchanges)
    place = next(number for number, each in enumerate(exchanges) if isinstance(each, ToolExchange))
    exchanges[place] = exchanges[place].model_copy(update={"result": "something else"})
    with pytest.raises(ReplayError, match=r"diverged.*messages\[2\].*something else"):
        repeat_session(of(capture, exchanges), TASK, NoLog(), world)


def test_another_task_or_version_is_told(capture: Capture, world: World) -> None:
    with pytest.raises(ReplayError, match=r"diverged.*prompt_sha256"):
        repeat_session(capture, "Another task.", NoLog(), world)
    exchanges = list(capture.exchanges)[1:]
    older = of(capture, numbered(exchanges)).model_copy(
        update={"producer": capture.producer.model_copy(update={"version": "0.0.1"})}
    )
    with pytest.raises(ReplayError, match=r"recorded by another version \(0\.0\.1\)"):
        repeat_session(older, TASK, NoLog(), world)


def ends(capture: Capture) -> Iterator[tuple[str, Capture]]:
    end = capture.workspace
    yield "another tree", capture.model_copy(update={"workspace": end.model_copy(update={"end_tree": "0" * 40})})
    yield "no patch", capture.model_copy(update={"workspace": end.model_copy(update={"patch_base64": b""})})
    yield "junk", capture.model_copy(update={"workspace": end.model_copy(update={"patch_base64": b"junk"})})
    yield "another commit", capture.model_copy(update={"workspace": end.model_copy(update={"base_commit": "0" * 40})})


def test_an_end_state_that_does_not_lead_to_its_tree_is_refused(shared: Any, capture: Capture) -> None:
    for what, changed in ends(capture):
        with (
            pytest.raises(ReplayError) as caught,
            replay_session(changed, TASK, shared.fixture, shared.store, shared.world()),
        ):
            pass
        assert caught.value.refusal == "workspace", what


def test_a_refused_replay_leaves_no_folder(
    shared: Any, capture: Capture, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    with pytest.raises(ReplayError), replay_session(capture, "x", shared.fixture, shared.store, shared.world()):
        pass
    assert os.listdir(tmp_path) == []
