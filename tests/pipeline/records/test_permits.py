"""The desk of permits in simulated time: how many there are in any window, who gets them, and what a refusal does."""

from __future__ import annotations

import heapq
from collections import Counter
from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.records.limits import LimitRule, PermitAnswer, PermitRequest, Refusal
from pipeline.records.permits import BATCH_S, BURST_S, LEAST_PACE, RECOVERY_PER_S, PermitDesk

TEN = LimitRule("key", calls_per_s=10)


class Client(NamedTuple):
    """Asks again `delay_s` after it has had the last permit of a batch, or when it was told to."""

    wanted: int
    delay_s: float
    dies_at: float = float("inf")


class Desk:
    """A desk whose clock stands where it is put."""

    def __init__(self, *, starts_empty: bool = False) -> None:
        self.now = 100.0
        self.desk = PermitDesk(lambda: self.now, starts_empty=starts_empty)

    def ask(self, wanted: int = 1, rule: LimitRule = TEN, client: str = "a", **learnt: object) -> PermitAnswer:
        return self.desk.ask(PermitRequest(rule, client, wanted, **learnt))  # type: ignore[arg-type]

    def times(self, answer: PermitAnswer) -> list[float]:
        """When the permits may be used, at the earliest."""
        due = [self.now + answer.first_in_s + number * answer.spacing_s for number in range(answer.permits)]
        return [max(self.now, time) for time in due]

    def serve(self, clients: list[Client], rule: LimitRule, until_s: float) -> list[tuple[float, int]]:
        """The times of all permits of clients that ask by themselves, and whose they are."""
        given_out: list[tuple[float, int]] = []
        start = self.now
        agenda = [(start, number) for number in range(len(clients))]
        while agenda:
            self.now, number = heapq.heappop(agenda)
            client = clients[number]
            if self.now - start > min(until_s, client.dies_at):
                continue
            answer = self.ask(client.wanted, rule, str(number))
            times = self.times(answer)
            given_out += [(time, number) for time in times]
            again = max(self.now, times[-1]) + client.delay_s if times else self.now + answer.ask_again_in_s
            heapq.heappush(agenda, (again, number))
        return sorted(given_out)


def most_in_a_window(times: list[float], length: float) -> int:
    first = most = 0
    for last, time in enumerate(times):
        while time - times[first] >= length - 1e-6:
            first += 1
        most = max(most, last - first + 1)
    return most


CLIENTS = st.lists(
    st.builds(Client, st.integers(1, 200), st.floats(0, 2), st.sampled_from([float("inf"), 1.0])),
    min_size=1,
    max_size=8,
)


@given(CLIENTS, st.sampled_from([0.5, 3.0, 40.0, 500.0]), st.sampled_from([0.5, 1.0, 5.0]))
def test_no_window_holds_more_than_the_rate_and_a_tenth_of_a_second(
    clients: list[Client], rate: float, window_s: float
) -> None:
    given_out = Desk().serve(clients, LimitRule("key", calls_per_s=rate), until_s=6)
    assert most_in_a_window([time for time, _ in given_out], window_s) <= rate * (window_s + BURST_S) + 1


@given(CLIENTS, st.floats(1, 500))
def test_units_are_limited_as_calls_are(clients: list[Client], units_per_call: float) -> None:
    rule = LimitRule("key", calls_per_s=1000, units_per_s=1000, units_per_call=units_per_call)
    given_out = Desk().serve(clients, rule, until_s=3)
    calls = most_in_a_window([time for time, _ in given_out], 1.0)
    assert calls * units_per_call <= 1000 * (1 + BURST_S) + units_per_call + 1e-6


@pytest.mark.parametrize("rate", [0.5, 7.0, 200.0])
@pytest.mark.parametrize("n_clients", [1, 2, 9])
def test_what_is_stated_is_handed_out_in_full_while_it_is_wanted(rate: float, n_clients: int) -> None:
    clients = [Client(50, 0.0)] * n_clients
    given_out = Desk().serve(clients, LimitRule("key", calls_per_s=rate), until_s=20)
    in_time = [time for time, _ in given_out if time < 119.5]
    assert len(in_time) >= 0.97 * rate * 19.5


@given(st.lists(st.integers(1, 300), min_size=2, max_size=9))
def test_clients_that_want_much_get_the_same(wanted: list[int]) -> None:
    """As many as fit in a batch each, however much more one of them wants."""
    clients = [Client(max(40, number), 0.0) for number in wanted]
    counts = Counter(number for _, number in Desk().serve(clients, LimitRule("key", calls_per_s=200), until_s=10))
    assert max(counts.values()) <= 1.25 * min(counts.values()) + 40


def test_a_client_that_wants_little_gets_it_beside_one_that_wants_all() -> None:
    given_out = Desk().serve([Client(1000, 0.0), Client(1, 1.0)], LimitRule("key", calls_per_s=20), until_s=20)
    assert Counter(number for _, number in given_out)[1] >= 12


def test_what_a_dead_client_had_is_not_missed() -> None:
    clients = [Client(50, 0.0), Client(50, 0.0, dies_at=1.0)]
    times = [time for time, number in Desk().serve(clients, TEN, until_s=20) if number == 0]
    assert sum(time >= 102 for time in times) >= 0.95 * 10 * 18


def test_a_batch_is_a_fifth_of_a_second() -> None:
    assert Desk().ask(1000, LimitRule("key", calls_per_s=100)).permits == 100 * BATCH_S


