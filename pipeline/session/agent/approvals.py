"""Which actions an agent may take. A table decides; nobody is asked, and what the agent forbids itself narrows it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from pipeline.records.audit_names import Ceiling, Decision
from pipeline.records.audit_turn import PolicySelf

Rule = Literal["allow", "deny"]


class Approvals:
    """The table of one session.

    Args:
        rules: action → decision. `net.fetch` also means `net.fetch.org.example`; the longest that fits decides, and
            what none fits is allowed.
    """

    def __init__(self, rules: Mapping[str, Rule]) -> None:
        self._rules = dict(rules)
        self._given_up: set[str] = set()

    def decide(self, action: str) -> Decision:
        """Whether an action is allowed."""
        steps = action.split(".")
        names = [".".join(steps[:length]) for length in range(len(steps), 0, -1)]
        if self._is_given_up(action):
            return Decision.DENIED_BY_POLICY
        rule = next((self._rules[name] for name in names if name in self._rules), "allow")
        return Decision.ALLOWED_BY_POLICY if rule == "allow" else Decision.DENIED_BY_POLICY

    def restrict(self, event: PolicySelf) -> None:
        """Take an action from the agent. What would need to be asked for is denied: there is nobody to ask."""
        self._given_up |= {each.action for each in event.restrictions if each.ceiling != Ceiling.ALLOW}

    def rules(self) -> dict[str, Rule]:
        """The table as a helper gets it: what this agent has forbidden itself, no rule allows again."""
        kept = {action: rule for action, rule in self._rules.items() if not self._is_given_up(action)}
        return {**kept, **dict.fromkeys(sorted(self._given_up), "deny")}

    def _is_given_up(self, action: str) -> bool:
        return any(action == each or action.startswith(f"{each}.") for each in self._given_up)
