"""The spec of a session (`chock.eval` version 1): its task, what it must show, and what that is worth."""

from __future__ import annotations

from typing import ClassVar, Literal

from pydantic import Field, model_validator

from pipeline.records.digest import Sha256
from pipeline.records.expectations import Expectations, PinnedFile, SandboxDriver
from pipeline.records.provenance import Provenance
from pipeline.records.spec_fields import (
    Amount,
    Argument,
    DistinctItems,
    Host,
    Items,
    Name,
    Positive,
    RepositoryPath,
    Revision,
    Seconds,
    SpecRecord,
    Text,
    first_twice,
)
from pipeline.records.told import at_field

__all__ = [
    "EvalSpec",
    "Expectations",
    "Limits",
    "PinnedFile",
    "Provenance",
    "RewardWeights",
    "SandboxChoice",
    "SandboxDriver",
    "TestCommand",
]


class RewardWeights(SpecRecord):
    """The weights of the reward's components. Zero: shown, and without effect on the reward."""

    model: Amount = 1.0
    harness: Amount = 0.0
    """What the harness does wrong is not the model's doing."""
    sandbox: Amount = 1.0
    fixture: Amount = 1.0
    policy: Amount = 1.0
    network: Amount = 1.0
    budget: Amount = 1.0
    tests: Amount = 1.0
    """Of findings of the category `test`."""


class TestCommand(SpecRecord):
    """A command that is run in the repository; it passes if it exits with 0."""

    __test__: ClassVar[bool] = False  # for pytest, which takes it for tests by its name

    name: Name
    argv: Items[Argument]
    """The program and its arguments; no shell reads them."""

    @model_validator(mode="after")
    def _has_a_program(self) -> TestCommand:
        if not self.argv or not self.argv[0]:
            raise at_field("argv", "expected a list that begins with a program, such as make or python")
        return self


class Limits(SpecRecord):
    """When a session, a tool or a test is stopped."""

    max_turns: Positive = 50
    wall_clock_s: Seconds = 1800.0
    tool_timeout_s: Seconds = 120.0
    test_timeout_s: Seconds = 600.0


class SandboxChoice(SpecRecord):
    """How the session is isolated."""

    driver: SandboxDriver | None = None
    """None: what `expect.sandbox_driver` names, else native."""
    network_hosts: DistinctItems[Host] = ()
    """The hosts that may be reached; none: no network."""


class EvalSpec(SpecRecord):
    """One case of an evaluation. Paths of `fixture` and `capture` are relative to the spec's folder."""

    schema_: Literal["chock.eval"] = Field("chock.eval", alias="schema")
    version: Literal[1] = 1
    name: Name
    task: Text
    """What the agent is told."""
    fixture: Text
    """The folder of the repository."""
    provider: Name | None = None
    """The name of a provider profile; only a run needs it."""
    model: Name | None = None
    base_commit: Revision = "HEAD"
    """Resolved to a full object id before anything else."""
    capture: Text | None = None
    """The file of the recorded exchanges; only a replay needs it."""
    capture_sha256: Sha256 | None = None
    """Of that file's bytes."""
    provenance: Provenance | None = None
    expect: Expectations = Expectations()
    reward_weights: RewardWeights = RewardWeights()
    tests: Items[TestCommand] = ()
    tools: DistinctItems[Name] | None = None
    """The tools that the agent is given; None: all that there are."""
    limits: Limits = Limits()
    sandbox: SandboxChoice | None = None
    test_files: DistinctItems[RepositoryPath] = ()
    """Globs of the files that the tests find as they were at `base_commit`; empty: the agent's are used."""

    @model_validator(mode="after")
    def _tests_have_names_of_their_own(self) -> EvalSpec:
        twice = first_twice([test.name for test in self.tests])
        if twice is not None:
            raise at_field("tests", f"the name {twice!r} stands twice")
        return self

    @model_validator(mode="after")
    def _a_pinned_capture_has_a_file(self) -> EvalSpec:
        if self.capture_sha256 is not None and self.capture is None:
            raise at_field("capture_sha256", "it pins the file that the field capture names, which is missing")
        return self
