"""The role of a provider: it answers one request, and every failure is an answer too."""

from __future__ import annotations

from typing import Protocol

from pipeline.records.exchange import ChatRequest, Completion


class Provider(Protocol):
    """Answers requests to a model, many at the same time."""

    async def complete(self, request: ChatRequest) -> Completion:
        """One answer, after as many tries as the profile allows.

        What goes wrong with the provider is in `Completion.reply`; only `asyncio.CancelledError` is raised, and leaves
        neither a task nor a connection behind.
        """
        ...

    async def close(self) -> None:
        """Let go of connections and processes. May be called twice."""
        ...
