"""JSON Schemas of the formats that are exchanged, generated from their models. The files stand in `schemas/`."""

from __future__ import annotations

import ast
import inspect
import itertools
import json
import textwrap
from collections.abc import Sequence
from typing import Any

from pydantic import BaseModel
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue
from pydantic_core.core_schema import ModelSchema

from pipeline.records.agent_config import AgentConfig
from pipeline.records.agent_options import AgentFile
from pipeline.records.base import Document, Record
from pipeline.records.capture import Capture
from pipeline.records.comparison import Comparison
from pipeline.records.eval_spec import EvalSpec
from pipeline.records.provider_profile import ProviderFile
from pipeline.records.report import Report
from pipeline.records.rl_suite import RlSuite
from pipeline.records.session import SessionRecord
from pipeline.records.spec_fields import SpecRecord
from pipeline.records.trajectory import Trajectory

DIALECT = "https://json-schema.org/draft/2020-12/schema"

FORMATS: Sequence[type[Record]] = (
    EvalSpec, Report, Comparison, RlSuite, ProviderFile, AgentFile, AgentConfig, SessionRecord, Capture, Trajectory,
)  # fmt: skip
"""Models of whole objects: a `Document`, or a record with the fields `schema` and `version`."""


def schema_files(formats: Sequence[type[Record]] = FORMATS) -> dict[str, str]:
    """File name → text, such as `chock.eval.v1.json`, for every format."""
    return dict(_schema_file(model) for model in formats)


def schema_of(model: type[Record]) -> dict[str, Any]:
    """The JSON Schema (draft 2020-12) of a format.

    What a schema cannot say (which fields go together, which names may not be equal) is left to the reader.
    """
    schema = _portable(model.model_json_schema(by_alias=True, schema_generator=_WithDocstrings))
    if issubclass(model, Document):
        _add_envelope(schema, model)
    else:
        schema["required"] = [*dict.fromkeys(["schema", "version", *schema.get("required", [])])]
        for kind in ("schema", "version"):  # a default of the model's, for Python; files have them
            schema["properties"][kind].pop("default", None)
    title = f"{_kind(schema, 'schema')} version {_kind(schema, 'version')}"
    return {"$schema": DIALECT, "title": title, **schema}


class _WithDocstrings(GenerateJsonSchema):
    """Describes the fields of specs by the docstrings that stand under them.

    Pydantic does so by itself where a model asks for it: it then reads and parses the source of each such model when it
    is imported, in every process.
    """

    def model_schema(self, schema: ModelSchema) -> JsonSchemaValue:
        found = super().model_schema(schema)
        model = schema["cls"]
        for name, text in docstrings_of(model).items() if issubclass(model, SpecRecord) else ():
            member = found["properties"][model.model_fields[name].alias or name]
            member.setdefault("description", text)
        return found


def docstrings_of(model: type[BaseModel]) -> dict[str, str]:
    """Field → the docstring under it, of the fields that a model or a part of a spec above it defines."""
    found: dict[str, str] = {}
    for each in reversed(model.__mro__):
        if issubclass(each, SpecRecord) and each is not SpecRecord:
            (defined,) = ast.parse(textwrap.dedent(inspect.getsource(each))).body
            assert isinstance(defined, ast.ClassDef)
            for field, below in itertools.pairwise(defined.body):
                if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name):
                    text = below.value if isinstance(below, ast.Expr) else None
                    if isinstance(text, ast.Constant) and isinstance(text.value, str):
                        found[field.target.id] = inspect.cleandoc(text.value)
    return found


def _schema_file(model: type[Record]) -> tuple[str, str]:
    schema = schema_of(model)
    name = f"{_kind(schema, 'schema')}.v{_kind(schema, 'version')}.json"
    return name, json.dumps(schema, indent=2, ensure_ascii=False) + "\n"


def _add_envelope(schema: dict[str, Any], model: type[Document]) -> None:
    """The members that `Document.to_bytes` adds."""
    kind: dict[str, Any] = {
        "schema": {"const": model.schema_name, "type": "string"},
        "version": {"const": model.schema_version, "type": "integer"},
    }
    if not model.is_bound:
        kind["sha256"] = {"pattern": "^[0-9a-f]{64}$", "type": "string"}
    schema["properties"] = {**kind, **schema["properties"]}
    schema["required"] = [*kind, *schema.get("required", [])]


def _kind(schema: dict[str, Any], member: str) -> Any:
    return schema["properties"][member]["const"]


def _portable(value: Any, *, are_names: bool = False) -> Any:
    """The schema without pydantic's titles, which repeat names, and with patterns as ECMA 262 spells them."""
    if isinstance(value, list):
        return [_portable(item) for item in value]
    if not isinstance(value, dict):
        return value
    result = {}
    for name, member in value.items():
        if name == "title" and not are_names:
            continue
        if name == "pattern" and isinstance(member, str):
            member = member.replace(r"\Z", "$")
        if name == "oneOf" and not are_names and "discriminator" not in value:
            name = "anyOf"  # a union with an open member, which objects of the others fit, too
        result[name] = _portable(member, are_names=name in ("properties", "$defs") and not are_names)
    return result
