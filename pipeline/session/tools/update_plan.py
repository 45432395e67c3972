"""`update_plan`: steps of the agent's plan, in the log."""

from __future__ import annotations

from typing import Literal

from pipeline.records.audit_turn import PlanStep, PlanUpdate
from pipeline.session.tools.tool import Arguments, Effects, Tool, ToolOutcome, ToolSetting


class PlannedStep(Arguments):
    """A step."""

    id: str
    subject: str
    status: Literal["pending", "in_progress", "done", "abandoned"] = "pending"


class PlanArguments(Arguments):
    """Steps that are new or changed."""

    steps: list[PlannedStep]
    """Merged by their ids."""


async def _act(_setting: ToolSetting, arguments: PlanArguments, effects: Effects) -> ToolOutcome:
    steps = tuple(PlanStep(id=step.id, subject=step.subject, status=step.status) for step in arguments.steps)
    effects.append(PlanUpdate(steps=steps))
    return ToolOutcome(f"{len(steps)} steps noted")


UPDATE_PLAN = Tool("update_plan", "Note steps of your plan that are new or changed.", PlanArguments, _act)
