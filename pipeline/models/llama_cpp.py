"""A provider for llama.cpp's server. It renders and tokenizes itself, so that the ids of every turn are known."""

from __future__ import annotations

import math
from pathlib import PurePath
from typing import Any

import orjson

from pipeline.models.chat_provider import failed_completion
from pipeline.models.chat_reply import MAX_TEXT_CHARS, too_long
from pipeline.models.chat_request import chat_messages, chat_tools, count_calls
from pipeline.models.costs import Pricing
from pipeline.models.endpoint import Endpoint, Tries
from pipeline.models.json_values import count_of, ids_of, logprob_of, name_of, object_of, objects_of, text_of
from pipeline.models.redacted import Redactor
from pipeline.models.response_readers import WholeBody
from pipeline.models.token_capture import LogprobsMode, sampled_tokens
from pipeline.models.tool_text import OPENING, read_calls, tell_tools
from pipeline.models.trouble import Trouble, not_an_answer
from pipeline.records.audit_content import TextPart, ToolUsePart
from pipeline.records.exchange import (
    ChatMessage,
    ChatReply,
    ChatRequest,
    Completion,
    FailedReply,
    Sampling,
    Stop,
    TokenUsage,
)
from pipeline.records.provider_profile import ProviderProfile

PLAIN = Sampling(temperature=1.0, top_p=1.0, top_k=0, min_p=0.0, repeat_penalty=1.0)
"""The whole distribution: the server's own samplers are on unless they are turned off."""


class LlamaCppProvider:
    """Asks one server, in three steps: template, tokens, completion.

    Args:
        profile: what to ask for, and how.
        model: what requests without a model are recorded with; the server has one.
        endpoint: sends and receives.
        pricing: of the profile.
        redactor: takes secrets out of what is sent and of what comes back.
    """

    def __init__(
        self, profile: ProviderProfile, model: str, *, endpoint: Endpoint, pricing: Pricing, redactor: Redactor
    ) -> None:
        self._model = model
        self._endpoint = endpoint
        self._pricing = pricing
        self._redactor = redactor
        self._sampling = PLAIN.model_copy(update=profile.sampling.model_dump(exclude_none=True))
        self._body = profile.body
        self._has_tools: bool | None = None
        """Whether the model's template renders tools, and calls in the form that is read here; None: not asked yet."""

    async def complete(self, request: ChatRequest) -> Completion:
        """One answer; see `Provider`."""
        tries = Tries()
        try:
            prompt = await self._prompt(self._redactor.request(request), tries)
            answer = await self._post("/completion", self._asked(prompt), tries)
            found = self._completion(answer, prompt, request, tries)
        except Trouble as trouble:
            found = failed_completion(trouble.reply, request.model or self._model, tries, self._pricing)
        return self._redactor.completion(found)

    async def close(self) -> None:
        """Close the connections."""
        await self._endpoint.close()

    async def _prompt(self, request: ChatRequest, tries: Tries) -> tuple[int, ...]:
        if request.tools and not await self._renders_tools(tries):
            request = tell_tools(request)
        try:
            asked: dict[str, Any] = {"messages": chat_messages(request)}
        except ValueError as error:
            raise Trouble(FailedReply(error="config", reason=str(error))) from None
        if request.tools:
            asked["tools"] = chat_tools(request.tools)
        rendered = await self._post("/apply-template", asked, tries)
        text = text_of(rendered.get("prompt"), "prompt")
        # The template has written what a tokenizer would add.
        asked = {"content": text, "parse_special": True, "add_special": False}
        ids = ids_of((await self._post("/tokenize", asked, tries)).get("tokens"))
        if not ids:
            raise not_an_answer("the server gave no token ids for the prompt")
        return ids

    async def _renders_tools(self, tries: Tries) -> bool:
        if self._has_tools is None:
            props = await self._endpoint.ask("/props", None, WholeBody, tries)
            able = object_of(props.get("chat_template_caps"), "chat_template_caps").get("supports_tools") is True
            self._has_tools = able and OPENING in text_of(props.get("chat_template"), "chat_template")
        return self._has_tools

    def _asked(self, prompt: tuple[int, ...]) -> dict[str, Any]:
        sampling = self._sampling.model_dump(exclude_none=True)
        if "max_tokens" in sampling:
            sampling["n_predict"] = sampling.pop("max_tokens")
        if sampling["top_k"] < 0:
            sampling["top_k"] = 0
        how = {"n_probs": 1, "return_tokens": True, "post_sampling_probs": True}
        return {**sampling, **how, "prompt": prompt, **self._body}

    async def _post(self, path: str, body: dict[str, Any], tries: Tries) -> dict[str, Any]:
        try:
            data = orjson.dumps(body)
        except (ValueError, TypeError) as error:
            raise Trouble(FailedReply(error="config", reason=str(error))) from None
        return await self._endpoint.ask(path, data, WholeBody, tries)

    def _completion(
        self, answer: dict[str, Any], prompt: tuple[int, ...], request: ChatRequest, tries: Tries
    ) -> Completion:
        if answer.get("content") is None:
            raise not_an_answer("the answer has no content")
        text = text_of(answer["content"], "content")
        if len(text) > MAX_TEXT_CHARS:
            raise too_long(len(text))
        plain = (TextPart(text=text),) if text else ()
        content = read_calls(text, count_calls(request)) if request.tools else plain
        message = ChatMessage(role="assistant", content=content)
        response = ids_of(answer.get("tokens"))
        logprobs, mode = _logprobs(answer)
        usage = TokenUsage(
            input_tokens=count_of(answer.get("tokens_evaluated")),
            output_tokens=count_of(answer.get("tokens_predicted")),
        )
        model = PurePath(name_of(answer.get("model"))).name or self._model
        cost, table = self._pricing(model, usage)
        return Completion(
            reply=ChatReply(message=message, stop=_stop(answer, message)),
            usage=usage,
            cost=cost,
            price_table_version=table,
            tokens=None if response is None else sampled_tokens(prompt, response, logprobs),
            sampling=self._sampling,
            logprobs_mode=mode,
            model=model,
            inference_ms=tries.inference_ms,
            retried=tuple(tries.retried),
        )


def _logprobs(answer: dict[str, Any]) -> tuple[tuple[float | None, ...], LogprobsMode | None]:
    """Of each token: of its probability after the samplers; raw ones from servers that do not know of these."""
    entries = objects_of(answer.get("completion_probabilities"), "completion_probabilities")
    if not entries:
        return (), None
    if any("prob" in entry for entry in entries):
        return tuple(_log(entry.get("prob")) for entry in entries), "processed"
    return tuple(logprob_of(entry.get("logprob")) for entry in entries), "raw"


def _log(prob: Any) -> float | None:
    """null where the probability is 0: what was drawn was possible, so that is a fault."""
    found = logprob_of(prob)
    return math.log(found) if found is not None and found > 0 else None


def _stop(answer: dict[str, Any], message: ChatMessage) -> Stop:
    if answer.get("stop_type") == "limit":
        return Stop(reason="length")
    has_calls = any(isinstance(part, ToolUsePart) for part in message.content)
    return Stop(reason="tool_calls" if has_calls else "stop")
