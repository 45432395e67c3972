"""A session of the agent in the box, with a scripted model and everything else real."""

from __future__ import annotations

import itertools
import os
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from http.server import ThreadingHTTPServer
from pathlib import Path
from types import ModuleType
from typing import Any

import orjson
import pytest

from pipeline.models.open_provider import open_provider, redactor_of
from pipeline.models.profiles import find_profile
from pipeline.models.provider import Provider
from pipeline.records.agent_options import AgentFile
from pipeline.records.eval_spec import Limits
from pipeline.records.provider_profile import Prices
from pipeline.sandbox import Driver
from pipeline.session.audit_log import read_events, verify_log
from pipeline.session.configure import AgentChoice, agent_config
from pipeline.session.fold import examine_log
from pipeline.session.replay import replay_session
from pipeline.session.run import Outcome, Plan, World, run_session
from pipeline.store import Store


class Rehearsal:
    """A fixture, a store, and sessions that a script plays over them."""

    def __init__(self, folder: Path, honest: ModuleType) -> None:
        self.folder, self.honest = folder, honest
        self.fixture = folder / "fixture"
        self.commit = honest.make_fixture(self.fixture)
        self.store = Store(folder / "store")
        self.base_commit = "refs/tags/v1"
        self.numbers = itertools.count()

    def world(self) -> World:
        clock = itertools.count(1_796_000_000_000)
        return World("0.1.0", os.environ, lambda: next(clock), lambda: 0.0, os.urandom)

    @contextmanager
    def play(
        self,
        turns: Sequence[dict[str, Any]],
        *,
        task: str = "Mend the sum.",
        limits: Limits | None = None,
        file: dict[str, Any] | None = None,
        tools: Sequence[str] | None = None,
        network_hosts: tuple[str, ...] = (),
        world: World | None = None,
        environment: dict[str, str] | None = None,
        max_cost: float | None = None,
        spec_sha256: str | None = None,
        prices: Prices | None = None,
        provider: Provider | None = None,
    ) -> Iterator[Outcome]:
        """Run a session in which the model says these turns."""
        script = self.folder / f"script-{next(self.numbers)}.json"
        script.write_bytes(orjson.dumps(list(turns)))
        profile = find_profile("scripted", None, {}).model_copy(update={"prices": prices})
        given = environment or dict(os.environ)
        provider = provider or open_provider(profile, str(script), given)
        currency = None if max_cost is None else "USD"
        choice = AgentChoice(tools, limits or Limits(), max_cost, currency, bool(network_hosts))
        options = AgentFile.model_validate({"schema": "assay.agent-options", "version": 1, **(file or {})})
        config = agent_config(choice, options, profile, str(script))
        plan = Plan(
            task, self.fixture, self.base_commit, config, str(script), Driver.NATIVE, network_hosts, spec_sha256
        )
        redactor = redactor_of(profile, given)
        with run_session(plan, provider, self.store, world or self.world(), redactor) as outcome:
            yield outcome

    @contextmanager
    def replayed(
        self, outcome: Outcome, *, task: str = "Mend the sum.", world: World | None = None
    ) -> Iterator[Outcome]:
        """Replay a session that was played."""
        with replay_session(outcome.capture, task, self.fixture, self.store, world or self.world()) as again:
            yield again

    def events(self, outcome: Outcome) -> list[tuple[str, Any]]:
        assert verify_log(outcome.log).verdict == "intact"
        return [(event.name, event.raw) for event in read_events(outcome.log)]

    def results(self, outcome: Outcome) -> dict[str, tuple[bool, str]]:
        """Call id → whether it failed, and what the model was told."""
        return {
            raw["call_id"]: (raw["is_error"], raw["output"])
            for name, raw in self.events(outcome)
            if name == "tool.result"
        }

    def facts(self, outcome: Outcome) -> Any:
        return examine_log(outcome.log).facts


def call(tool: str, **arguments: Any) -> dict[str, Any]:
    return {"tool": tool, "arguments": arguments}


def turn(*calls: dict[str, Any], text: str = "", **more: Any) -> dict[str, Any]:
    return {**({"text": text} if text else {}), **({"tool_calls": list(calls)} if calls else {}), **more}


SOLVING = [
    turn(call("exec", command="cat src/sum.sh"), text="I look."),
    turn(call("read_file", path="tests/empty.sh"), call("spawn_agent", task="Say what the tests want.")),
    turn(text="They want exit status 2."),
    turn(
        call("edit_file", path="src/sum.sh", old="total=0", new='test -s "$1" || exit 2\ntotal=0'),
        call("update_plan", steps=[{"id": "1", "subject": "mend", "status": "done"}]),
        call("exec", command="sh tests/unit.sh && sh tests/empty.sh; rm -f list"),
    ),
    turn(call("finish", result="An empty list is refused now.")),
]


@pytest.fixture
def rehearsal(tmp_path: Path, honest: ModuleType) -> Rehearsal:
    return Rehearsal(tmp_path, honest)


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory, honest: ModuleType) -> Rehearsal:
    return Rehearsal(tmp_path_factory.mktemp("rehearsal"), honest)


@pytest.fixture(scope="session")
def turns() -> Callable[[], list[dict[str, Any]]]:
    return lambda: list(SOLVING)


@pytest.fixture(scope="session")
def make_turn() -> Callable[..., dict[str, Any]]:
    return turn


@pytest.fixture(scope="session")
def make_call() -> Callable[..., dict[str, Any]]:
    return call


@contextmanager
def serving(server: ThreadingHTTPServer) -> Iterator[None]:
    """Let a server answer in a thread of its own."""
    thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    try:
        yield
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


@pytest.fixture(scope="session")
def serve() -> Callable[[ThreadingHTTPServer], AbstractContextManager[None]]:
    return serving
