"""Checks of one turn's tokens: whether its arrays are what a model sampled, and what they mean. Mends nothing."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from enum import StrEnum
from typing import NamedTuple

from pipeline.records.capture import ProviderExchange
from pipeline.records.exchange import Sampling, TokenFields, WeightSpan

LARGEST_ID = 2**31 - 1  # ids are int32 wherever they are stored
MAX_LOGPROB = 1e-6  # a probability is 1 at most; float32 may round a little above
LOWEST_LOGPROB = -9998.0  # engines write -9999 where they mean minus infinity


class TokenCheck(StrEnum):
    """What is looked at; the word in brackets behind each reason."""

    ARRAYS = "token_arrays"
    IDS = "token_ids"
    MASK = "response_mask"
    LOGPROBS = "logprobs"
    USAGE = "usage"
    PREFIX = "prefix"
    FINISH = "finish"
    MEANING = "logprob_meaning"
    ZEROS = "zero_logprobs"
    SPANS = "weight_spans"
    TOKENIZER = "tokenizer"
    GROUP = "group"
    DUPLICATE = "duplicate"
    RESCORE = "rescore"


class TokenFinding(NamedTuple):
    """Something that is wrong, or that a trainer should know."""

    check: TokenCheck
    text: str
    is_barring: bool = True
    """Whether nothing may be trained on it; else it is a remark."""

    def told(self) -> str:
        """For a person, with the check's name."""
        return f"{self.text} [{self.check}]"


class EngineFacts(NamedTuple):
    """What an adapter may know of its engine and a capture does not hold; None: not known, so not checked."""

    vocab_size: int | None = None
    stop_ids: frozenset[int] | None = None
    """Ids that end a response, end-of-text among them."""
    has_stop_strings: bool = False
    """Whether a text may end a response, after any id."""


NOTHING_KNOWN = EngineFacts()


def check_turn(exchange: ProviderExchange, facts: EngineFacts = NOTHING_KNOWN) -> list[TokenFinding]:
    """What is to be said of one exchange by itself: checks 1 to 5 and 7 to 10; empty: all is well.

    Args:
        exchange: with or without tokens.
        facts: of the engine.
    """
    tokens = exchange.tokens
    if tokens is None:
        return [TokenFinding(TokenCheck.ARRAYS, _why_no_tokens(exchange))]
    arrays = list(check_arrays(tokens))
    ids = list(check_ids(tokens, facts.vocab_size))
    if arrays:  # positions of arrays of different lengths mean nothing
        return [*arrays, *ids]
    mask = list(check_mask(tokens.response_mask))
    findings = [*ids, *mask, *check_usage(exchange, tokens), *check_finish(exchange, tokens, facts)]
    if not any(finding.is_barring for finding in mask):
        findings += check_logprobs(tokens.old_logprobs, tokens.response_mask)
        findings += check_zeros(tokens)
    return [
        *findings,
        *check_meaning(exchange.logprobs_mode, exchange.sampling),
        *check_spans(exchange.weight_versions, len(tokens.response_token_ids)),
    ]


def check_arrays(tokens: TokenFields) -> Iterator[TokenFinding]:
    """Check 1: a prompt, and three arrays of one entry a response token."""
    if not tokens.prompt_token_ids:
        yield TokenFinding(TokenCheck.ARRAYS, "prompt_token_ids is empty; a model is always given something")
    lengths = {
        "response_token_ids": len(tokens.response_token_ids),
        "response_mask": len(tokens.response_mask),
        "old_logprobs": len(tokens.old_logprobs),
    }
    if len(set(lengths.values())) > 1:
        told = ", ".join(f"{name} has {length:,}" for name, length in lengths.items())
        yield TokenFinding(TokenCheck.ARRAYS, f"the arrays differ in length: {told}")


