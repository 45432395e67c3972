"""What a session may spend: it stops before the request that could be too much, and its helpers share what is left."""

from __future__ import annotations

from typing import Any

import pytest

from pipeline.records.audit_content import FreeCost, KnownCost, Money, UnknownCost
from pipeline.records.provider_profile import Prices
from pipeline.session.agent.spending import Spending
from pipeline.session.audit_log import read_events

PRICES = Prices(input=100.0, output=1000.0)  # of a million tokens


def paid(tool: str, **arguments: Any) -> dict[str, Any]:
    """A turn that costs ten cents."""
    return {"tool_calls": [{"tool": tool, "arguments": arguments}], "usage": {"input_tokens": 1000, "output_tokens": 0}}


def shells(number: int) -> list[dict[str, Any]]:
    return [paid("exec", command=f"echo {each}") for each in range(number)]


def test_a_session_ends_before_the_request_that_could_be_too_much(rehearsal) -> None:
    with rehearsal.play(shells(9), max_cost=0.35, prices=PRICES) as outcome:
        assert (outcome.ending.reason, outcome.cost, outcome.n_turns) == ("budget_reached", {"USD": 0.3}, 3)
        asked, answered = rehearsal.events(outcome)[-4:-2]
        assert (asked[0], asked[1]["action"]) == ("approval.request", "budget.raise")
        assert answered[1]["decision"] == "expired"


def test_a_bound_that_is_met_to_the_cent_is_no_reason_to_stop(rehearsal) -> None:
    with rehearsal.play([*shells(2), paid("finish")], max_cost=0.3, prices=PRICES) as outcome:
        assert (outcome.ending.reason, outcome.cost) == ("finished", {"USD": 0.3})


def test_a_helper_gets_half_of_what_is_left_and_all_together_stay_within_the_bound(rehearsal) -> None:
    with rehearsal.play([paid("spawn_agent", task="go on"), *shells(40)], max_cost=1.0, prices=PRICES) as outcome:
        spawn = next(raw for name, raw in rehearsal.events(outcome) if name == "session.spawn")
        assert (spawn["budget_max_cost"], spawn["budget_currency"]) == (0.45, "USD")
        (child,) = rehearsal.facts(outcome).children
        assert (child.outcome, outcome.ending.reason) == ("budget", "budget_reached")
        log = rehearsal.store.local_path(f"sessions/{child.session}/log.jsonl")
        n_child = sum(event.name == "usage" for event in read_events(log))
        assert n_child == 4
        assert n_child * 0.1 + outcome.cost["USD"] <= 1.0


def test_without_a_bound_a_helper_has_none(rehearsal) -> None:
    with rehearsal.play([paid("spawn_agent", task="x"), paid("finish"), paid("finish")], prices=PRICES) as outcome:
        spawn = next(raw for name, raw in rehearsal.events(outcome) if name == "session.spawn")
        assert (spawn["budget_max_cost"], spawn["budget_currency"]) == (0, "")
        assert outcome.ending.reason == "finished"


def dollars(value: float) -> KnownCost:
    return KnownCost(known=Money(value=value, currency="USD"))


@pytest.mark.parametrize(
    ("costs", "most", "is_too_much"),
    [
        ([], 0.0, False),  # nothing is known yet of what a request costs
        ([0.1, 0.1], 0.3, False),
        ([0.1, 0.1], 0.2999, True),
        ([0.0, 0.0], 0.0, False),
    ],
)
def test_the_next_request_is_taken_to_cost_what_one_has_cost_on_average(
    costs: list[float], most: float, is_too_much: bool
) -> None:
    spending = Spending()
    for cost in costs:
        spending.add(dollars(cost))
    assert spending.would_exceed(most, "USD") is is_too_much


def test_prices_that_are_free_unknown_or_of_another_currency_bound_nothing(rehearsal) -> None:
    for cost in (FreeCost(free=True), UnknownCost(unknown=True), KnownCost(known=Money(value=9.0, currency="EUR"))):
        spending = Spending()
        spending.add(cost)
        assert not spending.would_exceed(0.01, "USD")
