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
from pipeline.records.digest import Sha256
from pipeline.records.json_schema import FORMATS, schema_files, schema_of
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
    assert is_valid(FORMATS[0], SPEC)
    assert parse_suite(json.dumps(SUITE).encode(), "a.json")
    assert is_valid(FORMATS[1], SUITE)


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
    assert not is_valid(FORMATS[0], SPEC | change)
    with pytest.raises(InputError):
        parse_spec(json.dumps(SPEC | change).encode(), "a.json")


@pytest.mark.parametrize(
    "change", [{"cases": []}, {"parallelism": 5000}, {"cases": [SUITE["cases"][0] | {"split": ""}]}]
)
def test_so_it_is_with_suites(change: dict[str, Any]) -> None:
    assert not is_valid(FORMATS[1], SUITE | change)
    with pytest.raises(InputError):
        parse_suite(json.dumps(SUITE | change).encode(), "a.json")


@pytest.mark.parametrize("without", ["schema", "version", "name", "task", "fixture"])
def test_what_a_spec_must_have_is_required(without: str) -> None:
    assert not is_valid(FORMATS[0], {name: value for name, value in SPEC.items() if name != without})


@pytest.mark.parametrize("model", [Written, Bound])
def test_a_document_is_valid_as_it_is_written(model: type[Written]) -> None:
    body = json.loads(model(digest=SHA).to_bytes())
    assert is_valid(model, body)
    for member in body:
        assert not is_valid(model, {name: value for name, value in body.items() if name != member})
    assert list(schema_files([model])) == ["assay.written.v3.json"]


def test_fields_are_described_where_the_model_describes_them() -> None:
    task = schema_of(FORMATS[0])["properties"]["task"]
    assert task == {"description": "What the agent is told.", "minLength": 1, "type": "string"}
