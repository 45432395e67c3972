"""The spec of the page on evaluating a session, in rows and words of our own."""

from __future__ import annotations

import pytest

SPEC = """\
// What the session had to do, what it must show, and what that is worth.
.{{
    .schema = "chock.eval",
    .version = 1,
    .name = "a list without numbers is refused",
    .task = "A list without any numbers must be refused with exit status 2.",
    .fixture = "fixtures/sum",
    .provider = "local",
    .model = "coder",
    .base_commit = "refs/tags/v1",
    .capture = "captures/sum.json",
    .provenance = .{{
        .model_profile = "tiny-chat",
        .checkpoint = "tiny@7",
        .trainer = "grpo",
        .seed = 7,
        .intervention = "none but a vector of zeros, layer 3",
        .intervention_sha256 = "{zeros}",
    }},
    .expect = .{{
        .end_reason = "finished",
        .max_turns = 8,
        .max_cost = 1.0,
        .currency = "USD",
        .config_sha256 = "{config}",
        .sandbox_sha256 = "{sandbox}",
        .sandbox_driver = "native",
        .required_events = &.{{ "tool.call", "usage" }},
        .forbidden_events = &.{{"session.imported"}},
        .forbidden_tools = &.{{"browser"}},
        .required_paths = &.{{"src/sum.sh"}},
        .forbidden_paths = &.{{"secrets.txt"}},
        .files = &.{{
            .{{ .path = "src/sum.sh", .sha256 = "{solved}" }},
        }},
        .forbidden_network_hosts = &.{{"example.invalid"}},
        .require_no_network = true,
        .require_no_refusals = true,
        .min_subagents = 1,
        .max_subagents = 4,
        .require_subagents_complete = true,
        .audit_sha256 = "{log}",
    }},
    .reward_weights = .{{
        .model = 1,
        .harness = 0,
        .sandbox = 1,
        .fixture = 2,
        .policy = 2,
        .network = 2,
        .budget = 0.5,
        .tests = 3,
    }},
    .tests = &.{{
        .{{ .name = "unit", .argv = &.{{ "sh", "tests/unit.sh" }} }},
        .{{ .name = "empty", .argv = &.{{ "sh", "tests/empty.sh" }} }},
    }},
}}
"""


@pytest.fixture(scope="session")
def page() -> str:
    """The spec, to be filled in with `zeros`, `config`, `sandbox`, `solved` and `log`."""
    return SPEC
