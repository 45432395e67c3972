"""What a log shows of its session, folded. Says what happened; whether that is well is for the checks."""

from __future__ import annotations

from pydantic import Field

from pipeline.records.base import Record


class Refusal(Record):
    """An action that was not let pass."""

    at: int
    """Id of the `approval.response`."""
    action: str
    """Empty: neither the decision nor its request names it."""
    decision: str


class Child(Record):
    """A session that this one started."""

    session: str
    agent_kind: str
    outcome: str | None
    """Of its `agent.complete`; null: there is none, the child was lost."""


class SessionFacts(Record):
    """What a log shows of its session. Null and empty mean that the log does not say, never that there was nothing."""

    session: str | None = None
    """Of the first event; null: there is none."""
    foreign_events: int = 0
    """Events that name another session. They are counted here, and nowhere else."""
    events: dict[str, int] = Field(default_factory=dict)
    """Events by name."""
    tools: dict[str, int] = Field(default_factory=dict)
    """Calls (`tool.call`) by tool."""

    turns: int = 0
    """Messages of the assistant."""
    end_reason: str | None = None
    """Of the last `session.end`; null: there is none."""
    ends: int = 0
    runs: int = 0
    """`session.config` events: one a run."""
    is_open: bool = False
    """Whether a run began after the last end, which then says nothing of it."""

    spend: dict[str, float] = Field(default_factory=dict)
    """Sum of the known costs by currency."""
    requests: int = 0
    """`usage` events: one a request to a provider, retries and compaction included."""
    priced_turns: int = 0
    free_turns: int = 0
    unpriced_turns: int = 0
    """Requests whose price is not known, or no price: with one of these the sum is a lower bound only."""

    refusals: tuple[Refusal, ...] = ()
    """The first of them."""
    n_refusals: int = 0
    unanswered_requests: int = 0
    """Actions that were put to somebody, without a decision."""

    children: tuple[Child, ...] = ()
    """One for each `session.spawn`, in order."""
    stray_completions: int = 0
    """`agent.complete` events of children that no `session.spawn` names."""

    hosts: tuple[str, ...] = ()
    """Every host that the log names: in network actions, in calls of `fetch_url`, in `network.connection`. Sorted."""
    refused_hosts: tuple[str, ...] = ()
    """Those of them of which the log holds refusals and no grant."""
    unnamed_network_uses: int = 0
    """Network actions and calls of `fetch_url` that name no host."""
    connections_granted: int = 0
    """Of all `network.summary` events."""
    connections_refused: int = 0

    config_hashes: tuple[str | None, ...] = ()
    """Of all runs, each once, in order; null: a run without a configuration."""
    sandbox_hashes: tuple[str | None, ...] = ()
    sandbox_drivers: tuple[str | None, ...] = ()
    base_commits: tuple[str, ...] = ()
    """Of all `workspace.open` events; empty text: a project without git."""

    @property
    def config_hash(self) -> str | None:
        """Of the last run. Compare `config_hashes` where no run may differ."""
        return self.config_hashes[-1] if self.config_hashes else None

    @property
    def sandbox_hash(self) -> str | None:
        """Of the last run."""
        return self.sandbox_hashes[-1] if self.sandbox_hashes else None

    @property
    def sandbox_driver(self) -> str | None:
        """Of the last run."""
        return self.sandbox_drivers[-1] if self.sandbox_drivers else None

    @property
    def base_commit(self) -> str | None:
        """Of the last workspace; null: none was opened."""
        return self.base_commits[-1] if self.base_commits else None

    @property
    def lost_children(self) -> int:
        """Children without an `agent.complete`."""
        return sum(child.outcome is None for child in self.children)
