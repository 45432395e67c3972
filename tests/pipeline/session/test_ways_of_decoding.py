"""The quick way to an event and the long one: they agree on every line, and the long one decides."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from log_making import VECTORS, line_of, text_of

from pipeline.records.audit_event import PAYLOADS, AuditEvent
from pipeline.session import payload_forms
from pipeline.session.decode import UndecodableError, decode_line
from pipeline.session.usual_lines import MAX_BYTES, events_of, usual_event, usual_matcher

INTACT = (VECTORS / "intact.jsonl").read_bytes().splitlines()[1:]
SEEDS: list[dict[str, Any]] = [
    *(json.loads(line) for line in INTACT),
    *(
        json.loads(line_of(name, payload))
        for name, payload in [
            ("session.spawn", {"child_session": "b", "child_agent_kind": "c", "reason": "d", "budget_max_cost": 0.5}),
            ("usage", {"input_tokens": 1, "cost": {"known": {"value": 0.25, "currency": "USD"}}, "model": "m"}),
            ("message", {"role": "a", "content": [{"text": "x"}, {"reasoning": {"text": "", "signature": "s"}}]}),
            ("plan.update", {"steps": [{"id": "1", "subject": "s", "status": "done", "blocked_by": ""}]}),
            ("sandbox.syscalls", {"mechanism": "m", "calls": [{"name": "n", "count": 1, "unverified_paths": None}]}),
            ("task.complete", {"task_id": 1, "command": "", "status": "", "code": None, "output_path": "",
                               "output_bytes": 0, "truncated": True}),
            ("tool.result", {"call_id": "", "output": "a\n\"b\" \\", "is_error": True, "truncated": False, "note": "",
                             "image": {"media_type": "", "byte_count": 2, "content_hash": ""}}),
        ]
    ),
]  # fmt: skip

JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.floats(allow_nan=False, allow_infinity=False)
    | st.sampled_from(["", "a", '": ', "\\", "é", "\U0001f600", "\n", "\x7f", "free", "text"]),
    lambda inner: st.lists(inner, max_size=3)
    | st.dictionaries(st.sampled_from(["text", "free", "title", "a", "id", '":']), inner, max_size=3),
    max_leaves=6,
)  # fmt: skip


def outcome(line: bytes, way: Any) -> Any:
    try:
        return repr(way(line, 16))  # 1, 1.0 and True are equal, and not the same
    except UndecodableError:
        return "undecodable"


def event_of(line: bytes, offset: int) -> AuditEvent:
    """Whichever way is quicker."""
    (event,) = events_of([line], offset)
    return event


def by_the_models(line: bytes, offset: int) -> AuditEvent:
    """The long way, without the memory of forms that were seen before."""
    payload_forms._decodable.clear()
    return decode_line(line, offset)


def test_the_lines_that_programs_write_are_usual() -> None:
    assert all(usual_matcher()(line) for line in INTACT)
    assert all(usual_matcher()(text_of(seed)) for seed in SEEDS)


@pytest.mark.parametrize("name", PAYLOADS)
def test_every_known_event_has_a_usual_form(name: str) -> None:
    fields = PAYLOADS[name].model_fields.items()
    empty = {int: 0, bool: False, Any: None}
    payload = {
        info.alias or field: [] if str(info.annotation).startswith("tuple") else empty.get(info.annotation, "")
        for field, info in fields
        if info.is_required()
    }
    if "code" in payload:
        payload["code"] = None
    payload = payload or {next(iter(dict(fields))): 0}
    assert usual_matcher()(line_of(name, payload))


@st.composite
def mutated(draw: st.DrawFn) -> bytes:
    """A line of a known event in which members were changed, left out, added, doubled or moved."""
    value = json.loads(json.dumps(draw(st.sampled_from(SEEDS))))
    for _ in range(draw(st.integers(0, 2))):
        objects, left = [], [value]
        while left:
            each = left.pop()
            if isinstance(each, dict):
                objects.append(each)
                left.extend(each.values())
            elif isinstance(each, list):
                left.extend(each)
        target = draw(st.sampled_from(objects))
        key = draw(st.sampled_from([*target, "a", "text"]))
        match draw(st.sampled_from(["set", "drop", "last", "first"])):
            case "set":
                target[key] = draw(JSON)
            case "drop":
                target.pop(key, None)
            case "last":
                if key in target:
                    target[key] = target.pop(key)
            case "first":
                rest = {name: target[name] for name in target if name != key}
                target.clear()
                target.update({key: draw(JSON), **rest})
    separators = draw(st.sampled_from([(",", ":"), (", ", ": ")]))
    return json.dumps(value, separators=separators, ensure_ascii=draw(st.booleans())).encode()


@settings(max_examples=600)
@given(mutated())
@example(line_of("session.title", {"title": "a"}).replace(b'"prev":""', b'"prev":"\\"","x":"a"'))
@example(line_of("usage", {"input_tokens": 10**18, "inference_ms": 10**17}))
def test_both_ways_give_the_same_event(line: bytes) -> None:
    expected = outcome(line, by_the_models)
    assert outcome(line, event_of) == expected
    assert outcome(line, decode_line) == expected  # the form may have been seen by now
    assert outcome(line, decode_line) == expected


@settings(max_examples=600)
@given(st.sampled_from(SEEDS), st.data())
def test_both_ways_agree_where_bytes_were_changed(seed: dict[str, Any], data: st.DataObject) -> None:
    line = bytearray(text_of(seed))
    for _ in range(data.draw(st.integers(1, 3))):
        place = data.draw(st.integers(0, len(line) - 1))
        line[place : place + data.draw(st.integers(0, 2))] = data.draw(
            st.sampled_from([b"", b'"', b"\\", b"0", b"-", b",", b":", b"}", b"{", b"\x00", b"\xff", b" ", b"e", b"."])
        )
    assert outcome(bytes(line), event_of) == outcome(bytes(line), by_the_models)


@pytest.mark.parametrize("line", INTACT)
def test_every_cut_of_a_line_is_undecodable_both_ways(line: bytes) -> None:
    for cut in range(len(line)):
        assert usual_matcher()(line[:cut]) is None
    assert outcome(line[:-1], event_of) == "undecodable"


def test_what_matches_can_be_parsed() -> None:
    for seed in SEEDS:
        found = usual_matcher()(text_of(seed))
        assert found is not None
        assert usual_event(found, 16) == decode_line(text_of(seed), 16)


def test_a_long_line_goes_the_long_way_and_is_the_same_event() -> None:
    payload = {"call_id": "1", "output": "x" * MAX_BYTES, "is_error": False, "truncated": False, "note": ""}
    line = line_of("tool.result", payload)
    assert event_of(line, 16) == decode_line(line, 16)
    assert event_of(line, 16).raw == payload


def test_a_whole_number_beyond_64_bits_is_kept() -> None:
    event = decode_line(line_of("session.title", {"title": "a", "n": 2**80}, m=-(2**90)), 16)
    assert event.raw["n"] == 2**80
    assert event.extra == {"m": -(2**90)}
    assert decode_line(line_of("session.title", {"title": "a", "n": 5}), 16).raw["n"] == 5


def test_forms_are_forgotten_before_they_take_much_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(payload_forms, "_MAX_FORMS", 8)
    payload_forms._decodable.clear()
    for number in range(100):
        assert payload_forms.payload_fault("session.title", {"title": "", f"x{number}": 1}) == ""
        assert len(payload_forms._decodable) <= 8


def test_a_form_that_was_seen_says_nothing_of_another() -> None:
    good = {"role": "user", "content": [{"text": "a"}, {"text": "b"}]}
    assert payload_forms.payload_fault("message", good) == ""
    assert payload_forms.payload_fault("message", {**good, "content": [{"text": "a"}, {"text": 1}]}) != ""
    assert payload_forms.payload_fault("message", {**good, "content": [{"text": "a", "b": 1}]}) != ""
