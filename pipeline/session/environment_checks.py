"""Checks of what the session worked under: its configuration, what it was refused, its sandbox, the network."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

from pipeline.records.expectations import Expectations
from pipeline.records.owners import Owner
from pipeline.session.facts import SessionFacts
from pipeline.session.findings import Judged, SessionCheck, listed


def environment_checks(expect: Expectations) -> Iterator[SessionCheck]:
    """The checks that a spec asks for, in the order of the report."""
    if expect.config_sha256 is not None:
        wanted = expect.config_sha256
        yield SessionCheck(
            "config.sha256", Owner.POLICY, wanted, lambda facts: _judge_runs(wanted, facts.config_hashes)
        )
    if expect.require_no_refusals:
        yield SessionCheck("session.no_refusals", Owner.POLICY, 0, _judge_refusals)
    yield from _sandbox(expect)
    yield from _network(expect)


def _sandbox(expect: Expectations) -> Iterator[SessionCheck]:
    digest, driver = expect.sandbox_sha256, expect.sandbox_driver
    if digest is not None:
        pinned = digest
        yield SessionCheck(
            "sandbox.sha256", Owner.SANDBOX, pinned, lambda facts: _judge_runs(pinned, facts.sandbox_hashes)
        )
    if driver is not None:
        name = driver.value
        yield SessionCheck(
            "sandbox.driver", Owner.SANDBOX, name, lambda facts: _judge_runs(name, facts.sandbox_drivers)
        )


def _judge_runs(wanted: str, values: Sequence[str | None]) -> Judged:
    """Whether every run of the session worked under what was wanted; `actual` is that of the last."""
    if not values:
        return Judged(False, None, "the log has no session.config")
    others = [value for value in values if value != wanted]
    detail = ""
    if len(values) > 1:
        detail = f"runs of the session differ: {listed(str(value) for value in values)}"
    elif values[-1] is None:
        detail = "session.config does not tell"
    return Judged(not others, values[-1], detail)


def _judge_refusals(facts: SessionFacts) -> Judged:
    told = [f"{refusal.action or 'an action without a name'}: {refusal.decision}" for refusal in facts.refusals]
    if facts.unanswered_requests:
        told.append(f"without a decision: {facts.unanswered_requests:,}")
    count = facts.n_refusals + facts.unanswered_requests
    return Judged(count == 0, count, listed(told))


def _network(expect: Expectations) -> Iterator[SessionCheck]:
    for host in expect.forbidden_network_hosts:
        yield SessionCheck(f"network.forbidden_host:{host}", Owner.NETWORK, "not reached", partial(_judge_host, host))
    if expect.require_no_network:
        yield SessionCheck("network.none", Owner.NETWORK, "no network", _judge_no_network)


def _judge_host(host: str, facts: SessionFacts) -> Judged:
    if host in _reached(facts):
        return Judged(False, "reached")
    unknown = _uncounted(facts)
    if not unknown and facts.connections_granted and "network.connection" not in facts.events:
        unknown = f"{facts.connections_granted:,} connections are counted, and the log does not name their hosts"
    if unknown:
        return Judged(False, None, unknown)
    return Judged(True, "not reached", "it was asked for, and refused" if host in facts.refused_hosts else "")


def _judge_no_network(facts: SessionFacts) -> Judged:
    hosts = _reached(facts)
    if hosts:
        return Judged(False, "network used", f"reached {listed(hosts)}")
    if facts.connections_granted or facts.unnamed_network_uses:
        uses = f"{facts.connections_granted:,} connections, {facts.unnamed_network_uses:,} uses that name no host"
        return Judged(False, "network used", uses)
    unknown = _uncounted(facts)
    return Judged(False, None, unknown) if unknown else Judged(True, "no network")


def _reached(facts: SessionFacts) -> list[str]:
    """Hosts that the log names, without those that were refused every time."""
    refused = set(facts.refused_hosts)
    return [host for host in facts.hosts if host not in refused]


def _uncounted(facts: SessionFacts) -> str:
    """Why connections that the policy allows by itself, which have no event of their own, may have been made."""
    summaries, runs = facts.events.get("network.summary", 0), max(1, facts.runs)
    if summaries >= runs:
        return ""
    return f"{summaries:,} of {runs:,} runs have a network.summary, which counts their connections"