def test_a_batch_is_shared_with_those_who_wait() -> None:
    desk, fast = Desk(), LimitRule("key", calls_per_s=100)
    for client in "abcd":
        desk.ask(1000, fast, client)
    assert desk.ask(1000, fast, "e").permits == 0
    desk.now += 0.2
    assert 1 < desk.ask(1000, fast, "b").permits <= 100 * BATCH_S / 2


def test_an_idle_time_is_not_saved_up() -> None:
    desk = Desk()
    desk.ask(1)
    desk.now += 1000
    times = desk.times(desk.ask(100, LimitRule("key", calls_per_s=100)))
    assert sum(time == desk.now for time in times) == 100 * BURST_S


def test_keys_are_apart() -> None:
    desk = Desk()
    rules = [LimitRule(name, calls_per_s=0.01) for name in "ab"]
    assert [desk.ask(1, rule).permits for rule in rules] == [1, 1]
    assert [desk.ask(1, rule).permits for rule in rules] == [0, 0]


def test_a_desk_that_follows_another_gives_nothing_at_once() -> None:
    desk = Desk(starts_empty=True)
    slow = LimitRule("key", calls_per_s=0.5)
    assert desk.ask(1, slow).permits == 0
    desk.now += 1.9
    [time] = desk.times(desk.ask(1, slow))
    assert time == pytest.approx(102)


@given(CLIENTS, st.floats(0.3, 20))
def test_a_pause_holds_everybody(clients: list[Client], pause_s: float) -> None:
    desk = Desk()
    desk.ask(0, refusals=(Refusal(0.1, pause_s),))
    given_out = desk.serve(clients, TEN, until_s=pause_s + 2)
    assert all(time >= 100 + pause_s - 1e-6 for time, _ in given_out)
    if any(client.dies_at > 100 for client in clients):
        assert given_out[0][0] <= 100 + pause_s + 2.5


def test_who_asks_is_told_of_the_pause() -> None:
    desk = Desk()
    desk.ask(0, refusals=(Refusal(0.1, 30.0),))
    desk.now += 10
    assert desk.ask(0, client="b").pause_s == pytest.approx(20)


def test_a_client_brings_a_new_desk_the_pause_that_it_knows_of() -> None:
    desk = Desk()
    desk.ask(1, pause_s=5.0)
    desk.now += 1
    assert (desk.ask(1, client="b").permits, desk.ask(1, client="b").pause_s) == (0, 4.0)


def spacing(desk: Desk) -> float:
    """Seconds between permits, as the desk has them now, for a thousand a second."""
    desk.now += 0.001
    answer = desk.ask(2, LimitRule("key", calls_per_s=1000))
    assert answer.permits
    return answer.spacing_s


def test_a_refusal_halves_the_pace_and_it_comes_back_to_what_is_stated() -> None:
    desk = Desk()
    assert spacing(desk) == pytest.approx(0.001)
    desk.ask(0, refusals=(Refusal(0.0),))
    assert spacing(desk) == pytest.approx(0.002, rel=0.01)
    desk.now += 0.25 / RECOVERY_PER_S
    assert spacing(desk) == pytest.approx(1 / 750, rel=0.01)
    desk.now += 0.25 / RECOVERY_PER_S
    assert spacing(desk) == pytest.approx(0.001, rel=0.01)
    desk.now += 1000
    assert spacing(desk) == pytest.approx(0.001, rel=1e-6)


def test_refusals_of_calls_that_began_before_the_cut_say_nothing_new() -> None:
    desk = Desk()
    desk.ask(0, refusals=(Refusal(0.5),) * 20)
    desk.now += 3
    desk.ask(0, refusals=(Refusal(4.0),))
    assert spacing(desk) == pytest.approx(0.001 / (0.5 + 3 * RECOVERY_PER_S), rel=0.01)
    desk.ask(0, refusals=(Refusal(0.5),))
    assert spacing(desk) == pytest.approx(0.002 / (0.5 + 3 * RECOVERY_PER_S), rel=0.01)


def test_the_pace_is_cut_once_a_second_at_most() -> None:
    desk = Desk()
    for _ in range(9):
        desk.ask(0, refusals=(Refusal(0.0),))
        desk.now += 0.1
    assert spacing(desk) == pytest.approx(0.001 / (0.5 + 0.9 * RECOVERY_PER_S), rel=0.01)


def test_the_pace_recovers_after_a_pause_and_not_in_it() -> None:
    desk = Desk()
    desk.ask(0, refusals=(Refusal(0.0, 50.0),))
    desk.now += 50
    assert spacing(desk) == pytest.approx(0.002, rel=0.01)


def test_refusals_without_end_leave_a_trickle_that_recovers() -> None:
    desk = Desk()
    for _ in range(20):
        desk.ask(0, refusals=(Refusal(0.0, 10.0),))
        desk.now += 10
    assert spacing(desk) == pytest.approx(0.001 / LEAST_PACE, rel=0.01)
    desk.now += 1 / RECOVERY_PER_S
    assert spacing(desk) == pytest.approx(0.001, rel=1e-6)


@given(st.lists(st.floats(-400, 3000), max_size=30))
def test_units_that_calls_owe_are_paid_before_others_are_given(owed: list[float]) -> None:
    """Whatever the estimates were: what was taken in the end fits the rate."""
    desk = Desk()
    rule = LimitRule("key", units_per_s=1000, units_per_call=500)
    taken = 0.0
    for units in [*owed, 0.0]:
        while not (answer := desk.ask(1, rule)).permits:
            desk.now += answer.ask_again_in_s
        desk.now = desk.times(answer)[0]
        elapsed = desk.now - 100
        assert taken <= 1000 * (elapsed + BURST_S) + 400 + 1e-6
        taken += 500 + units
        desk.ask(0, rule, units_owed=units)
