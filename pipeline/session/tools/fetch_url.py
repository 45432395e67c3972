"""`fetch_url`: a page of a host that was granted, fetched from inside the sandbox through its proxy."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from urllib.parse import urlsplit

from pipeline.session.hosts import normal_host
from pipeline.session.tools.in_sandbox import run_in_sandbox
from pipeline.session.tools.tool import Arguments, Effects, Tool, ToolOutcome, ToolSetting, cut, failed

MAX_BYTES = 2 * 2**20
MAX_CHARACTERS = 32_000  # as the model gets it

_FETCH = """
import sys, urllib.request
with urllib.request.urlopen(sys.argv[1], timeout=60) as page:
    sys.stdout.buffer.write(page.read(int(sys.argv[2])))
"""


class FetchArguments(Arguments):
    """A page."""

    url: str
    """http or https."""


def _host(url: str) -> str:
    try:
        parts = urlsplit(url)
        return normal_host(parts.hostname or "") if parts.scheme in ("http", "https") else ""
    except ValueError:
        return ""


def _actions(arguments: FetchArguments) -> Sequence[str]:
    return (".".join(["net.fetch", *reversed(_host(arguments.url).split("."))]).rstrip("."),)


async def _act(setting: ToolSetting, arguments: FetchArguments, effects: Effects) -> ToolOutcome:
    host = _host(arguments.url)
    if not host:
        return failed(f"{arguments.url!r} is no address that can be fetched; expected one such as https://example.org/")
    if not setting.network_hosts:
        effects.connected(host, 0, 1)
        return failed(f"{host} cannot be reached: no host was granted")
    with TemporaryDirectory(prefix="assay-fetch-") as empty:
        argv = ("python3", "-c", _FETCH, arguments.url, str(MAX_BYTES))
        outcome = await run_in_sandbox(setting, effects, argv, Path(empty), max_output_bytes=MAX_BYTES)
    if isinstance(outcome, str):
        return failed(outcome)
    text, is_cut = cut(outcome.text, MAX_CHARACTERS)
    if not outcome.is_success:
        return failed(f"{arguments.url} could not be fetched: {text.strip().splitlines()[-1:] or outcome.reason}")
    return ToolOutcome(text, truncated=is_cut or outcome.is_cut)


FETCH_URL = Tool("fetch_url", "Fetch a page of a host that was granted.", FetchArguments, _act, _actions)
