"""Token ids, log probabilities and weight versions, in the forms of vLLM and SGLang."""

from __future__ import annotations

from typing import Any

import pytest

from pipeline.records.exchange import TokenFields, WeightSpan

PLAIN = {"temperature": 1.0, "top_p": 1.0, "top_k": -1}


def logprobs(*values: Any) -> dict[str, Any]:
    return {"content": [{"token": "x", "logprob": value, "bytes": None, "top_logprobs": []} for value in values]}


def vllm(kit: Any, **choice: Any) -> dict[str, Any]:
    body = kit.chat("Hi", prompt_token_ids=[1, 2, 3])
    body["choices"][0] |= {"token_ids": [7, 8], "logprobs": logprobs(-0.5, -0.0), **choice}
    return body


def test_vllm_is_asked_for_ids_and_gives_all_four_arrays(kit: Any) -> None:
    completion, server = kit.exchange(kit.answers(vllm(kit)), kind="vllm")
    asked = server.seen[0].body
    assert (asked["return_token_ids"], asked["logprobs"], asked["top_logprobs"]) == (True, True, 0)
    assert completion.tokens == TokenFields(
        prompt_token_ids=(1, 2, 3), response_token_ids=(7, 8), response_mask=(1, 1), old_logprobs=(-0.5, 0.0)
    )
    assert completion.logprobs_mode == "raw"


def test_vllm_streams_the_prompt_first_and_the_rest_piece_by_piece(kit: Any) -> None:
    def chunk(finish: str | None, ids: list[int], *values: float, **delta: Any) -> dict[str, Any]:
        event = kit.delta(finish, **delta)
        event["choices"][0] |= {"token_ids": ids, "logprobs": logprobs(*values)}
        return event

    first = {**kit.delta(role="assistant", content=""), "prompt_token_ids": [1, 2, 3]}
    events = [first, chunk(None, [7], -0.5, content="H"), chunk("stop", [8, 2], -1.5, -0.25, content="i")]
    completion, server = kit.exchange(kit.streams(*events, "data: [DONE]\n\n"), kind="vllm", stream=True)
    assert server.seen[0].body["stream"] is True
    assert completion.tokens == TokenFields(
        prompt_token_ids=(1, 2, 3), response_token_ids=(7, 8, 2), response_mask=(1, 1, 1),
        old_logprobs=(-0.5, -1.5, -0.25),
    )  # fmt: skip


def test_the_profile_tells_what_the_engine_was_started_with(kit: Any) -> None:
    completion, _ = kit.exchange(kit.answers(vllm(kit)), kind="vllm", logprobs_mode="processed")
    assert completion.logprobs_mode == "processed"


def test_arrays_of_different_lengths_are_kept_as_they_are(kit: Any) -> None:
    tokens = kit.exchange(kit.answers(vllm(kit, token_ids=[7, 8, 9])), kind="vllm")[0].tokens
    assert (tokens.response_token_ids, tokens.old_logprobs) == ((7, 8, 9), (-0.5, 0.0))
    assert tokens.response_mask == (1, 1, 1)


def test_numbers_that_are_not_finite_are_null_and_others_stay(kit: Any) -> None:
    body = kit.chat("Hi", prompt_token_ids=[1])
    body["choices"][0] |= {"token_ids": [1, 2, 3, 4, 5, 6]}
    body["choices"][0]["logprobs"] = logprobs(float("nan"), float("-inf"), None, "x", -9999.0, 10**400)
    completion, _ = kit.exchange(kit.answers(body), kind="vllm")
    assert completion.tokens.old_logprobs == (None, None, None, None, -9999.0, None)


@pytest.mark.parametrize("ids", [None, "7,8", [7.0], [True], [[7]]])
def test_ids_that_are_none_are_not_made_up(ids: Any, kit: Any) -> None:
    completion, _ = kit.exchange(kit.answers(vllm(kit, token_ids=ids)), kind="vllm")
    assert (completion.tokens, completion.logprobs_mode) == (None, None)
    assert completion.reply.message is not None


def test_ids_without_log_probabilities_say_no_mode(kit: Any) -> None:
    completion, _ = kit.exchange(kit.answers(vllm(kit, logprobs=None)), kind="vllm")
    assert (completion.tokens.old_logprobs, completion.logprobs_mode) == ((), None)


def test_other_endpoints_are_not_asked_for_ids(kit: Any) -> None:
    completion, server = kit.exchange(kit.answers(vllm(kit)))
    assert "return_token_ids" not in server.seen[0].body
    assert completion.tokens is None


def sglang(kit: Any) -> dict[str, Any]:
    versions = [{"version": "step-1", "start": 0, "end": 1}, {"version": "step-2", "start": 1, "end": 2}]
    body = kit.chat("Hi", metadata={"weight_version": "step-2", "weight_versions": versions})
    ids = {"prompt_token_ids": [1, 2], "response_token_ids": [7, 8]}
    body["choices"][0] |= {**ids, "logprobs": logprobs(-0.5, -1.0), "matched_stop": 2}
    return body


def test_sglang_gives_ids_in_its_choice_and_versions_of_the_weights(kit: Any) -> None:
    completion, server = kit.exchange(kit.answers(sglang(kit)), kind="sglang", sampling=PLAIN)
    assert server.seen[0].body["return_token_ids"] is True
    assert completion.tokens == TokenFields(
        prompt_token_ids=(1, 2), response_token_ids=(7, 8), response_mask=(1, 1), old_logprobs=(-0.5, -1.0)
    )
    assert completion.weight_versions == (
        WeightSpan(version="step-1", start=0, end=1),
        WeightSpan(version="step-2", start=1, end=2),
    )
    assert completion.logprobs_mode == "processed"


@pytest.mark.parametrize("sampling", [{}, PLAIN | {"top_p": 0.9}, PLAIN | {"temperature": 0.0}, {"temperature": 1.0}])
def test_sglangs_mode_is_not_known_unless_the_samplers_are_known_to_be_off(sampling: Any, kit: Any) -> None:
    completion, _ = kit.exchange(kit.answers(sglang(kit)), kind="sglang", sampling=sampling)
    assert completion.logprobs_mode is None


@pytest.mark.parametrize("versions", [None, "x", [3], [{"version": "a"}], [{"version": "a", "start": -1, "end": 2}]])
def test_versions_that_are_none_are_left_out(versions: Any, kit: Any) -> None:
    body = sglang(kit)
    body["metadata"]["weight_versions"] = versions
    assert kit.exchange(kit.answers(body), kind="sglang")[0].weight_versions == ()
