"""Captures with tokens, made by hand: what an engine gives in each turn, and everything around it."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from typing import Any

from pipeline.records.agent_config import AgentConfig, AgentLimits
from pipeline.records.audit_content import TextPart, UnknownCost
from pipeline.records.capture import Capture, EndState, Exchange, ProviderExchange, ToolExchange
from pipeline.records.exchange import ChatMessage, ChatReply, ChatRequest, Sampling, Stop, TokenFields, TokenUsage
from pipeline.records.owners import Owner
from pipeline.records.report import Finding, Producer, Report
from pipeline.records.trajectory import Trajectory
from pipeline.session.trajectory import make_trajectory

SESSION = "01J0000000ABCDEFGHJKMNPQRS"
LOG = b'{"chock_log":1}\n\x00\xff not even a log'
PLAIN = Sampling(temperature=1.0, top_p=1.0, top_k=0, min_p=0.0, repeat_penalty=1.0)
"""Logprobs before and after it are the same."""


def tokens(prompt: Sequence[int], response: Sequence[int], **arrays: Any) -> TokenFields:
    """Tokens of a turn, all of them sampled; `arrays` stand in the place of those that would be made, unchecked."""
    made = {
        "prompt_token_ids": tuple(prompt),
        "response_token_ids": tuple(response),
        "response_mask": (1,) * len(response),
        "old_logprobs": tuple(-0.5 - at / 8 for at in range(len(response))),
    }
    return TokenFields.model_construct(None, **{**made, **arrays})


def provider(sequence: int, found: TokenFields | None, **fields: Any) -> ProviderExchange:
    """An exchange with a model that gave these tokens; `fields` stand in the place of the usual ones."""
    message = ChatMessage(role="assistant", content=(TextPart(text="Done."),))
    request = ChatRequest(model="coder", system="", messages=())
    made: dict[str, Any] = {
        "kind": "provider", "sequence": sequence, "request": request, "request_sha256": request.digest(),
        "response": ChatReply(message=message, stop=Stop(reason="stop")), "usage": TokenUsage(), "tokens": found,
        "sampling": PLAIN, "logprobs_mode": "raw", "weight_versions": (), "cost": UnknownCost(unknown=True),
        "price_table_version": "", "model": "coder", "request_id": "", "inference_ms": 1, "retried": (),
    }  # fmt: skip
    return ProviderExchange.model_construct(None, **{**made, **fields})


def tool(sequence: int) -> ToolExchange:
    return ToolExchange(
        sequence=sequence, call_id="c", tool="exec", arguments_sha256="a" * 64, result="ok", is_error=False,
        truncated=False, events=({"plan.update": {"big": 1e20, "small": 0.1}},),
    )  # fmt: skip


def capture_of(exchanges: Sequence[Exchange], session: str = SESSION) -> Capture:
    """A capture of these exchanges, whatever they hold."""
    return Capture.model_construct(
        None,
        session=session,
        spec_sha256="b" * 64,
        producer=Producer(name="assay", version="1"),
        prompt_sha256="c" * 64,
        config=AgentConfig(
            agent_kind="main",
            prompt="",
            tools=(),
            approvals={},
            provider={},
            limits=AgentLimits(max_turns=5, wall_clock_s=60, tool_timeout_s=5),
        ),
        sandbox_sha256="d" * 64,
        sandbox_driver="native",
        exchanges=tuple(exchanges),
        stopped=None,
        workspace=EndState(base_commit=None, end_tree="d" * 64, patch_base64=base64.b64encode(b"a patch")),
    )


def report_of(**fields: Any) -> Report:
    made: dict[str, Any] = {
        "name": "n", "session": SESSION, "spec_sha256": "b" * 64, "base_commit": "e" * 40, "config_sha256": None,
        "sandbox_sha256": None, "sandbox_driver": "native", "producer": Producer(name="assay", version="1"),
        "provenance": None, "passed": False, "score": 0.5, "reward": 0.5, "reward_components": {"tests": 0.5},
        "fault_owner": None,
        "findings": (
            Finding(name="test:a", category=Owner.TEST, passed=False, expected=0, actual=1, detail=""),
            Finding(name="test:b", category=Owner.TEST, passed=True, expected=0, actual=0, detail=""),
        ),
    }  # fmt: skip
    return Report(**{**made, **fields})


def trajectory_of(*turns: TokenFields | None, **fields: Any) -> Trajectory:
    """Of a session with these turns, a tool called after each; `fields` are the report's."""
    exchanges: list[Exchange] = []
    for found in turns:
        exchanges += [provider(len(exchanges), found), tool(len(exchanges) + 1)]
    return trajectory_from(exchanges, **fields)


def trajectory_from(exchanges: Sequence[Exchange], **fields: Any) -> Trajectory:
    return make_trajectory(LOG, capture_of(exchanges), report_of(**fields), version="1.2.3")
