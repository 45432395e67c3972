"""The table of faults: a part of it each time, all of it under the mark `slow`."""

from __future__ import annotations

import pytest
from fault_cases import FAULTS, RUN_STEPS, STEPS, Case, Fault, Verdict, as_markdown, carry_out_all, cases
from fault_proxy import FOR_EVER

SERVERS = ("moto", "seaweed")


def representative() -> list[Case]:
    """Each fault at two steps of each server, so that every step is met."""
    chosen = []
    for shift, server in enumerate(SERVERS):
        for number, fault in enumerate(FAULTS):
            steps = cases([server], [*STEPS, *RUN_STEPS], [fault])
            chosen += [steps[(number * 3 + shift + offset) % len(steps)] for offset in (0, 5)]
    return chosen


CASES = {case.name: case for case in representative()}


@pytest.fixture(scope="session")
def verdicts(moto, seaweed) -> dict[str, Verdict]:
    done = carry_out_all(list(CASES.values()), {"moto": moto, "seaweed": seaweed}, timeout_s=3, at_once=8)
    return {verdict.case.name: verdict for verdict in done}


@pytest.mark.parametrize("name", CASES)
def test_a_fault_ends_in_the_right_result_or_a_clean_error_and_the_same_call_goes_on(name, verdicts):
    verdict = verdicts[name]
    assert verdict.outcome in ("correct", "clean error"), verdict


def test_the_cases_are_many_and_meet_every_step_and_fault():
    assert len(CASES) >= 60
    assert {case.fault for case in CASES.values()} == set(FAULTS)
    assert {case.step.name for case in CASES.values()} == {step.name for step in [*STEPS, *RUN_STEPS]}


def test_the_table_counts_each_case_once():
    verdicts = [
        Verdict(Case("moto", STEPS[0], Fault(500, 1)), "correct", "", 0.1),
        Verdict(Case("moto", STEPS[1], Fault(500, 1)), "clean error", "", 0.1),
        Verdict(Case("seaweed", STEPS[1], Fault("hang", FOR_EVER)), "wrong", "", 0.1),
    ]
    assert as_markdown(verdicts).splitlines()[2:] == [
        "| moto | 500 once | 2 | 1 | 1 | 0 |",
        "| seaweed | hang for ever | 1 | 0 | 0 | 1 |",
        "| all |  | 3 | 1 | 1 | 1 |",
    ]


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_every_fault_at_every_step(moto, seaweed):
    wanted = cases(SERVERS, [*STEPS, *RUN_STEPS])
    done = carry_out_all(wanted, {"moto": moto, "seaweed": seaweed}, timeout_s=4, at_once=8)
    met = [verdict for verdict in done if verdict.outcome != "not met"]
    assert len(met) >= 300
    assert [verdict for verdict in met if verdict.outcome == "wrong"] == []