def check_ids(tokens: TokenFields, vocab_size: int | None = None) -> Iterator[TokenFinding]:
    """Check 2: ids are whole numbers from 0 to below the vocabulary's size, and fit into an int32."""
    largest = LARGEST_ID if vocab_size is None else min(LARGEST_ID, vocab_size - 1)
    for name in ("prompt_token_ids", "response_token_ids"):
        ids: Sequence[object] = getattr(tokens, name)
        wrong = [at for at, found in enumerate(ids) if not _is_id(found, largest)]
        yield from _at_first(
            TokenCheck.IDS, wrong, f"{name} holds {ids[wrong[0]]!r}; an id is from 0 to {largest:,}" if wrong else ""
        )


def check_mask(mask: Sequence[int]) -> Iterator[TokenFinding]:
    """Check 3: only 0 and 1, and at least one 1: a turn in which nothing was sampled teaches nothing."""
    wrong = [at for at, found in enumerate(mask) if found not in (0, 1)]
    if wrong:
        yield from _at_first(TokenCheck.MASK, wrong, f"response_mask holds {mask[wrong[0]]!r}; expected 0 or 1")
    elif not any(mask):
        yield TokenFinding(TokenCheck.MASK, "no token of the response was sampled by the model: response_mask has no 1")


def check_logprobs(logprobs: Sequence[float | None], mask: Sequence[int]) -> Iterator[TokenFinding]:
    """Check 4: finite and at most 0 where the mask is 1; null where it is 0, for 0.0 would be a probability of 1."""
    pairs = list(zip(logprobs, mask, strict=True))
    sampled = [(at, value) for at, (value, is_sampled) in enumerate(pairs) if is_sampled]
    given = [(at, value) for at, value in sampled if value is not None]
    finite = [(at, value) for at, value in given if math.isfinite(value)]
    kinds = {
        "is null where the mask is 1": [at for at, value in sampled if value is None],
        "is not finite": [at for at, value in given if not math.isfinite(value)],
        "is above 0": [at for at, value in finite if value > MAX_LOGPROB],
        "stands for minus infinity": [at for at, value in finite if value <= LOWEST_LOGPROB],
        "stands where the mask is 0; expected null": [
            at for at, (value, is_sampled) in enumerate(pairs) if not is_sampled and value is not None
        ],
    }
    for what, wrong in kinds.items():
        text = f"the logprob {_shown(logprobs[wrong[0]])}{what}" if wrong else ""
        yield from _at_first(TokenCheck.LOGPROBS, wrong, text)


def check_usage(exchange: ProviderExchange, tokens: TokenFields) -> Iterator[TokenFinding]:
    """Check 5: the engine counts as many tokens as it gave. Tokens of tools and caches may be counted otherwise."""
    usage = exchange.usage
    n_response = len(tokens.response_token_ids)
    if usage.output_tokens not in (None, n_response):
        text = f"the engine counts {usage.output_tokens:,} output tokens and gave {n_response:,}"
        yield TokenFinding(TokenCheck.USAGE, text, is_barring=False)
    n_prompt = len(tokens.prompt_token_ids)
    if usage.input_tokens is None:
        return
    cached = (usage.cache_read_input_tokens or 0) + (usage.cache_creation_input_tokens or 0)
    if n_prompt not in (usage.input_tokens, usage.input_tokens + cached):
        text = f"the engine counts {usage.input_tokens:,} input tokens and gave {n_prompt:,}"
        yield TokenFinding(TokenCheck.USAGE, text, is_barring=False)


def check_finish(exchange: ProviderExchange, tokens: TokenFields, facts: EngineFacts) -> Iterator[TokenFinding]:
    """Check 7: whether the response was cut, and, where the ids that end one are known, whether it ends in one."""
    if is_truncated(exchange):
        yield TokenFinding(TokenCheck.FINISH, "the response was cut at the limit of its length", is_barring=False)
    stop = exchange.response.stop
    if stop is None or stop.reason != "stop" or facts.stop_ids is None or facts.has_stop_strings:
        return
    last = tokens.response_token_ids[-1] if tokens.response_token_ids else None
    if last not in facts.stop_ids:
        text = f"the model is said to have stopped, and the last id is {last}, which ends no response"
        yield TokenFinding(TokenCheck.FINISH, text, is_barring=False)


