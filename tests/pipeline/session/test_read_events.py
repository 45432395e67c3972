"""Events of a log, one by one, and how much memory that takes."""

from __future__ import annotations

import resource
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from log_making import TITLES, VECTORS, chained, line_of, log_of, title

from pipeline.errors import InputError
from pipeline.records.audit_event import AuditEvent
from pipeline.records.audit_session import SessionTitle
from pipeline.records.audit_turn import Message
from pipeline.session.audit_log import read_events


def events_of(tmp_path: Path, data: bytes) -> Iterator[AuditEvent]:
    path = tmp_path / "log.jsonl"
    path.write_bytes(data)
    return read_events(path)


def test_an_event_has_the_offset_of_its_line_as_its_id() -> None:
    events = list(read_events(VECTORS / "intact.jsonl"))
    assert [event.id for event in events[:3]] == [16, 360, 626]
    assert events[2].name == "message"
    assert isinstance(events[2].payload, Message)
    assert events[2].payload.role == "user"


def test_an_event_of_an_unknown_name_keeps_its_payload(tmp_path: Path) -> None:
    (event,) = events_of(tmp_path, log_of([line_of("weather.report", {"rain": [1, None]}, mood="good")]))
    assert (event.name, event.payload, event.extra) == ("weather.report", {"rain": [1, None]}, {"mood": "good"})


def test_a_line_that_is_not_ended_is_left_out(tmp_path: Path) -> None:
    assert len(list(events_of(tmp_path, log_of(chained(TITLES[:2]), b'{"id":0')))) == 2


def test_events_before_a_line_that_is_none_can_be_had(tmp_path: Path) -> None:
    events = events_of(tmp_path, log_of([*chained([title(1)]), b"oops"]))
    assert next(events).payload == SessionTitle(title="number 1")
    with pytest.raises(InputError, match=r"log.jsonl: the line at byte \d+ is not JSON"):
        next(events)


@pytest.mark.parametrize(
    "data, message",
    [
        (b"", "the first line is '', expected"),
        (b'{"chock_log":2}\n', """the first line is '{"chock_log":2}', expected {"chock_log":1} and a line feed"""),
    ],
)
def test_what_is_no_log_is_refused(tmp_path: Path, data: bytes, message: str) -> None:
    with pytest.raises(InputError, match=message.replace("{", "\\{")):
        next(events_of(tmp_path, data))


def test_a_log_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot be opened"):
        next(read_events(tmp_path / "absent"))


PEAK = """
import resource, sys
from pathlib import Path
from pipeline.session.fold import examine_log
examine_log(Path(sys.argv[1]))
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
found = examine_log(Path(sys.argv[2]))
print(found.verdict.verdict, found.facts.turns, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""


def test_memory_does_not_grow_with_the_log(tmp_path: Path) -> None:
    assert resource.getpagesize()  # the figures below are of Linux: kilobytes
    output = {"call_id": "1", "output": "word " * 2_000, "is_error": False, "truncated": False}
    answer = {"role": "assistant", "content": [{"text": "a word " * 20}], "model_alias": ""}
    events = [("tool.result", output), ("message", answer)]
    (tmp_path / "small").write_bytes(log_of(chained(events * 50)))
    (tmp_path / "large").write_bytes(log_of(chained(events * 5_000)))
    command = [sys.executable, "-c", PEAK, str(tmp_path / "small"), str(tmp_path / "large")]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=120)
    verdict, turns, grown_kb = done.stdout.split()
    assert (verdict, turns) == ("intact", "5000")
    assert (tmp_path / "large").stat().st_size > 50_000_000
    assert int(grown_kb) < 4_000
