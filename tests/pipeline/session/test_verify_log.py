"""The verdict on a log: the twelve of the vectors, every kind of tampering, and what no chain can see."""

from __future__ import annotations

import hashlib
import json
import os
import random
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from log_making import HEADER, SESSION, TITLES, VECTORS, chained, line_of, log_of, sha256, text_of, title

from pipeline.records.audit_verdict import ChainVerdict
from pipeline.session.audit_log import HEADER_DIGEST, verify_log
from pipeline.session.log_bytes import BLOCK_BYTES, MAX_LINE_BYTES

LINES = chained(TITLES)


def verdict_on(tmp_path: Path, data: bytes) -> ChainVerdict:
    path = tmp_path / "log.jsonl"
    path.write_bytes(data)
    found = verify_log(path)
    assert (found.bytes, found.sha256) == (len(data), sha256(data))
    return found


def told(found: ChainVerdict) -> tuple[str, int | None, int | None, int | None, int | None]:
    return found.verdict.value, found.at, found.after, found.events, found.chained


def start_of(number: int, lines: list[bytes]) -> int:
    return len(log_of(lines[:number]))


@pytest.mark.parametrize("case", json.loads((VECTORS / "expected.json").read_text()), ids=lambda case: case["file"])
def test_a_vector_has_its_verdict(case: dict[str, Any]) -> None:
    found = verify_log(VECTORS / case["file"]).model_dump(mode="json")
    keys = ("verdict", "at", "after", "events", "chained", "bytes", "sha256")
    assert {key: found[key] for key in keys} == {key: case[key] for key in keys}


def test_the_first_event_is_chained_to_the_header() -> None:
    assert HEADER_DIGEST == "ec2d45163a1d5e394b485bcf3394804d1cd4f071ce3aab0dd323f7dd3072b116"


def test_only_an_intact_log_with_events_is_evidence(tmp_path: Path) -> None:
    assert verdict_on(tmp_path, log_of(LINES)).is_evidence
    assert not verdict_on(tmp_path, log_of([])).is_evidence
    assert not verdict_on(tmp_path, log_of([line_of(*title(1))])).is_evidence
    assert not verdict_on(tmp_path, log_of(LINES, b"{")).is_evidence


@pytest.mark.parametrize(
    "lines, at, after",
    [
        ([*LINES[:2], *LINES[3:]], 2, 1),
        (LINES[1:], 0, None),
        ([*LINES[:2], LINES[3], LINES[2], *LINES[4:]], 2, 1),
        ([*LINES[:3], LINES[2], *LINES[3:]], 3, 2),
        ([LINES[0], LINES[1].replace(b"number 1", b"number 7"), *LINES[2:]], 2, 1),
        ([LINES[0], LINES[1] + b" ", *LINES[2:]], 2, 1),
        ([LINES[0], LINES[1] + b"\r", *LINES[2:]], 2, 1),
        ([LINES[0], LINES[1].replace(b'"id":0', b'"id":16'), *LINES[2:]], 2, 1),
        ([*LINES[:2], line_of("session.title", {"title": "added"}), *LINES[2:]], 3, 2),
        ([*LINES[:2], line_of("session.title", {"title": "added"}, sha256(LINES[1])), *LINES[2:]], 3, 2),
        ([*LINES[:3], LINES[3].replace(b'"prev":"', b'"prev":"0')], 3, 2),
        ([*LINES[:3], LINES[3].replace(sha256(LINES[2]).encode(), sha256(LINES[2]).upper().encode())], 3, 2),
        ([*LINES[:3], line_of(*title(3), "not hex")], 3, 2),
    ],
    ids=[
        "deleted", "first deleted", "swapped", "doubled", "edited", "a blank added", "CRLF", "id edited",
        "unchained line added", "chained line added", "prev too long", "prev in upper case", "prev no digest",
    ],
)  # fmt: skip
def test_the_first_break_is_named(tmp_path: Path, lines: list[bytes], at: int, after: int | None) -> None:
    found = verdict_on(tmp_path, log_of(lines))
    n_chained = sum(b'"prev":""' not in line for line in lines)
    before = 0 if after is None else start_of(after, lines)
    assert told(found) == ("broken", start_of(at, lines), before, len(lines), n_chained)
    assert "is not chained to" in found.reason


