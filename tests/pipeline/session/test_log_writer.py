"""The writer of a log: what it writes, what it refuses, what it leaves behind when it is cut off."""

from __future__ import annotations

import errno
import fcntl
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from log_making import HEADER, TITLES, VECTORS, chained, line_of, log_of, sha256

from pipeline.errors import AssayError, InputError
from pipeline.records.audit_content import FreeCost, TextPart, ToolUse, ToolUsePart
from pipeline.records.audit_event import AuditEvent, UnknownPayload
from pipeline.records.audit_session import NetworkConnection, SessionConfig, SessionEnd, SessionTitle
from pipeline.records.audit_turn import Message, ToolResult, Usage
from pipeline.session import log_writer
from pipeline.session.audit_log import read_events, verify_log
from pipeline.session.log_lines import event_line
from pipeline.session.log_writer import AuditLogWriter

SESSION = "01J0000000ABCDEFGHJKMNPQRS"


def writer(path: Path, session: str = SESSION) -> AuditLogWriter:
    return AuditLogWriter(path, session, lambda: 1_760_000_000_000)


def test_a_line_is_written_as_the_format_has_it() -> None:
    payload = {"role": "assistant", "content": [{"text": "hello"}], "model_alias": ""}
    assert event_line(AuditEvent(4096, "01H0", 1_700_000_000_000, "message", payload)) == (
        b'{"id":4096,"session":"01H0","time_ms":1700000000000,"event":{"message":{"role":"assistant",'
        b'"content":[{"text":"hello"}],"model_alias":""}},"version":1,"prev":""}'
    )


def test_every_event_of_the_vectors_is_written_as_it_stands() -> None:
    path = VECTORS / "intact.jsonl"
    lines = path.read_bytes().splitlines()[1:]
    assert [event_line(event._replace(id=0)) for event in read_events(path)] == lines


def test_known_members_come_in_their_order_and_the_others_behind_them() -> None:
    raw = {"zeal": 1, "detail": "d", "reason": "r", "alto": {"b": 1, "a": 2}}
    event = AuditEvent(0, "s", 1, "session.end", raw, extra={"mood": "good"})
    assert event_line(event) == (
        b'{"id":0,"session":"s","time_ms":1,"event":{"session.end":{"reason":"r","detail":"d","zeal":1,'
        b'"alto":{"b":1,"a":2}}},"version":1,"prev":"","mood":"good"}'
    )


