"""Reports: what is written is read again, and what is wrong is named."""

from __future__ import annotations

import json
from typing import Any

import pytest

from pipeline.errors import InputError
from pipeline.records.report import load_report

REPORT: dict[str, Any] = {
    "schema": "chock.eval-report", "version": 1, "name": "parser", "session": "01J0000000ABCDEFGHJKMNPQRS",
    "spec_sha256": "a" * 64, "base_commit": "b" * 40, "config_sha256": None, "sandbox_sha256": "c" * 64,
    "sandbox_driver": "native", "producer": {"name": "assay", "version": "0.1.0"},
    "provenance": {"model_profile": None, "checkpoint": "x@1", "trainer": None, "seed": 42, "intervention": None,
                   "intervention_sha256": None},
    "passed": False, "score": 0.5, "reward": None, "reward_components": {"harness": 1.0, "tests": 0.0},
    "fault_owner": None,
    "findings": [
        {"name": "audit.chain", "category": "harness", "passed": True, "expected": "intact", "actual": "intact",
         "detail": ""},
        {"name": "test:unit", "category": "test", "passed": False, "expected": 0, "actual": 1, "detail": "exit 1"},
    ],
}  # fmt: skip


def read(body: object) -> Any:
    return load_report(json.dumps(body).encode(), "r.json")


def test_a_report_is_written_as_it_was_read() -> None:
    loaded = read(REPORT)
    written = loaded.report.to_bytes()
    assert json.loads(written) == REPORT
    assert written.endswith(b"\n")
    assert load_report(written, "again").report == loaded.report


@pytest.mark.parametrize("member", [name for name in REPORT if name not in ("schema", "version")])
def test_every_member_must_be_there(member: str) -> None:
    with pytest.raises(InputError, match=f"r.json: the field '{member}' is missing"):
        read({name: value for name, value in REPORT.items() if name != member})


@pytest.mark.parametrize(
    "changes, message",
    [
        ({"schema": "chock.eval"}, "schema is \"chock.eval\"; this assay reads schema 'chock.eval-report'"),
        ({"schema": None}, "the field 'schema' is missing"),
        ({"version": 2}, "version is 2; this assay reads version 1"),
        ({"version": True}, "version is true; this assay reads version 1"),
        ({"version": "1"}, 'version is "1"; this assay reads version 1'),
        ({"score": 1.5}, "score: found 1.5; input should be less than or equal to 1"),
        ({"score": -0.5}, "score: found -0.5; "),
        ({"score": "0.5"}, 'score: found "0.5"; input should be a valid number'),
        ({"score": True}, "score: found true; "),
        ({"score": None}, "score: found null; "),
        ({"passed": 1}, "passed: found 1; "),
        ({"reward_components": {"test": 1.0}}, "reward_components.test"),
        ({"reward_components": {"tests": 2.0}}, "reward_components.tests: found 2.0; "),
        ({"fault_owner": "model"}, 'fault_owner: found "model"; '),
        ({"spec_sha256": "A" * 64}, "spec_sha256: found "),
        ({"findings": None}, "findings: found null; "),
        ({"findings": [{**REPORT["findings"][0], "category": "judge"}]}, 'findings[0].category: found "judge"; '),
        ({"findings": [{**REPORT["findings"][0], "pased": True}]}, "unknown field 'findings[0].pased'; did you mean"),
        ({"findings": [REPORT["findings"][0], {"name": "x"}]}, "the field 'findings[1].category' is missing"),
        ({"provenance": {"intervention": "x"}}, "provenance: found "),
        ({"provenance": {"seeds": 1}}, "unknown field 'provenance.seeds'; did you mean 'seed'?"),
        ({"scores": 1}, "unknown field 'scores'; did you mean 'score'?"),
    ],
)
def test_a_field_that_is_wrong_is_named(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError) as caught:
        read({**REPORT, **changes})
    assert str(caught.value).startswith(f"r.json: {message}")


def test_a_score_that_is_no_number_is_refused() -> None:
    text = json.dumps(REPORT).replace('"score": 0.5', '"score": NaN')
    with pytest.raises(InputError, match="NaN is no JSON number"):
        load_report(text.encode(), "r.json")


@pytest.mark.parametrize("body", [[], None, "text", 1])
def test_what_is_no_object_is_no_report(body: object) -> None:
    with pytest.raises(InputError, match=r"expected an object with schema 'chock\.eval-report'"):
        read(body)