def test_of_several_breaks_the_first_is_named(tmp_path: Path) -> None:
    lines = [LINES[0], LINES[2], LINES[4], LINES[5]]
    assert told(verdict_on(tmp_path, log_of(lines))) == ("broken", start_of(1, lines), 16, 4, 4)


@pytest.mark.parametrize(
    "lines",
    [
        LINES[:-1],
        LINES[:1],
        [*LINES[:-1], LINES[-1].replace(b"number 5", b"number 9")],
        [*LINES[:-1], LINES[-1] + b"\r"],
    ],
    ids=["last cut off", "all but one cut off", "last edited", "last with CRLF"],
)
def test_what_no_chain_can_see_changes_the_digest(tmp_path: Path, lines: list[bytes]) -> None:
    found = verdict_on(tmp_path, log_of(lines))
    assert told(found) == ("intact", 0, 0, len(lines), len(lines))
    assert found.sha256 != sha256(log_of(LINES))


@pytest.mark.parametrize("n_bytes", [1, 2, 100, len(LINES[-1])])
def test_a_line_that_is_not_ended_is_torn_even_if_it_is_whole(tmp_path: Path, n_bytes: int) -> None:
    found = verdict_on(tmp_path, log_of(LINES[:-1], LINES[-1][:n_bytes]))
    assert told(found) == ("torn", start_of(5, LINES), 0, 5, 5)


@pytest.mark.parametrize("cut", range(17, len(log_of(LINES)), 97))
def test_a_log_that_is_cut_anywhere_is_torn_or_intact(tmp_path: Path, cut: int) -> None:
    data = log_of(LINES)[:cut]
    verdict, at, _, n_events, _ = told(verdict_on(tmp_path, data))
    n_whole = data.count(b"\n") - 1
    assert (verdict, at, n_events) == ("torn", data.rindex(b"\n") + 1, n_whole)


@pytest.mark.parametrize(
    "lines, tail, expected",
    [
        ([*LINES[:2], *LINES[3:]], b"{", "broken"),
        ([*LINES[:2], *LINES[3:], b"oops"], b"", "broken"),
        ([*LINES[:2], b"oops", *LINES[3:]], b"{", "undecodable"),
        ([line_of(*title(1))], b"{", "torn"),
        ([line_of(*title(1)), LINES[0]], b"{", "broken"),
        ([line_of(*title(1)), line_of(*title(2), sha256(line_of(*title(1))))], b"", "partly_chained"),
        ([LINES[0], line_of(*title(1))], b"", "partly_chained"),
        ([line_of(*title(1)), line_of(*title(2))], b"", "unchained"),
    ],
)
def test_verdicts_beat_each_other_in_order(tmp_path: Path, lines: list[bytes], tail: bytes, expected: str) -> None:
    assert verdict_on(tmp_path, log_of(lines, tail)).verdict == expected


def test_the_chain_goes_on_over_lines_without_a_digest(tmp_path: Path) -> None:
    loose = line_of(*title(9))
    lines = [LINES[0], loose, line_of(*title(2), sha256(loose))]
    assert told(verdict_on(tmp_path, log_of(lines))) == ("partly_chained", 0, 0, 3, 2)


