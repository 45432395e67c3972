"""The JSON Schemas of the formats: generated from the models, and kept beside them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, ClassVar

import pytest
from jsonschema import Draft202012Validator

from pipeline.errors import InputError
from pipeline.records import json_schema
from pipeline.records.base import Document
from pipeline.records.comparison import ComparedReport, Comparison
from pipeline.records.digest import Sha256
from pipeline.records.eval_spec import EvalSpec
from pipeline.records.json_schema import FORMATS, schema_files, schema_of
from pipeline.records.owners import Owner
from pipeline.records.report import Finding, Producer, Report
from pipeline.records.rl_suite import RlSuite
from pipeline.records.spec_file import parse_spec, parse_suite

FOLDER = Path(json_schema.__file__).parent / "schemas"
SHA = "0123456789abcdef" * 4

SPEC: dict[str, Any] = {
    "schema": "chock.eval",
    "version": 1,
    "name": "n",
    "task": "t",
    "fixture": "f",
    "provenance": {"seed": 1},
    "expect": {"max_cost": 1.5, "currency": "EUR", "files": [{"path": "a", "sha256": SHA}], "end_reason": None},
    "tests": [{"name": "unit", "argv": ["make", ""]}],
    "sandbox": {"driver": "native"},
}
SUITE: dict[str, Any] = {
    "schema": "chock.rl-suite",
    "version": 1,
    "name": "n",
    "cases": [{"name": "a", "spec": "a.zon", "split": "test", "rollouts": 2, "group_size": 1}],
}


class Written(Document):
    """What is written, and bound by nothing."""

    schema_name: ClassVar[str] = "assay.written"
    schema_version: ClassVar[int] = 3

    digest: Sha256


class Bound(Written):
    """What another object binds."""

    is_bound: ClassVar[bool] = True


def test_the_files_are_what_the_models_say() -> None:
    found = {path.name: path.read_text(encoding="utf-8") for path in FOLDER.glob("*.json")}
    assert found == schema_files(), "run: make schemas"


@pytest.mark.parametrize("model", FORMATS)
def test_every_schema_is_one_and_names_its_format(model: type[Any]) -> None:
    schema = schema_of(model)
    Draft202012Validator.check_schema(schema)
    kind = [schema["properties"][name]["const"] for name in ("schema", "version")]
    assert schema["title"] == f"{kind[0]} version {kind[1]}"
    assert {"schema", "version"} <= set(schema["required"])
    assert schema["additionalProperties"] is False


def is_valid(model: type[Any], value: Any) -> bool:
    return bool(Draft202012Validator(schema_of(model)).is_valid(value))


def test_specs_and_suites_are_valid() -> None:
    assert parse_spec(json.dumps(SPEC).encode(), "a.json")
    assert is_valid(EvalSpec, SPEC)
    assert parse_suite(json.dumps(SUITE).encode(), "a.json")
    assert is_valid(RlSuite, SUITE)


@pytest.mark.parametrize(
    "change",
    [
        {"schema": "chock.rl-suite"},
        {"version": 2},
        {"nme": "n"},
        {"name": ""},
        {"name": 7},
        {"tests": {}},
        {"tests": [{"name": "unit"}]},
        {"expect": {"currency": "eur"}},
        {"expect": {"audit_sha256": SHA.upper()}},
        {"expect": {"audit_sha256": SHA + "0"}},
        {"expect": {"max_turns": -1}},
        {"expect": {"require_no_network": "yes"}},
        {"reward_weights": {"test": 1}},
        {"reward_weights": {"tests": -1}},
        {"sandbox": {"driver": "none"}},
        {"limits": {"max_turns": 0}},
    ],
)
def test_what_a_schema_can_say_is_refused_by_it_as_by_the_reader(change: dict[str, Any]) -> None:
    assert not is_valid(EvalSpec, SPEC | change)
    with pytest.raises(InputError):
        parse_spec(json.dumps(SPEC | change).encode(), "a.json")


@pytest.mark.parametrize(
    "change", [{"cases": []}, {"parallelism": 5000}, {"cases": [SUITE["cases"][0] | {"split": ""}]}]
)
def test_so_it_is_with_suites(change: dict[str, Any]) -> None:
    assert not is_valid(RlSuite, SUITE | change)
    with pytest.raises(InputError):
        parse_suite(json.dumps(SUITE | change).encode(), "a.json")


@pytest.mark.parametrize("without", ["schema", "version", "name", "task", "fixture"])
def test_what_a_spec_must_have_is_required(without: str) -> None:
    assert not is_valid(EvalSpec, {name: value for name, value in SPEC.items() if name != without})


@pytest.mark.parametrize("model", [Written, Bound])
def test_a_document_is_valid_as_it_is_written(model: type[Written]) -> None:
    body = json.loads(model(digest=SHA).to_bytes())
    assert is_valid(model, body)
    for member in body:
        assert not is_valid(model, {name: value for name, value in body.items() if name != member})
    assert list(schema_files([model])) == ["assay.written.v3.json"]


def test_reports_and_comparisons_are_valid_as_they_are_written() -> None:
    report = Report(
        name="n",
        session=None,
        spec_sha256=SHA,
        base_commit=None,
        config_sha256=None,
        sandbox_sha256=None,
        sandbox_driver="native",
        producer=Producer(name="assay", version="1"),
        provenance=None,
        passed=False,
        score=0.5,
        reward=None,
        reward_components={"tests": 0.5},
        fault_owner=None,
        findings=(
            Finding(name="a", category=Owner.TEST, passed=True, expected=[1, None], actual={"b": "c"}, detail=""),
        ),
    )
    body = json.loads(report.to_bytes())
    assert is_valid(Report, body)
    assert not is_valid(Report, body | {"score": 2})
    assert not is_valid(Report, body | {"reward_components": {"test": 1}})
    sides = {name: ComparedReport(name="n", score=0.5, sha256=SHA) for name in ("baseline", "candidate")}
    comparison = Comparison(minimum_score=None, max_regression=0, delta=0, passed=True, reasons=(), **sides)
    assert is_valid(Comparison, json.loads(comparison.to_bytes()))


def test_fields_are_described_where_the_model_describes_them() -> None:
    task = schema_of(EvalSpec)["properties"]["task"]
    assert task == {"description": "What the agent is told.", "minLength": 1, "type": "string"}
