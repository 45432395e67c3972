"""A pattern that takes too long: its row gets an error, the others their score, and nothing hangs."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from types import FrameType

import pyarrow as pa
import pytest

from scorers import ScoreColumns, regex_match
from scorers._regex_child import Request
from scorers._regex_limit import TooLargeError, TooSlowError, match_within

SLOW = "a" * 40 + "b"
TEXTS = ["aaa", SLOW, None, "b", SLOW, "aa"]
ERROR = "the pattern took longer than 1 s on this text"


def in_a_thread(work: Callable[[], ScoreColumns]) -> ScoreColumns:
    found: list[ScoreColumns] = []
    thread = threading.Thread(target=lambda: found.append(work()))
    thread.start()
    thread.join()
    return found[0]


def here(work: Callable[[], ScoreColumns]) -> ScoreColumns:
    return work()


@pytest.mark.parametrize("run", [here, in_a_thread])
def test_a_row_that_takes_too_long_gets_an_error_and_the_others_a_score(
    run: Callable[[Callable[[], ScoreColumns]], ScoreColumns],
) -> None:
    rows = pa.table({"output": TEXTS})
    found = run(lambda: regex_match(r"(?P<all>(a+)+)(?!b)$").score(rows))
    assert found.value.to_pylist() == [1.0, None, 0.0, 0.0, None, 1.0]
    assert found.error.to_pylist() == [None, ERROR, None, None, ERROR, None]
    nothing = '{"groups":{},"match":null}'
    assert found.metadata.to_pylist() == [
        '{"groups":{"all":"aaa"},"match":"aaa"}',
        None,
        nothing,
        nothing,
        None,
        '{"groups":{"all":"aa"},"match":"aa"}',
    ]


def test_a_long_text_that_hears_no_signals_is_stopped_too() -> None:
    began = time.process_time()
    found = regex_match(".*b").score(pa.table({"output": ["a" * 3_000_000, "b"]}))
    assert found.error.to_pylist() == [ERROR, None]
    assert found.value.to_pylist() == [None, 1.0]
    assert time.process_time() - began < 1.0  # the time was the child's


def test_both_ways_match_alike() -> None:
    texts = ["x=1", "", "é=2\n", "😀", *(f"k{n}={n}" for n in range(5000))]
    scorer = regex_match(r"(?P<key>\w+)=(?=(?P<value>\d+))?")
    rows = pa.table({"output": texts})
    assert in_a_thread(lambda: scorer.score(rows)) == scorer.score(rows)


def test_the_handler_and_the_timer_of_others_are_there_afterwards() -> None:
    def handler(_signal: int, _frame: FrameType | None) -> None:
        raise AssertionError("rang during the test")

    before = signal.signal(signal.SIGVTALRM, handler)
    signal.setitimer(signal.ITIMER_VIRTUAL, 1000.0)
    try:
        with pytest.raises(TooSlowError):
            match_within(Request("(a+)+$", 0, False, [SLOW], 0.1))
        assert signal.getsignal(signal.SIGVTALRM) is handler
        assert signal.getitimer(signal.ITIMER_VIRTUAL)[0] > 900
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


def test_a_child_that_was_killed_is_started_again() -> None:
    from scorers import _regex_limit

    request = Request("b", 0, False, ["a" * 200_000 + "b"], 1.0)
    assert match_within(request) == [["b"]]
    process = _regex_limit._child._process
    assert process is not None
    process.kill()
    process.wait()
    assert match_within(request) == [["b"]]


def test_a_match_that_needs_too_much_memory_is_the_error_of_its_row(monkeypatch: pytest.MonkeyPatch) -> None:
    from scorers import _regex_limit

    def no_memory(_request: Request) -> list[list[str | None]]:
        raise MemoryError

    monkeypatch.setattr(_regex_limit, "match_texts", no_memory)
    with pytest.raises(TooLargeError, match="too much memory"):
        match_within(Request("a", 0, False, ["a"], 1.0))
    found = regex_match("(?=a)a").score(pa.table({"output": ["a"]}))
    assert found.error.to_pylist() == ["MemoryError: the pattern needs too much memory on this text"]


@pytest.mark.parametrize("run", [here, in_a_thread])
def test_a_defect_of_re_costs_no_other_row_its_score(
    run: Callable[[Callable[[], ScoreColumns]], ScoreColumns],
) -> None:
    scorer = regex_match(r"(?:(?P<a>1)|\W|(?:\A){1,2}?)*+")
    found = run(lambda: scorer.score(pa.table({"output": ["1", "1 -", "x"]})))
    assert (found.value[0].as_py(), found.value[2].as_py()) == (1.0, 1.0)
    defect = "SystemError: The span of capturing group is wrong, please report a bug for the re module."
    assert found.error.to_pylist() in ([None, defect, None], [None] * 3)  # it depends on the version of Python


def test_a_process_that_asked_a_child_ends_quietly(tmp_path: Path) -> None:
    script = tmp_path / "main.py"
    script.write_text(
        "print('main runs')\n"
        "import pyarrow as pa, scorers\n"
        "print(scorers.regex_match('b').score(pa.table({'output': ['a' * 200_000 + 'b']})).value)\n"
    )
    done = subprocess.run([sys.executable, "-W", "error", script], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr, done.stdout.count("main runs")) == (0, "", 1)