@pytest.mark.parametrize(
    "first",
    [
        b"",
        b"\n",
        b'{"chock_log":1}',
        b'{"chock_log":1',
        b'{"chock_log":1}\r\n',
        b'\xef\xbb\xbf{"chock_log":1}\n',
        b' {"chock_log":1}\n',
        b'{"chock_log":1} \n',
        b'{"chock_log":2}\n',
        b'{"chock_log":01}\n',
        b'{"chock_log":+1}\n',
        b'{"chock_log":-1}\n',
        b'{"chock_log":1.0}\n',
        b'{"chock_log":"1"}\n',
        b'{"chock_log":}\n',
        b'{"CHOCK_LOG":1}\n',
        b'{"chock_log":1,"a":2}\n',
        b'{"chock_log":' + b"1" * 100 + b"}\n",
        b"\x00" * 64,
        LINES[0] + b"\n",
    ],
)
def test_any_other_first_line_is_a_bad_header(tmp_path: Path, first: bytes) -> None:
    found = verdict_on(tmp_path, first + b"\n".join(LINES) if first.endswith(b"\n") else first)
    assert told(found) == ("bad_header", None, None, None, None)
    assert 'expected {"chock_log":1}' in found.reason


GOOD = json.loads(LINES[1])


def without(key: str) -> bytes:
    return text_of({name: value for name, value in GOOD.items() if name != key})


def with_event(event: Any) -> bytes:
    return text_of({**GOOD, "event": event})


CALL = {"call_id": "1", "tool": "sh", "arguments": "{}"}

