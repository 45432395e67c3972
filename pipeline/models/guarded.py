"""A provider that keeps the promises of its role, around one of the user's that may not."""

from __future__ import annotations

from pipeline.formats.whole_text import with_whole_text
from pipeline.models.provider import Provider
from pipeline.models.redacted import Redactor
from pipeline.records.exchange import ChatReply, ChatRequest, Completion, FailedReply


class GuardedProvider:
    """Makes answers of what a provider raises, and takes secrets and halves of characters out of its answers.

    Args:
        inner: the provider.
        redactor: takes secrets out.
    """

    def __init__(self, inner: Provider, redactor: Redactor) -> None:
        self.inner = inner
        self._redactor = redactor

    async def complete(self, request: ChatRequest) -> Completion:
        """The answer, or a failure of kind `protocol` where it raised, or gave something else."""
        try:
            completion = await self.inner.complete(request)
        except Exception as error:  # noqa: BLE001 - a class of the user's may raise anything
            return self._redactor.completion(_failed(f"the provider raised {type(error).__name__}: {error}"))
        if not isinstance(completion, Completion):
            return _failed(f"the provider gave a {type(completion).__name__}; expected a Completion")
        return self._redactor.completion(_whole(completion))

    async def close(self) -> None:
        """Close the provider."""
        await self.inner.close()


def _failed(reason: str) -> Completion:
    return _whole(Completion(reply=ChatReply(failed=FailedReply(error="protocol", reason=reason))))


def _whole(completion: Completion) -> Completion:
    try:
        completion.model_dump_json()
    except ValueError:
        return Completion.model_validate(with_whole_text(completion.model_dump()))
    return completion