def test_what_was_written_is_intact_and_read_again(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    said = [
        SessionConfig(config_hash=None, sandbox_driver="native"),
        Message(role="assistant", content=(TextPart(text="Zürich"), ToolUsePart(
            tool_use=ToolUse(call_id="1", tool="sh", arguments="{}")), {"smell": {"of": "rain"}})),
        Usage(cost=FreeCost(free=True)),
        NetworkConnection(host="example.org", granted=2),
        SessionEnd(reason="finished", detail=""),
    ]  # fmt: skip
    with writer(path) as log:
        ids = [log.append(payload) for payload in said]
        ids.append(log.append(UnknownPayload("weather.report", [1, 2**80]), {"mood": "good"}))
    found = verify_log(path)
    assert (found.verdict, found.events, found.chained) == ("intact", 6, 6)
    events = list(read_events(path))
    assert [event.id for event in events] == ids
    assert [event.payload for event in events[:5]] == said
    assert (events[5].payload, events[5].extra) == ([1, 2**80], {"mood": "good"})
    assert all(b'{"id":0,"session":"' in line for line in path.read_bytes().splitlines()[1:])
    assert b"dev_shell" not in path.read_bytes()


def test_each_line_is_chained_to_the_exact_bytes_before_it(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    first = line_of(*TITLES[0], sha256(HEADER)).replace(b",", b" , ")  # not as we write it
    path.write_bytes(log_of([first]))
    with writer(path) as log:
        log.append(SessionTitle(title="b"))
    assert path.read_bytes().splitlines()[2].endswith(b'"prev":"%b"}' % sha256(first).encode())
    assert verify_log(path).verdict == "intact"


def test_text_that_is_no_unicode_is_replaced(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    broken = b"caf\xe9".decode("utf-8", "surrogateescape")
    with writer(path) as log:
        log.append(ToolResult(call_id="1", output=broken, is_error=False, truncated=False))
        log.append(UnknownPayload("a", {"\udc00": ["\ud83d\ude00"]}))
    assert verify_log(path).verdict == "intact"
    first, second = read_events(path)
    assert (first.raw["output"], second.raw) == ("caf\ufffd", {"\ufffd": ["\U0001f600"]})


@pytest.mark.parametrize("n_left", [1, 50, 70_000])
def test_a_tail_that_was_cut_off_goes_and_the_log_goes_on(tmp_path: Path, n_left: int) -> None:
    path = tmp_path / "log.jsonl"
    path.write_bytes(log_of(chained(TITLES), b"{" * n_left))
    with writer(path) as log:
        at = log.append(SessionTitle(title="after the crash"))
    assert at == len(log_of(chained(TITLES)))
    assert verify_log(path).verdict == "intact"


@pytest.mark.parametrize("n_written", [0, 1, 15])
def test_a_header_that_was_cut_off_is_written_again(tmp_path: Path, n_written: int) -> None:
    path = tmp_path / "log.jsonl"
    path.write_bytes((HEADER + b"\n")[:n_written])
    with writer(path):
        pass
    assert path.read_bytes() == HEADER + b"\n"


def test_a_long_last_line_and_a_long_first_line_are_found(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    for _ in range(2):
        with writer(path) as log:
            log.append(SessionTitle(title="long " * 40_000))
    assert (verify_log(path).verdict, verify_log(path).events) == ("intact", 2)


@pytest.mark.parametrize(
    "data, message",
    [
        (b"hello\n", "is no audit log of version 1"),
        (b'{"chock_log":2}\n', "is no audit log of version 1"),
        (b'{"chock_log":1}\r\n', "is no audit log"),
        (log_of([line_of(*TITLES[0], session="other")]), "is the log of session other, not of 01J0"),
        (log_of([b"oops"]), "the first event is not JSON .* nothing is appended to a damaged log"),
    ],
)
def test_what_is_not_this_sessions_log_is_refused_and_left_alone(tmp_path: Path, data: bytes, message: str) -> None:
    path = tmp_path / "log.jsonl"
    path.write_bytes(data)
    with pytest.raises(InputError, match=message), writer(path):
        pass
    assert path.read_bytes() == data


def test_places_that_are_no_log_are_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    (tmp_path / "elsewhere").write_bytes(b"")
    (tmp_path / "link").symlink_to("elsewhere")
    for path in (tmp_path, tmp_path / "fifo", tmp_path / "link", tmp_path / "no" / "log"):
        with pytest.raises(InputError, match=r"cannot be opened for writing|is not a file"), writer(path):
            pass
    assert (tmp_path / "elsewhere").read_bytes() == b""


def test_a_log_has_one_writer_at_a_time(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    with writer(path) as log:
        log.append(SessionTitle(title="a"))
        with pytest.raises(InputError, match="another process is writing this log"), writer(path):
            pass
        log.append(SessionTitle(title="b"))
    with writer(path) as log:
        log.append(SessionTitle(title="c"))
    assert (verify_log(path).verdict, verify_log(path).events) == ("intact", 3)


def test_a_lock_that_another_program_holds_is_respected(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    path.write_bytes(log_of(chained(TITLES), b"half"))
    with path.open("rb") as file:
        fcntl.flock(file, fcntl.LOCK_SH)
        with pytest.raises(InputError, match="another process"), writer(path):
            pass
    assert path.read_bytes().endswith(b"half")  # it may be a write that is going on


def test_a_write_past_the_lock_is_noticed(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    with writer(path) as log:
        log.append(SessionTitle(title="a"))
        with path.open("ab") as file:
            file.write(b"something else\n")
        with pytest.raises(AssayError, match="something else wrote to the log"):
            log.append(SessionTitle(title="b"))
    assert path.read_bytes().endswith(b"something else\n")


@pytest.mark.parametrize(
    "payload, extra",
    [
        (UnknownPayload("a", float("nan")), {}),
        (UnknownPayload("a", {"b": float("inf")}), {}),
        (UnknownPayload("a", {1, 2}), {}),
        (UnknownPayload("a", b"bytes"), {}),
        (UnknownPayload("tool.call", {"call_id": "1"}), {}),
        (SessionTitle(title="a"), {"prev": 5}),
        (SessionTitle(title="a"), {"session": None}),
        (SessionTitle(title="a"), {"event": {}}),
        (SessionTitle(title="a"), {"id": 16}),
        (UnknownPayload("a", 10**400), {}),
    ],
)
def test_what_could_not_be_read_again_is_not_written(tmp_path: Path, payload: object, extra: dict[str, object]) -> None:
    path = tmp_path / "log.jsonl"
    with writer(path) as log:
        with pytest.raises(InputError, match="cannot be written"):
            log.append(payload, extra)  # type: ignore[arg-type]
        log.append(SessionTitle(title="b"))
    assert (verify_log(path).verdict, verify_log(path).events) == ("intact", 1)


def test_a_value_that_is_nested_too_deeply_is_not_written(tmp_path: Path) -> None:
    deep: list[object] = []
    for _ in range(3_000):
        deep = [deep]
    with writer(tmp_path / "log.jsonl") as log, pytest.raises(InputError, match="cannot be written"):
        log.append(UnknownPayload("a", deep))


def test_a_line_too_long_to_be_read_is_not_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(log_writer, "MAX_LINE_BYTES", 1000)
    with writer(tmp_path / "log.jsonl") as log:
        with pytest.raises(InputError, match="has 1196 bytes, at most 1000 can be read"):
            log.append(SessionTitle(title="x" * 1000))
        log.append(SessionTitle(title="x"))


def test_a_writer_that_is_not_open_says_so(tmp_path: Path) -> None:
    with pytest.raises(AssayError, match="is not open"):
        writer(tmp_path / "log.jsonl").append(SessionTitle(title="a"))


FULL = """
import resource, signal, sys
from pathlib import Path
from pipeline.records.audit_session import SessionTitle
from pipeline.session.log_writer import AuditLogWriter
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
with AuditLogWriter(Path(sys.argv[1]), "s", lambda: 1) as log:
    try:
        for number in range(10):
            log.append(SessionTitle(title="a"))
    except OSError as error:
        print(number, error)
"""


def test_a_disk_that_takes_half_a_line_leaves_whole_lines(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    done = subprocess.run([sys.executable, "-c", FULL, str(path)], capture_output=True, text=True, timeout=60)
    assert "bytes were written; is the disk full?" in done.stdout, done.stderr
    n_written = int(done.stdout.split()[0])
    assert n_written > 2
    found = verify_log(path)
    assert (found.verdict, found.events) == ("intact", n_written)


def test_an_event_whose_sync_failed_is_taken_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "log.jsonl"

    def fail(_: int) -> None:
        raise OSError(errno.EIO, "the disk is gone")

    with writer(path) as log:
        log.append(SessionTitle(title="a"))
        with monkeypatch.context() as patched:
            patched.setattr(os, "fsync", fail)
            with pytest.raises(OSError, match="the disk is gone"):
                log.append(SessionTitle(title="b"))
        log.append(SessionTitle(title="c"))
    assert [event.raw["title"] for event in read_events(path)] == ["a", "c"]
    assert verify_log(path).verdict == "intact"


def test_every_event_is_synced_before_append_returns(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    synced: list[int] = []
    with writer(tmp_path / "log.jsonl") as log:
        real = os.fsync
        monkeypatch.setattr(os, "fsync", lambda descriptor: (synced.append(descriptor), real(descriptor)))
        for _ in range(3):
            log.append(SessionTitle(title="a"))
    assert len(synced) == 3


def test_threads_share_a_writer(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    with writer(path) as log:
        threads = [
            threading.Thread(target=lambda: [log.append(SessionTitle(title="a")) for _ in range(20)]) for _ in range(4)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert (verify_log(path).verdict, verify_log(path).events) == ("intact", 80)


KILLED = """
import sys
from pathlib import Path
from pipeline.records.audit_session import SessionTitle
from pipeline.session.log_writer import AuditLogWriter
with AuditLogWriter(Path(sys.argv[1]), "s", lambda: 1) as log:
    number = 0
    while True:
        log.append(SessionTitle(title="long " * 2_000))
        number += 1
        print(number, flush=True)
"""


def test_a_killed_writer_loses_nothing_that_append_returned_for(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    with subprocess.Popen([sys.executable, "-c", KILLED, str(path)], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        process.stdout.readline()
        time.sleep(0.3)
        process.send_signal(signal.SIGKILL)
        told = process.stdout.read().split()
    assert verify_log(path).verdict in ("intact", "torn")
    with AuditLogWriter(path, "s", lambda: 2) as log:  # the lock went with the process
        log.append(SessionTitle(title="after"))
    found = verify_log(path)
    assert found.verdict == "intact"
    assert found.events is not None
    assert found.events >= int(told[-1] if told else 1) + 1


TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)


@given(
    st.lists(
        st.builds(SessionTitle, title=TEXTS)
        | st.builds(Usage, input_tokens=st.integers(0, 2**64 - 1), model=TEXTS)
        | st.builds(UnknownPayload, name=st.just("own.event"), value=st.dictionaries(TEXTS, st.integers(), max_size=3)),
        max_size=6,
    ),
    st.sets(st.integers(0, 5)),
)
def test_what_is_written_in_any_number_of_sittings_is_one_chain(
    tmp_path_factory: pytest.TempPathFactory, said: list[SessionTitle | Usage | UnknownPayload], reopen_at: set[int]
) -> None:
    path = tmp_path_factory.mktemp("logs") / "log.jsonl"
    log = writer(path)
    log.__enter__()
    for number, payload in enumerate(said):
        if number in reopen_at:
            log.__exit__(None, None, None)
            with path.open("ab") as file:
                file.write(b'{"id":0,')  # a write that was cut off
            log = writer(path)
            log.__enter__()
        log.append(payload)
    log.__exit__(None, None, None)
    found = verify_log(path)
    assert (found.verdict, found.events, found.chained) == ("intact", len(said), len(said))
    for payload, event in zip(said, read_events(path), strict=True):
        assert event.raw == (payload.value if isinstance(payload, UnknownPayload) else payload.to_wire())
