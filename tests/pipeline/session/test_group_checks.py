"""Rollouts as a group: what keeps them from being compared, and logprobs that were scored again."""

from __future__ import annotations

import math
from typing import Any

import pytest
from token_making import provider, tokens, trajectory_from, trajectory_of

from pipeline.records.owners import Owner
from pipeline.records.provenance import Provenance
from pipeline.session.group_checks import (
    Member,
    check_duplicates,
    check_group,
    check_rescored,
    check_same_pins,
    check_same_tokenizer,
)

PROFILE = Provenance(model_profile="qwen3", checkpoint="a@1")
PROMPT = [1, 10]


def member(rollout: int, **report: Any) -> Member:
    found = tokens(PROMPT, [20 + rollout, 2])
    return Member(rollout, trajectory_of(found, **{"provenance": PROFILE, **report}))


def told(findings: Any) -> list[str]:
    return [finding.told() for finding in findings]


def test_a_whole_group_of_one_environment_and_policy_has_no_findings() -> None:
    assert check_group([member(0), member(1)], 2) == ((), 2)


def test_another_model_or_protocol_is_another_tokenizer() -> None:
    other = trajectory_from([provider(0, tokens(PROMPT, [30, 2]), model="writer")], provenance=PROFILE)
    assert told(check_same_tokenizer([member(0), Member(1, other)])) == [
        "the models that answered differs: coder in rollout 0, writer in rollout 1 [tokenizer]"
    ]
    (unknown,) = check_same_tokenizer([member(0, provenance=None), member(1, provenance=None)])
    assert (unknown.is_barring, "is not known" in unknown.text) == (False, True)


PINS: dict[str, tuple[dict[str, Any], str]] = {
    "spec": ({"spec_sha256": "1" * 64}, "spec_sha256"),
    "commit": ({"base_commit": "1" * 40}, "base_commit"),
    "config": ({"config_sha256": "1" * 64}, "config_sha256"),
    "sandbox": ({"sandbox_sha256": "1" * 64}, "sandbox_sha256"),
    "driver": ({"sandbox_driver": None}, "sandbox_driver"),
    "profile": ({"provenance": PROFILE.model_copy(update={"model_profile": "llama"})}, "provenance.model_profile"),
    "checkpoint": ({"provenance": PROFILE.model_copy(update={"checkpoint": "a@2"})}, "provenance.checkpoint"),
    "seed": ({"provenance": PROFILE.model_copy(update={"seed": 2})}, "provenance.seed"),
}


@pytest.mark.parametrize("what", PINS)
def test_a_member_with_another_pin_is_found_unless_that_is_allowed(what: str) -> None:
    report, field = PINS[what]
    members = [member(0), member(1), member(2, **report)]
    (finding,) = check_same_pins(members, 3)
    assert finding.text.startswith(f"{field} differs: ")
    assert finding.text.endswith(" in rollout 2")
    assert finding.is_barring
    assert list(check_same_pins(members, 3, [field.removeprefix("provenance.")])) == []


def test_rollouts_that_are_missing_or_there_twice_are_found() -> None:
    assert told(check_same_pins([member(0)], 2)) == ["the group has 1 rollouts, expected 2 [group]"]
    assert told(check_same_pins([member(1), member(1)], 2)) == ["rollout 1 stands 2 times in the group [group]"]


def test_a_pin_that_differs_is_found_behind_a_number_that_stands_twice() -> None:
    findings = told(check_same_pins([member(0), member(1, base_commit="1" * 40), member(1)], 3))
    assert len(findings) == 2
    assert findings[0].startswith("base_commit differs")


def test_the_same_ids_twice_are_a_remark() -> None:
    (finding,) = check_duplicates([member(0), member(1), Member(2, member(0).trajectory)])
    assert finding.told() == "rollouts 0 and 2 have the same token ids in every turn [duplicate]"
    assert not finding.is_barring
    # The same ids, cut elsewhere.
    split = trajectory_of(tokens([1], [10, 20, 2]))
    assert list(check_duplicates([Member(0, split), Member(1, trajectory_of(tokens(PROMPT, [20, 2])))])) == []


def test_only_members_with_tokens_a_reward_and_evidence_about_the_model_are_usable() -> None:
    members = [
        member(0),
        member(1, reward=None),
        member(2, fault_owner=Owner.HARNESS),
        Member(3, trajectory_of(None, provenance=PROFILE)),
        member(4, reward=0.0),
    ]
    assert check_group(members, 5).n_usable == 2


@pytest.mark.parametrize(
    "numbers, rescored, is_right",
    [
        ("fp32", [-1.0, -2.0], True),
        ("fp32", [-1.0009, -2.0], True),
        ("fp32", [-1.0011, -2.0], False),
        ("bf16", [-1.19, -2.0], True),
        ("bf16", [-1.21, -2.0], False),
        ("bf16", [-1.0, math.nan], False),
    ],
)
def test_logprobs_that_are_scored_again_agree_within_what_the_engines_numbers_allow(
    numbers: Any, rescored: list[float], is_right: bool
) -> None:
    findings = list(check_rescored([-1.0, -2.0, None], [*rescored, 9.0], [1, 1, 0], numbers))
    assert (findings == []) == is_right


def test_what_cannot_be_compared_is_told() -> None:
    (unknown,) = check_rescored([-1.0, None], [-1.0, -2.0], [1, 1], "fp32")
    assert unknown.text == "position 1: there are not two logprobs to compare"
    with pytest.raises(ValueError, match="have 1, 2 and 1 entries"):
        list(check_rescored([-1.0], [-1.0, -2.0], [1], "fp32"))
    (apart,) = check_rescored([-1.0, -2.0], [-1.0, -2.5], [1, 1], "fp32")
    assert apart.text.endswith("differ by 0.5 nats (max); 0.001 is allowed in fp32; most at position 1")
