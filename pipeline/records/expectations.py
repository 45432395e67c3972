"""What a session must show: the member `expect` of a spec."""

from __future__ import annotations

from enum import StrEnum

from pydantic import model_validator

from pipeline.records.digest import Sha256
from pipeline.records.spec_fields import (
    Amount,
    Count,
    Currency,
    DistinctItems,
    Flag,
    Host,
    Items,
    Name,
    RepositoryPath,
    SpecRecord,
    first_twice,
)
from pipeline.records.told import at_field


class SandboxDriver(StrEnum):
    """The isolations that a spec may name. None at all is a flag of the command line's alone."""

    NATIVE = "native"
    MICROVM = "microvm"


class PinnedFile(SpecRecord):
    """A file of the repository, to the byte."""

    path: RepositoryPath
    sha256: Sha256


class Expectations(SpecRecord):
    """One check for each field that is given; a null, an empty list and a false ask for nothing."""

    end_reason: Name | None = None
    """As `session.end` spells it; that list is open."""
    max_turns: Count | None = None
    """A turn is a message of the assistant's."""
    max_cost: Amount | None = None
    """In `currency`. A price that is not known is over every bound."""
    currency: Currency | None = None
    config_sha256: Sha256 | None = None
    """Of the agent's configuration, as `session.config` has it."""
    sandbox_sha256: Sha256 | None = None
    """Of the sandbox that was in effect, not of the file that asked for it."""
    sandbox_driver: SandboxDriver | None = None
    required_events: DistinctItems[Name] = ()
    """Wire names, such as `tool.call`."""
    forbidden_events: DistinctItems[Name] = ()
    forbidden_tools: DistinctItems[Name] = ()
    required_paths: DistinctItems[RepositoryPath] = ()
    forbidden_paths: DistinctItems[RepositoryPath] = ()
    files: Items[PinnedFile] = ()
    forbidden_network_hosts: DistinctItems[Host] = ()
    require_no_network: Flag = False
    require_no_refusals: Flag = False
    min_subagents: Count | None = None
    max_subagents: Count | None = None
    require_subagents_complete: Flag = False
    """Every child ended, with the outcome `finished`."""
    audit_sha256: Sha256 | None = None
    """Of the bytes of the log."""

    @model_validator(mode="after")
    def _cost_has_a_currency(self) -> Expectations:
        if self.max_cost is not None and self.currency is None:
            raise at_field("max_cost", "an amount needs the field currency beside it, such as USD")
        return self

    @model_validator(mode="after")
    def _bounds_are_in_order(self) -> Expectations:
        if None not in (bounds := (self.min_subagents, self.max_subagents)) and bounds[0] > bounds[1]:  # type: ignore[operator]
            raise at_field("min_subagents", f"it may not be above max_subagents, which is {bounds[1]}")
        return self

    @model_validator(mode="after")
    def _nothing_is_wanted_and_forbidden(self) -> Expectations:
        paths = [file.path for file in self.files]
        twice = first_twice(paths)
        if twice is not None:
            raise at_field("files", f"{twice!r} stands twice")
        for field, wanted, unwanted in (
            ("forbidden_events", self.required_events, self.forbidden_events),
            ("forbidden_paths", (*self.required_paths, *paths), self.forbidden_paths),
        ):
            both = sorted(set(wanted) & set(unwanted))
            if both:
                raise at_field(field, f"{both[0]!r} is required as well: no session could pass")
        return self