UNDECODABLE = {
    "second header": HEADER,
    "blank": b"",
    "blanks": b"   ",
    "only CR": b"\r",
    "half": LINES[1][:50],
    "two values": LINES[1] + LINES[1],
    "comment": LINES[1] + b" // why",
    "trailing comma": LINES[1][:-1] + b",}",
    "single quotes": LINES[1].replace(b'"', b"'"),
    "NUL": b"\x00" * 40,
    "NUL inside text": LINES[1].replace(b"number", b"num\x00ber"),
    "NUL behind": LINES[1] + b"\x00",
    "tab inside text": LINES[1].replace(b"number", b"num\tber"),
    "byte order mark": b"\xef\xbb\xbf" + LINES[1],
    "invalid UTF-8": LINES[1].replace(b"number", b"num\xffber"),
    "overlong UTF-8": LINES[1].replace(b"number", b"num\xc0\xafber"),
    "surrogate in UTF-8": LINES[1].replace(b"number", b"num\xed\xa0\x80ber"),
    "half a pair": LINES[1].replace(b"number", b"num\\ud800ber"),
    "Latin-1": LINES[1].replace(b"number", "nümber".encode("latin-1")),
    "UTF-16": LINES[1].decode().encode("utf-16"),
    "bad escape": LINES[1].replace(b"number", b"num\\xber"),
    "NaN": with_event({"usage": {"inference_ms": 0}}).replace(b"0}", b"NaN}"),
    "Infinity": LINES[1].replace(b'"time_ms":1', b'"time_ms":Infinity'),
    "list": b"[" + LINES[1] + b"]",
    "text": b'"text"',
    "null": b"null",
    "number": b"16",
    "empty object": b"{}",
    "deeper than JSON is read": LINES[1][:-1] + b',"x":' + b"[" * 5000 + b"]" * 5000 + b"}",
    "endless number": LINES[1][:-1] + b',"x":' + b"9" * 5000 + b"}",
    **{f"{key} is missing": without(key) for key in ("id", "session", "time_ms", "event")},
    **{
        f"{key} is {value!r}": text_of({**GOOD, key: value})
        for key, value in [
            ("id", -1),
            ("id", 1.0),
            ("id", "0"),
            ("id", None),
            ("id", True),
            ("id", 2**64),
            ("id", 2**70),
            ("session", 1),
            ("session", None),
            ("session", ["a"]),
            ("time_ms", "1"),
            ("time_ms", 1.5),
            ("time_ms", None),
            ("time_ms", 2**63),
            ("time_ms", -(2**63) - 1),
            ("version", -1),
            ("version", 2**32),
            ("version", "1"),
            ("version", None),
            ("version", False),
            ("prev", None),
            ("prev", 5),
            ("prev", ["a"]),
            ("prev", {}),
            ("event", None),
            ("event", "message"),
            ("event", ["message"]),
            ("event", {}),
        ]
    },
    "two members in event": with_event({"session.title": {"title": "a"}, "tool.call": CALL}),
    "the same member twice in event": LINES[1].replace(b'{"session.title":', b'{"session.title":{},"session.title":'),
    "id twice": LINES[1].replace(b'"id":0', b'"id":0,"id":0'),
    "prev twice": LINES[1].replace(b'"prev":', b'"prev":"","prev":'),
    "session twice, one escaped": LINES[1].replace(b'"session":', b'"sessio\\u006e":"x","session":'),
    "a field twice": LINES[1].replace(b'{"title":', b'{"title":"a","title":'),
    "a field twice, with blanks": LINES[1].replace(b'{"title":', b'{"title" :"a", "title" : '),
    "an unknown member twice, deep": LINES[1][:-1] + b',"x":[{"y":{"a":1,"a":1}}]}',
    "a payload that is null": with_event({"tool.call": None}),
    "a payload that is a list": with_event({"tool.call": ["1", "sh", "{}"]}),
    "a payload that is text": with_event({"session.title": "a"}),
    "arguments as an object": with_event({"tool.call": {**CALL, "arguments": {}}}),
    "output as numbers": with_event(
        {"tool.result": {"call_id": "1", "output": [104, 105], "is_error": False, "truncated": False}}
    ),
    "a flag that is a number": with_event(
        {"tool.result": {"call_id": "1", "output": "", "is_error": 0, "truncated": False}}
    ),
    "a count with a point": with_event({"usage": {"input_tokens": 1.0}}),
    "a count beyond 64 bits": with_event({"usage": {"input_tokens": 2**64}}),
    "a count that is true": with_event({"usage": {"input_tokens": True}}),
    "a count that is text": with_event({"usage": {"input_tokens": "1"}}),
    "content that is text": with_event({"message": {"role": "user", "content": "hi"}}),
    "content of text": with_event({"message": {"role": "user", "content": ["hi"]}}),
    "a part of two members": with_event({"message": {"role": "user", "content": [{"text": "a", "b": 1}]}}),
    "a part of no members": with_event({"message": {"role": "user", "content": [{}]}}),
    "a part without a field": with_event({"message": {"role": "user", "content": [{"tool_use": {"tool": "a"}}]}}),
    "a cost of two members": with_event({"usage": {"cost": {"free": True, "unknown": True}}}),
    "a cost without a currency": with_event({"usage": {"cost": {"known": {"value": 1}}}}),
    "a cost that is null": with_event({"usage": {"cost": None}}),
    "a configuration without its digest": with_event({"session.config": {}}),
    "an image without a digest": with_event(
        {
            "tool.result": {
                "call_id": "1",
                "output": "",
                "is_error": False,
                "truncated": False,
                "image": {"media_type": "a"},
            }
        }
    ),
}


@pytest.mark.parametrize("line", UNDECODABLE.values(), ids=UNDECODABLE)
def test_a_line_that_is_no_event_ends_the_reading(tmp_path: Path, line: bytes) -> None:
    found = verdict_on(tmp_path, log_of([LINES[0], line, *LINES[2:]]))
    assert told(found) == ("undecodable", start_of(1, LINES), 0, 1, 1)
    assert found.reason.startswith(f"the line at byte {start_of(1, LINES)} ")


REQUIRED = {
    "session.start": ("agent_kind", "model_alias", "parent_session"),
    "session.config": ("config_hash",),
    "session.end": ("reason", "detail"),
    "session.spawn": ("child_session", "child_agent_kind", "reason"),
    "session.title": ("title",),
    "message": ("role", "content"),
    "tool.call": ("call_id", "tool", "arguments"),
    "tool.result": ("call_id", "output", "is_error", "truncated"),
    "approval.response": ("request_id", "decision", "responder"),
    "agent.complete": ("child_session", "child_agent_kind", "outcome", "result", "scratchpad_path"),
    "workspace.open": ("kind", "attempt", "path", "base_commit"),
    "sandbox.open": ("attempt", "write_execute", "decision"),
    "network.connection": ("host",),
}
SAMPLE = {"content": [], "is_error": False, "truncated": False, "request_id": 0}


