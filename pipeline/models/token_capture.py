"""Token ids, log probabilities and weight versions of a chat completion, as vLLM and SGLang give them."""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

from pipeline.formats.whole_text import whole_text
from pipeline.models.json_values import count_of, ids_of, logprob_of
from pipeline.records.exchange import Sampling, TokenFields, WeightSpan
from pipeline.records.provider_profile import ProviderProfile

LogprobsMode = Literal["raw", "processed"]


class Captured(NamedTuple):
    """What an engine told beside the text."""

    tokens: TokenFields | None = None
    """None: ids of prompt or response are missing."""
    mode: LogprobsMode | None = None
    spans: tuple[WeightSpan, ...] = ()


def capture(body: dict[str, Any], choice: dict[str, Any], profile: ProviderProfile) -> Captured:
    """What a chat completion holds. Arrays of different lengths are kept: a later check shall see them."""
    if profile.kind not in ("vllm", "sglang"):
        return Captured()
    prompt = ids_of(_either(choice.get("prompt_token_ids"), body.get("prompt_token_ids")))
    response = ids_of(_either(choice.get("token_ids"), choice.get("response_token_ids")))
    spans = _spans(body, choice)
    if prompt is None or response is None:
        return Captured(spans=spans)
    logprobs = _logprobs(choice)
    mode = _mode(profile) if logprobs else None
    return Captured(sampled_tokens(prompt, response, logprobs), mode, spans)


def sampled_tokens(
    prompt: tuple[int, ...], response: tuple[int, ...], logprobs: tuple[float | None, ...]
) -> TokenFields:
    """The fields of a turn of which the model sampled every token."""
    return TokenFields(
        prompt_token_ids=prompt,
        response_token_ids=response,
        response_mask=(1,) * len(response),
        old_logprobs=logprobs,
    )


def _either(first: Any, second: Any) -> Any:
    return second if first is None else first


def _logprobs(choice: dict[str, Any]) -> tuple[float | None, ...]:
    found = choice.get("logprobs")
    content = found.get("content") if isinstance(found, dict) else None
    if not isinstance(content, list):
        return ()
    return tuple(logprob_of(each.get("logprob")) if isinstance(each, dict) else None for each in content)


def _mode(profile: ProviderProfile) -> LogprobsMode | None:
    """vLLM gives raw ones by itself. SGLang divides by the temperature and leaves the other samplers out: those are
    the processed ones where the samplers are known to be off.
    """
    if profile.logprobs_mode is not None or profile.kind == "vllm":
        return profile.logprobs_mode or "raw"
    return "processed" if _is_plain(profile.sampling) else None


def _is_plain(sampling: Sampling) -> bool:
    """Whether tokens are drawn from the whole distribution, at a temperature that is told."""
    return (
        bool(sampling.temperature)
        and sampling.top_p == 1
        and sampling.top_k in (-1, 0)
        and sampling.min_p in (None, 0)
        and sampling.repeat_penalty in (None, 1)
    )


def _spans(body: dict[str, Any], choice: dict[str, Any]) -> tuple[WeightSpan, ...]:
    metadata, inner = body.get("metadata"), choice.get("meta_info")
    places = (choice, inner, body, metadata)
    listed: list[Any] = next(
        (place["weight_versions"] for place in places if isinstance(place, dict) and _has(place)), []
    )
    spans = [_span(each) for each in listed]
    return tuple(span for span in spans if span is not None)


def _has(place: dict[str, Any]) -> bool:
    return isinstance(place.get("weight_versions"), list)


def _span(found: Any) -> WeightSpan | None:
    if isinstance(found, list) and len(found) == 3:
        found = dict(zip(("version", "start", "end"), found, strict=True))
    if not isinstance(found, dict):
        return None
    start, end = count_of(found.get("start")), count_of(found.get("end"))
    if start is None or end is None or found.get("version") is None:
        return None
    return WeightSpan(version=whole_text(str(found["version"])), start=start, end=end)
