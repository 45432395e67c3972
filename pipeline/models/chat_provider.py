"""A provider for OpenAI-compatible chat completions: OpenAI itself, vLLM, SGLang, and whoever speaks like them."""

from __future__ import annotations

from typing import Any

import orjson

from pipeline.models.chat_reply import first_choice, read_reply
from pipeline.models.chat_request import chat_body, count_calls, members_of
from pipeline.models.costs import Pricing
from pipeline.models.endpoint import Endpoint, Tries
from pipeline.models.redacted import Redactor
from pipeline.models.response_readers import ChatEvents, WholeBody
from pipeline.models.token_capture import capture
from pipeline.models.trouble import Trouble
from pipeline.records.exchange import ChatReply, ChatRequest, Completion, FailedReply, Sampling, TokenUsage
from pipeline.records.provider_profile import ProviderProfile

PATH = "/chat/completions"


class ChatProvider:
    """Asks one endpoint.

    Args:
        profile: what to ask for, and how.
        model: asked for where a request names none.
        endpoint: sends and receives.
        pricing: of the profile.
        redactor: takes secrets out of what is sent and of what comes back.
    """

    def __init__(
        self, profile: ProviderProfile, model: str, *, endpoint: Endpoint, pricing: Pricing, redactor: Redactor
    ) -> None:
        self._profile = profile
        self._model = model
        self._endpoint = endpoint
        self._pricing = pricing
        self._redactor = redactor
        self._always = members_of(profile)
        self._sampling = Sampling.model_validate(profile.sampling.model_dump())
        self._reader: type[ChatEvents] | type[WholeBody] = ChatEvents if profile.stream else WholeBody

    async def complete(self, request: ChatRequest) -> Completion:
        """One answer; see `Provider`."""
        tries = Tries()
        try:
            body = self._body(request)
            answer = await self._endpoint.ask(PATH, body, self._reader, tries)
            found = self._completion(answer, count_calls(request), tries)
        except Trouble as trouble:
            found = failed_completion(trouble.reply, request.model or self._model, tries, self._pricing)
        return self._redactor.completion(found)

    async def close(self) -> None:
        """Close the connections."""
        await self._endpoint.close()

    def _body(self, request: ChatRequest) -> bytes:
        model = request.model or self._model
        try:
            body = orjson.dumps(chat_body(request, model, self._always))
            if self._redactor.is_in_json(body):
                body = orjson.dumps(chat_body(self._redactor.request(request), model, self._always))
        except (ValueError, TypeError) as error:  # a part, or text, that cannot be sent
            raise Trouble(FailedReply(error="config", reason=str(error))) from None
        return body

    def _completion(self, answer: dict[str, Any], n_calls: int, tries: Tries) -> Completion:
        reply = read_reply(answer, n_calls)
        captured = capture(answer, first_choice(answer), self._profile)
        cost, table = self._pricing(reply.model or self._model, reply.usage)
        return Completion(
            reply=ChatReply(message=reply.message, stop=reply.stop),
            usage=reply.usage,
            cost=cost,
            price_table_version=table,
            tokens=captured.tokens,
            sampling=self._sampling,
            logprobs_mode=captured.mode,
            weight_versions=captured.spans,
            model=reply.model,
            request_id=reply.request_id,
            inference_ms=tries.inference_ms,
            retried=tuple(tries.retried),
        )


def failed_completion(reply: ChatReply, model: str, tries: Tries, pricing: Pricing) -> Completion:
    """An exchange without an answer; what it cost is not known, unless nothing costs anything."""
    cost, table = pricing(model, TokenUsage())
    return Completion(
        reply=reply,
        cost=cost,
        price_table_version=table,
        model=model,
        inference_ms=tries.inference_ms,
        retried=tuple(tries.retried),
    )