def is_truncated(exchange: ProviderExchange) -> bool:
    """Whether the model was stopped by the limit of its length."""
    stop = exchange.response.stop
    return stop is not None and stop.reason == "length"


def check_meaning(mode: str | None, sampling: Sampling) -> Iterator[TokenFinding]:
    """Check 8: logprobs are those of the policy that sampled; raw ones only at temperature 1, without samplers."""
    if mode is None:
        text = "whether the logprobs are raw or processed is not recorded"
        yield TokenFinding(TokenCheck.MEANING, text, is_barring=False)
    if mode != "raw":
        return
    changed = {
        "temperature": sampling.temperature is not None and sampling.temperature != 1,
        "top_p": sampling.top_p is not None and sampling.top_p < 1,
        "top_k": sampling.top_k is not None and sampling.top_k > 0,
        "min_p": sampling.min_p is not None and sampling.min_p > 0,
        "repeat_penalty": sampling.repeat_penalty is not None and sampling.repeat_penalty != 1,
    }
    told = ", ".join(f"{name} {getattr(sampling, name):g}" for name, is_changed in changed.items() if is_changed)
    if told:
        text = f"raw logprobs are not those of the policy that sampled with {told}"
        yield TokenFinding(TokenCheck.MEANING, text)
    unknown = [name for name in changed if getattr(sampling, name) is None]
    if unknown:
        text = f"the logprobs are raw, and {', '.join(unknown)} of the engine not recorded"
        yield TokenFinding(TokenCheck.MEANING, text, is_barring=False)


def check_zeros(tokens: TokenFields) -> Iterator[TokenFinding]:
    """Check 9: 0.0 is a legal logprob; when all are, tokens were forced, or 0.0 stands for what is not known."""
    pairs = zip(tokens.old_logprobs, tokens.response_mask, strict=True)
    if all(value == 0 for value, is_sampled in pairs if is_sampled):
        text = "every logprob is 0.0: the tokens were drawn greedily or forced, or nothing is known of them"
        yield TokenFinding(TokenCheck.ZEROS, text, is_barring=False)


def check_spans(spans: Sequence[WeightSpan], n_tokens: int) -> Iterator[TokenFinding]:
    """Check 10: spans tile the response in order, and no version comes back after another. None at all: not known."""
    if not spans:
        return
    end, seen = 0, list[str]()
    for span in spans:
        if span.start != end or span.end <= span.start:
            text = f"position {end}: expected the next span of weights to begin there, found [{span.start}, {span.end})"
            yield TokenFinding(TokenCheck.SPANS, text)
            return
        if span.version in seen[:-1]:
            text = f"position {span.start}: the weights {span.version!r} come back after others"
            yield TokenFinding(TokenCheck.SPANS, text)
            return
        end = span.end
        seen += [] if seen[-1:] == [span.version] else [span.version]
    if end != n_tokens:
        text = f"the spans of weights end at {end}, the response has {n_tokens:,} tokens"
        yield TokenFinding(TokenCheck.SPANS, text)


def _why_no_tokens(exchange: ProviderExchange) -> str:
    reply = exchange.response
    if reply.failed is not None:
        return f"there is no reply ({reply.failed.error}), so there are no tokens"
    if reply.status_error is not None:
        return f"there is no reply (status {reply.status_error.status}), so there are no tokens"
    return "the engine gave no token ids and no logprobs"


def _is_id(value: object, largest: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= largest


def _shown(value: float | None) -> str:
    return "" if value is None else f"{value} "


def _at_first(check: TokenCheck, positions: Sequence[int], text: str) -> Iterable[TokenFinding]:
    """One finding for all positions, which names the first."""
    if not positions:
        return []
    more = f" (and {len(positions) - 1:,} more)" if len(positions) > 1 else ""
    return [TokenFinding(check, f"position {positions[0]}: {text}{more}")]