@pytest.mark.parametrize("name, field", [(name, field) for name, fields in REQUIRED.items() for field in fields])
def test_a_known_event_needs_each_field_that_has_no_default(tmp_path: Path, name: str, field: str) -> None:
    payload = {each: SAMPLE.get(each, "") for each in REQUIRED[name]}
    assert verdict_on(tmp_path, log_of(chained([(name, payload)]))).verdict == "intact"
    del payload[field]
    found = verdict_on(tmp_path, log_of(chained([(name, payload)])))
    assert (found.verdict, found.at, found.events) == ("undecodable", 16, 0)
    assert f"{name}.{field}: field required" in found.reason


@pytest.mark.parametrize(
    "line",
    [
        line_of("weather.report", {"rain": [1, 2.5, None]}),
        line_of("weather.report", "a text"),
        line_of("weather.report", None),
        line_of("", {}),
        line_of("session.end", {"reason": "bored", "detail": ""}),
        line_of("message", {"role": "narrator", "content": [{"smell": {"of": "rain"}}]}),
        line_of("usage", {"cost": {"barter": "two hens"}}),
        line_of("usage", {"cost": {"known": {"value": 1, "currency": "EUR"}}}),
        line_of("network.summary", {}),
        line_of("session.title", {"title": "a", "colour": {"r": 1}}),
        line_of("session.title", {"title": "Zürich \U0001f600 \u2028"}),
        line_of("session.title", {"title": "a"}, mood="good", tags=[[]]),
        line_of("session.title", {"title": "a"}, mood=2**80),
        line_of("session.title", {"title": "a"}, id=2**64 - 1, time_ms=-(2**63), version=2**32 - 1),
        line_of("session.title", {"title": "a"}, session=""),
        line_of("session.title", {"title": "a"}, session="another"),
        b" " + line_of("session.title", {"title": "a"}).replace(b":", b" :\t") + b"\r",
        line_of("session.title", {"title": "a"}).replace(b"title", b"titl\\u0065"),
        line_of("session.title", {"title": '": \\" :'}),
        line_of("session.title", {"title": "a"})[:-1] + b',"x":' + b"[" * 1000 + b"]" * 1000 + b"}",
        b'{"event":{"session.title":{"title":"a"}},"time_ms":1,"session":"a","id":0}',
    ],
)
def test_what_is_not_known_or_not_usual_still_decodes(tmp_path: Path, line: bytes) -> None:
    assert told(verdict_on(tmp_path, log_of([line]))) == ("unchained", 0, 0, 1, 0)


def test_a_log_that_cannot_be_read_has_a_verdict_too(tmp_path: Path) -> None:
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    (tmp_path / "loop").symlink_to("loop")
    for path in (tmp_path / "absent", tmp_path, fifo, tmp_path / "loop", tmp_path / ("a" * 300), Path("a\0b")):
        found = verify_log(path)
        assert told(found) == ("unreadable", None, None, None, None)
        assert (found.sha256, found.bytes) == (None, None)
        assert str(path) in found.reason


def test_a_line_of_50_mb_is_read(tmp_path: Path) -> None:
    large = ("tool.result", {"call_id": "1", "output": "0123456789" * 5_000_000, "is_error": False, "truncated": False})
    found = verdict_on(tmp_path, log_of(chained([title(1), large, title(2)])))
    assert told(found) == ("intact", 0, 0, 3, 3)


