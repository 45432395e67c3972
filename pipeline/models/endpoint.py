"""One HTTP endpoint: requests that are limited, timed and sent again. Knows aiohttp, and no message."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Protocol, TypeVar

import aiohttp

from pipeline.formats.retry_after import retry_after_seconds
from pipeline.models.limiter import Limiter
from pipeline.models.redacted import Redactor
from pipeline.models.timing import Timing
from pipeline.models.trouble import Trouble, of_status
from pipeline.records.exchange import Attempt, ChatMessage, FailedReply, StatusError
from pipeline.records.provider_profile import ProviderProfile

ERROR_BYTES = 64 * 1024  # of an error's body are read
ERROR_CHARS = 4_096  # of them are kept
FIRST_PAUSE_S, MOST_PAUSE_S = 0.5, 30.0  # the pause before a try is a random part of this, which doubles each time
PATIENCE_S = 300.0  # an endpoint that asks for a longer pause is not asked again
TOO_MANY_REQUESTS = 429

T_co = TypeVar("T_co", covariant=True)
T = TypeVar("T")


class Reader(Protocol[T_co]):
    """Reads one response, from its first byte to its last."""

    async def read(self, response: aiohttp.ClientResponse) -> T_co:
        """The answer. Raises Trouble where it is none."""
        ...

    def partial(self) -> ChatMessage | None:
        """What was read when the connection was lost; None: nothing of use."""
        ...


class Tries:
    """What became of the requests for one answer."""

    def __init__(self) -> None:
        self.retried: list[Attempt] = []
        self.inference_ms = 0
        """Of the last one."""


class Endpoint:
    """Sends requests to one address.

    Args:
        profile: address, timeouts, limits.
        key: goes into the header `Authorization` and nowhere else; None: there is none.
        redactor: cleans what errors say.
        timing: clocks, waits and jitter.
    """

    def __init__(self, profile: ProviderProfile, key: str | None, redactor: Redactor, timing: Timing) -> None:
        self._base_url = profile.base_url or ""
        self._max_retries = profile.max_retries
        self._timeout = aiohttp.ClientTimeout(
            total=profile.total_timeout_s, sock_connect=profile.connect_timeout_s, sock_read=profile.idle_timeout_s
        )
        self._profile = profile
        self._headers = {"Content-Type": "application/json", "Accept-Encoding": "identity"}
        if key is not None:
            self._headers["Authorization"] = f"Bearer {key}"
        self._redactor = redactor
        self._timing = timing
        self._limiter = Limiter(profile, clock=timing.clock, sleep=timing.sleep)
        self._opened: aiohttp.ClientSession | None = None

    async def ask(self, path: str, body: bytes | None, reader: Callable[[], Reader[T]], tries: Tries) -> T:
        """The answer to a POST of JSON, or to a GET where there is no body, after as many tries as are allowed.

        Raises:
            Trouble: none came. `tries` tells what was tried.
        """
        clock = self._timing.clock
        while True:
            async with self._limiter:
                began = clock()
                try:
                    return await self._try(path, body, reader())
                except Trouble as trouble:
                    pause_s = self._pause_s(trouble, len(tries.retried))
                    if isinstance(trouble.what, StatusError) and trouble.what.status == TOO_MANY_REQUESTS:
                        asked_s = min(trouble.retry_after_s or 0.0, PATIENCE_S)
                        self._limiter.refuse(clock() - began, asked_s)
                    if pause_s is None:
                        raise
                    reason, what = trouble.reason, trouble.what
                finally:
                    tries.inference_ms = round((clock() - began) * 1000)
            status = what.status if isinstance(what, StatusError) else None
            tries.retried.append(Attempt(reason=reason, status=status, inference_ms=tries.inference_ms))
            await self._timing.sleep(pause_s)

    async def close(self) -> None:
        """Close all connections."""
        if self._opened is not None:
            await self._opened.close()
            self._opened = None

    def _session(self) -> aiohttp.ClientSession:
        """Made in the loop that asks. The limiter bounds the connections, so the pool does not."""
        if self._opened is None:
            self._opened = aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(limit=0),
                timeout=self._timeout,
                cookie_jar=aiohttp.DummyCookieJar(),
                headers=self._headers,
            )
        return self._opened

    async def _try(self, path: str, body: bytes | None, reader: Reader[T]) -> T:
        url = self._base_url + path
        ask = self._session().get if body is None else self._session().post
        has_begun = False
        try:
            # A redirect would carry the key to wherever it points.
            async with ask(url, data=body, allow_redirects=False) as response:
                if response.status != 200:
                    raise await self._status(response)
                has_begun = True
                return await reader.read(response)
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            raise self._lost(error, has_begun, reader.partial()) from None

    async def _status(self, response: aiohttp.ClientResponse) -> Trouble:
        if target := response.headers.get("Location"):
            said = f"redirects to {target}; redirects are not followed: write the address that serves as base_url"
        else:
            said = (await _beginning(response)).decode("utf-8", "replace")
        wait_s = None
        with contextlib.suppress(Exception):  # whatever stands there, it is no time
            wait_s = retry_after_seconds(response.headers["Retry-After"], self._timing.now())
        return of_status(response.status, self._redactor.text(said)[:ERROR_CHARS], wait_s)

    def _lost(self, error: Exception, has_begun: bool, partial: ChatMessage | None) -> Trouble:
        """What an error of the connection is for us."""
        profile = self._profile
        said = self._redactor.text(str(error) or type(error).__name__)[:ERROR_CHARS]
        if isinstance(error, aiohttp.ConnectionTimeoutError):
            reason = f"{self._base_url} took no connection within {profile.connect_timeout_s:g} s"
            return Trouble(FailedReply(error="connect", reason=reason), passes=True)
        if isinstance(error, TimeoutError):
            is_idle = isinstance(error, aiohttp.SocketTimeoutError)
            within = (
                f"no byte for {profile.idle_timeout_s:g} s" if is_idle else f"{profile.total_timeout_s:g} s are over"
            )
            reason = f"{self._base_url} did not answer in time: {within}"
            return Trouble(FailedReply(error="timeout", reason=reason, partial=partial))
        if isinstance(error, aiohttp.InvalidURL):
            return Trouble(FailedReply(error="config", reason=f"{self._base_url} is no address: {said}"))
        if isinstance(error, aiohttp.ClientResponseError):
            return Trouble(FailedReply(error="protocol", reason=f"{self._base_url} does not speak HTTP: {said}"))
        if has_begun:
            return Trouble(
                FailedReply(error="cut", reason=f"the answer ended early: {said}", partial=partial), passes=True
            )
        passes = not isinstance(error, aiohttp.ClientSSLError)
        return Trouble(
            FailedReply(error="connect", reason=f"{self._base_url} cannot be reached: {said}"), passes=passes
        )

    def _pause_s(self, trouble: Trouble, n_retried: int) -> float | None:
        """How long to wait before the next try; None: there is none."""
        if not trouble.passes or n_retried >= self._max_retries:
            return None
        jitter = self._timing.random()
        if trouble.retry_after_s is None:
            return jitter * min(MOST_PAUSE_S, FIRST_PAUSE_S * 2.0**n_retried)
        if trouble.retry_after_s > PATIENCE_S:
            return None
        # Never earlier than asked; a little later, each at another time.
        return trouble.retry_after_s + jitter * min(1.0, FIRST_PAUSE_S * 2.0**n_retried)


async def _beginning(response: aiohttp.ClientResponse) -> bytes:
    """The first bytes of a body; what follows is left unread, and its connection is not used again."""
    parts, size = [], 0
    async for part in response.content.iter_any():
        parts.append(part)
        size += len(part)
        if size >= ERROR_BYTES:
            response.close()
            break
    return b"".join(parts)[:ERROR_BYTES]
