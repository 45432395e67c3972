"""The documented examples of a spec and of a suite, read as they stand."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml
from jsonschema import Draft202012Validator

from pipeline.formats.zon import parse_zon, write_zon
from pipeline.records.eval_spec import EvalSpec, PinnedFile, RewardWeights, TestCommand
from pipeline.records.json_schema import schema_of
from pipeline.records.provenance import Provenance
from pipeline.records.rl_suite import RlCase, RlSuite, Split
from pipeline.records.spec_file import parse_spec, parse_suite
from pipeline.session.spec_file import load_spec

SPECS = Path(__file__).resolve().parents[4] / "shared" / "vectors" / "specs"
DIGEST, OTHER_DIGEST = "0123456789abcdef" * 4, "abcdef0123456789" * 4

pytestmark = pytest.mark.skipif(not SPECS.is_dir(), reason=f"the documented examples are not at {SPECS}")


def test_the_spec_has_every_value_of_the_document() -> None:
    loaded = load_spec(SPECS / "eval-spec.zon", "run")
    spec = loaded.spec
    assert (spec.name, spec.provider, spec.model) == ("parser rejects empty input", "local", "coder")
    assert spec.task.startswith("Make the parser reject")
    assert loaded.fixture == SPECS / "fixtures" / "parser"
    assert loaded.capture == SPECS / "captures" / "parser.json"
    assert spec.base_commit == "refs/tags/eval-fixture-v1"
    assert spec.provenance == Provenance(
        model_profile="qwen3.5-4b",
        checkpoint="Qwen/Qwen3.5-4B",
        trainer="verl-grpo",
        seed=42,
        intervention="residual-stream personality vector, layer 20, strength 0.75",
        intervention_sha256=DIGEST,
    )
    assert spec.expect.model_dump(mode="json", exclude_unset=True) == {
        "end_reason": "finished",
        "max_turns": 8,
        "max_cost": 1.0,
        "currency": "USD",
        "config_sha256": DIGEST,
        "sandbox_sha256": OTHER_DIGEST,
        "sandbox_driver": "microvm",
        "required_events": ["tool.call", "usage"],
        "forbidden_tools": ["browser"],
        "required_paths": ["src/parser.zig"],
        "forbidden_paths": ["secrets.txt"],
        "files": [PinnedFile(path="src/parser.zig", sha256=DIGEST).model_dump()],
        "forbidden_network_hosts": ["example.invalid"],
        "require_no_network": True,
        "require_no_refusals": True,
        "min_subagents": 1,
        "max_subagents": 4,
        "require_subagents_complete": True,
    }
    assert spec.reward_weights == RewardWeights(
        model=1, harness=0, sandbox=1, fixture=2, policy=2, network=2, budget=0.5, tests=3
    )
    assert spec.tests == (TestCommand(name="unit", argv=("zig", "build", "test")),)


def test_the_suite_has_every_value_of_the_document() -> None:
    assert parse_suite((SPECS / "rl-suite.zon").read_bytes(), "rl-suite.zon") == RlSuite(
        name="parser policy train v1",
        output="rollouts/run-001",
        parallelism=8,
        cases=(
            RlCase(name="reject empty input", spec="parser.zon", split=Split.TRAIN, rollouts=8, group_size=8),
            RlCase(name="preserve comments", spec="comments.zon", split=Split.VALIDATION, rollouts=2, group_size=1),
        ),
    )


@pytest.mark.parametrize("name, read, model", [("eval-spec", parse_spec, EvalSpec), ("rl-suite", parse_suite, RlSuite)])
def test_each_is_the_same_however_it_is_written(name: str, read, model) -> None:
    text = (SPECS / f"{name}.zon").read_text(encoding="utf-8")
    spec = read(text.encode(), "a.zon")
    assert read(write_zon(parse_zon(text)).encode(), "a.zon") == spec
    plain = spec.model_dump(mode="json", by_alias=True)
    assert Draft202012Validator(schema_of(model)).is_valid(plain)
    assert read(yaml.safe_dump(plain).encode(), "a.yaml") == spec
    assert read(spec.model_dump_json(by_alias=True).encode(), "a.json") == spec
