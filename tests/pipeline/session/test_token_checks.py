"""The checks of a turn's tokens: one faulty turn each, and what is said of it."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError
from token_making import PLAIN, provider, tokens, trajectory_from, trajectory_of

from pipeline.records.exchange import ChatReply, FailedReply, Sampling, StatusError, Stop, TokenFields, TokenUsage
from pipeline.records.exchange import WeightSpan as Span
from pipeline.session.token_checks import EngineFacts, TokenCheck, check_turn
from pipeline.session.trajectory import load_trajectory

PROMPT, RESPONSE = [1, 10, 11], [20, 21, 2]
GOOD = tokens(PROMPT, RESPONSE)
TOO_LARGE = 2**31


def with_arrays(**arrays: Any) -> TokenFields:
    return tokens(PROMPT, RESPONSE, **arrays)


FAULTY: dict[str, tuple[TokenFields | None, TokenCheck, str]] = {
    "no tokens": (None, TokenCheck.ARRAYS, "the engine gave no token ids and no logprobs"),
    "no prompt": (tokens([], RESPONSE), TokenCheck.ARRAYS, "prompt_token_ids is empty"),
    "mask off by one": (
        with_arrays(response_mask=(1, 1)),
        TokenCheck.ARRAYS,
        "response_token_ids has 3, response_mask has 2, old_logprobs has 3",
    ),
    "logprobs off by one": (with_arrays(old_logprobs=(-1.0,) * 4), TokenCheck.ARRAYS, "old_logprobs has 4"),
    "negative id": (with_arrays(response_token_ids=(20, -1, -1)), TokenCheck.IDS, "response_token_ids holds -1"),
    "no int32": (tokens([1, TOO_LARGE], RESPONSE), TokenCheck.IDS, f"position 1: prompt_token_ids holds {TOO_LARGE}"),
    "mask of ids": (
        with_arrays(response_mask=(1, -100, -100)),
        TokenCheck.MASK,
        "position 1: response_mask holds -100",
    ),
    "empty mask": (with_arrays(response_mask=(0, 0, 0), old_logprobs=(None,) * 3), TokenCheck.MASK, "has no 1"),
    "no response": (tokens(PROMPT, []), TokenCheck.MASK, "no token of the response was sampled"),
    "null": (with_arrays(old_logprobs=(-1.0, None, None)), TokenCheck.LOGPROBS, "position 1: the logprob is null"),
    "sentinel": (with_arrays(old_logprobs=(-1.0, -1.0, -9999.0)), TokenCheck.LOGPROBS, "-9999.0 stands for minus"),
    "atropos": (with_arrays(old_logprobs=(1.0, -1.0, -1.0)), TokenCheck.LOGPROBS, "the logprob 1.0 is above 0"),
    "zero for null": (
        with_arrays(response_mask=(1, 0, 0), old_logprobs=(-1.0, 0.0, 0.0)),
        TokenCheck.LOGPROBS,
        "position 1: the logprob 0.0 stands where the mask is 0; expected null (and 1 more)",
    ),
}


@pytest.mark.parametrize("what", FAULTY)
def test_a_faulty_turn_is_not_trained_on_and_the_reason_names_turn_and_position(what: str) -> None:
    found, check, text = FAULTY[what]
    made = trajectory_of(GOOD, found)
    assert not made.trainable
    (reason,) = made.not_trainable_because
    assert reason.startswith("turn 1 (exchange 2), ")
    assert text in reason
    assert reason.endswith(f"[{check}]")


NEVER_KEPT: dict[str, tuple[TokenFields, TokenCheck, str]] = {
    "float id": (with_arrays(response_token_ids=(20.0, 21, 2)), TokenCheck.IDS, "response_token_ids holds 20.0"),
    "flag as id": (with_arrays(response_token_ids=(20, 21, True)), TokenCheck.IDS, "position 2: response_token_ids"),
    "nan": (with_arrays(old_logprobs=(math.nan, -1.0, -1.0)), TokenCheck.LOGPROBS, "the logprob nan is not finite"),
    "infinite": (with_arrays(old_logprobs=(-1.0, -math.inf, -1.0)), TokenCheck.LOGPROBS, "-inf is not finite"),
}
"""What an adapter may give, and no record takes."""


@pytest.mark.parametrize("what", NEVER_KEPT)
def test_what_no_capture_can_hold_is_found_before_it_is_kept(what: str) -> None:
    found, check, text = NEVER_KEPT[what]
    (finding,) = check_turn(provider(0, found))
    assert finding.check is check
    assert text in finding.text
    assert finding.is_barring


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_a_number_that_json_does_not_have_cannot_be_kept_in_a_capture(value: float) -> None:
    with pytest.raises(ValidationError, match="finite"):
        TokenFields(prompt_token_ids=(1,), response_token_ids=(2,), response_mask=(1,), old_logprobs=(value,))


def test_zero_is_a_legal_logprob_and_so_is_what_rounding_leaves_above_it() -> None:
    assert trajectory_of(with_arrays(old_logprobs=(0.0, 1e-7, -1.0))).trainable
    assert not trajectory_of(with_arrays(old_logprobs=(0.0, 1e-5, -1.0))).trainable


EXCHANGES: dict[str, tuple[dict[str, Any], TokenCheck, str]] = {
    "top_p": ({"sampling": PLAIN.model_copy(update={"top_p": 0.9})}, TokenCheck.MEANING, "sampled with top_p 0.9"),
    "top_k": ({"sampling": PLAIN.model_copy(update={"top_k": 40})}, TokenCheck.MEANING, "with top_k 40"),
    "min_p": ({"sampling": PLAIN.model_copy(update={"min_p": 0.05})}, TokenCheck.MEANING, "with min_p 0.05"),
    "temperature": ({"sampling": PLAIN.model_copy(update={"temperature": 0.7})}, TokenCheck.MEANING, "temperature 0.7"),
    "penalty": ({"sampling": PLAIN.model_copy(update={"repeat_penalty": 1.1})}, TokenCheck.MEANING, "penalty 1.1"),
    "gap": (
        {"weight_versions": (Span(version="a", start=0, end=1), Span(version="b", start=2, end=3))},
        TokenCheck.SPANS,
        "position 1: expected the next span of weights to begin there, found [2, 3)",
    ),
    "overlap": (
        {"weight_versions": (Span(version="a", start=0, end=2), Span(version="b", start=1, end=3))},
        TokenCheck.SPANS,
        "position 2: expected the next span",
    ),
    "late": ({"weight_versions": (Span(version="a", start=1, end=3),)}, TokenCheck.SPANS, "position 0: expected"),
    "short": ({"weight_versions": (Span(version="a", start=0, end=2),)}, TokenCheck.SPANS, "end at 2, the response"),
    "empty span": ({"weight_versions": (Span(version="a", start=0, end=0),)}, TokenCheck.SPANS, "found [0, 0)"),
    "back again": (
        {"weight_versions": tuple(Span(version=v, start=at, end=at + 1) for at, v in enumerate("aba"))},
        TokenCheck.SPANS,
        "position 2: the weights 'a' come back after others",
    ),
}


@pytest.mark.parametrize("what", EXCHANGES)
def test_an_exchange_that_does_not_say_which_policy_sampled_is_not_trained_on(what: str) -> None:
    fields, check, text = EXCHANGES[what]
    (reason,) = trajectory_from([provider(0, GOOD, **fields)]).not_trainable_because
    assert reason.startswith("turn 0 (exchange 0), ")
    assert text in reason
    assert reason.endswith(f"[{check}]")


REMARKS: dict[str, tuple[dict[str, Any], str]] = {
    "output count": ({"usage": TokenUsage(output_tokens=4)}, "counts 4 output tokens and gave 3 [usage]"),
    "input count": ({"usage": TokenUsage(input_tokens=7)}, "counts 7 input tokens and gave 3 [usage]"),
    "truncated": (
        {"response": provider(0, None).response.model_copy(update={"stop": Stop(reason="length")})},
        "the response was cut at the limit of its length [finish]",
    ),
    "all zeros": ({"tokens": with_arrays(old_logprobs=(0.0,) * 3)}, "every logprob is 0.0: the tokens were drawn"),
    "no mode": ({"logprobs_mode": None}, "whether the logprobs are raw or processed is not recorded"),
    "engine's defaults": (
        {"sampling": Sampling(temperature=1.0)},
        "the logprobs are raw, and top_p, top_k, min_p, repeat_penalty of the engine not recorded",
    ),
}


@pytest.mark.parametrize("what", REMARKS)
def test_what_a_trainer_should_know_is_a_remark(what: str) -> None:
    fields, text = REMARKS[what]
    made = trajectory_from([provider(0, GOOD, **fields)])
    (remark,) = made.turns[0].remarks
    assert text in remark
    assert made.trainable
    assert made.turns[0].is_truncated == (what == "truncated")


SOUND: list[dict[str, Any]] = [
    {"usage": TokenUsage(output_tokens=3, input_tokens=3)},
    {"usage": TokenUsage(output_tokens=3, input_tokens=1, cache_read_input_tokens=2)},
    {"logprobs_mode": "processed", "sampling": Sampling(temperature=0.7, top_p=0.9)},
    {"weight_versions": (Span(version="a", start=0, end=2), Span(version="b", start=2, end=3))},
    {"tokens": with_arrays(response_mask=(1, 0, 1), old_logprobs=(-1.0, None, 0.0))},
]


@pytest.mark.parametrize("fields", SOUND)
def test_a_sound_exchange_has_neither_reasons_nor_remarks(fields: dict[str, Any]) -> None:
    made = trajectory_from([provider(0, GOOD, **fields)])
    assert (made.trainable, made.turns[0].remarks) == (True, ())


def test_spans_of_one_version_are_joined() -> None:
    spans = tuple(Span(version=v, start=at, end=at + 1) for at, v in enumerate("aab"))
    made = trajectory_from([provider(0, GOOD, weight_versions=spans)])
    assert made.turns[0].weight_versions == (Span(version="a", start=0, end=2), Span(version="b", start=2, end=3))


def test_what_is_known_of_the_engine_is_checked() -> None:
    ends = EngineFacts(vocab_size=22, stop_ids=frozenset([2]))
    assert check_turn(provider(0, GOOD), ends) == []
    (small,) = check_turn(provider(0, GOOD), ends._replace(vocab_size=21))
    assert small.told() == "position 1: response_token_ids holds 21; an id is from 0 to 20 [token_ids]"
    cut = provider(0, tokens(PROMPT, [20, 21]))
    (odd,) = check_turn(cut, ends)
    assert "the last id is 21, which ends no response" in odd.text
    assert check_turn(cut, ends._replace(has_stop_strings=True)) == []


@pytest.mark.parametrize(
    "reply, text",
    [
        (ChatReply(failed=FailedReply(error="timeout", reason="")), "there is no reply (timeout), so"),
        (ChatReply(status_error=StatusError(status=429, body="")), "there is no reply (status 429), so"),
    ],
)
def test_a_request_that_failed_is_a_turn_without_tokens(reply: ChatReply, text: str) -> None:
    made = trajectory_from([provider(0, GOOD), provider(1, None, response=reply)])
    assert text in made.not_trainable_because[0]


NUMBERS = st.one_of(st.none(), st.floats(), st.sampled_from([0.0, -0.0, -9999.0, 1e-6, -1.0]))


@given(st.lists(st.tuples(st.integers(-1, 2), NUMBERS), max_size=6))
def test_nothing_but_finite_logprobs_of_sampled_tokens_and_null_elsewhere_is_trained_on(pairs: list[Any]) -> None:
    mask, logprobs = tuple(each for each, _ in pairs), tuple(each for _, each in pairs)
    found = tokens([1], [5] * len(pairs), response_mask=mask, old_logprobs=logprobs)
    barring = [finding for finding in check_turn(provider(0, found)) if finding.is_barring]
    is_right = 1 in mask and all(
        value is not None and math.isfinite(value) and -9998 < value <= 1e-6
        if is_sampled == 1
        else is_sampled == 0 and value is None
        for is_sampled, value in pairs
    )
    assert (barring == []) == is_right


def test_faulty_turns_can_be_kept_written_and_read() -> None:
    for what, (found, _, _) in FAULTY.items():
        made = trajectory_of(GOOD, found)
        assert load_trajectory(made.to_bytes()) == made, what