@pytest.mark.parametrize("ending, expected", [(b"\n", "undecodable"), (b"", "torn")])
def test_a_line_without_end_is_not_taken_into_memory(tmp_path: Path, ending: bytes, expected: str) -> None:
    path = tmp_path / "log.jsonl"
    path.write_bytes(log_of(LINES[:1]))
    with path.open("r+b") as file:  # a file with a hole: it takes no room
        file.truncate(MAX_LINE_BYTES + (1 << 22))
        file.seek(0, os.SEEK_END)
        file.write(ending)
    found = verify_log(path)
    assert told(found) == (expected, start_of(1, LINES), 0, 1, 1)
    assert found.bytes == path.stat().st_size
    assert ("is longer than" in found.reason) == (expected == "undecodable")


def test_the_digest_is_that_of_the_blocks_in_their_order(tmp_path: Path) -> None:
    data = b"no header\n" + random.Random(7).randbytes(BLOCK_BYTES * 3 + 1000)
    for _ in range(20):
        assert verdict_on(tmp_path, data).verdict == "bad_header"


def test_what_is_appended_while_a_log_is_read_is_not_looked_at(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    path.write_bytes(log_of(LINES))

    def append(_: object) -> None:
        with path.open("ab") as file:
            file.write(b"more\n")

    found = verify_log(path, append)
    assert (found.verdict, found.bytes) == ("intact", len(log_of(LINES)))


PLACES = st.integers(16, len(log_of(LINES)) - 1)


@given(PLACES, st.integers(0, 255))
def test_a_byte_that_changed_before_the_last_line_never_passes(
    tmp_path_factory: pytest.TempPathFactory, place: int, byte: int
) -> None:
    data = bytearray(log_of(LINES))
    if data[place] == byte or place >= start_of(5, LINES) - 1:
        return
    data[place] = byte
    found = verdict_on(tmp_path_factory.getbasetemp(), bytes(data))
    assert found.verdict in ("broken", "undecodable")


@given(st.permutations(range(6)), st.sets(st.integers(0, 5)))
def test_lines_in_another_order_or_with_gaps_never_pass(
    tmp_path_factory: pytest.TempPathFactory, order: list[int], gone: set[int]
) -> None:
    left = [number for number in order if number not in gone]
    found = verdict_on(tmp_path_factory.getbasetemp(), log_of(LINES[number] for number in left))
    assert (found.verdict == "intact") == (left == list(range(len(left))))


def by_the_rule(data: bytes) -> tuple[str, int, int, int, int]:
    """The rule of the format, as short as it can be said; lines decode or are `oops`."""
    *lines, tail = data.split(b"\n")
    expected, at, last, n_events, n_chained, broken = sha256(lines[0]), len(lines[0]) + 1, 0, 0, 0, None
    for line in lines[1:]:
        if line == b"oops":
            break
        n_events += 1
        if prev := json.loads(line)["prev"]:
            n_chained += 1
            if prev != expected and broken is None:
                broken = (at, last)
        expected, last, at = hashlib.sha256(line).hexdigest(), at, at + len(line) + 1
    else:
        if broken is None and tail:
            return "torn", at, 0, n_events, n_chained
        if broken is None:
            whole = "unchained" if n_events and not n_chained else "partly_chained"
            return "intact" if n_events == n_chained else whole, 0, 0, n_events, n_chained
    if broken is not None:
        return "broken", *broken, n_events, n_chained
    return "undecodable", at, 0, n_events, n_chained


@pytest.mark.parametrize("seed", range(150))
def test_any_mixture_of_lines_has_the_verdict_of_the_rule(tmp_path: Path, seed: int) -> None:
    source = random.Random(seed)
    lines: list[bytes] = []
    for number in range(source.randrange(8)):
        prev = sha256(lines[-1] if lines else HEADER) if source.random() < 0.8 else source.choice(["", sha256(b"x")])
        name, payload = title(number)
        members = {"session": SESSION if source.random() < 0.8 else "other"}
        lines.append(b"oops" if source.random() < 0.05 else line_of(name, payload, prev, **members))
    tail = source.choice([b"", b"", b"{", line_of(*title(1))])
    data = log_of(lines, tail)
    assert told(verdict_on(tmp_path, data)) == by_the_rule(data)
