"""Whole objects inside another one: as they stand in a file of their own, with `schema` and `version`."""

from __future__ import annotations

from typing import Any

from pydantic import GetCoreSchemaHandler, GetJsonSchemaHandler
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, core_schema

from pipeline.records.base import Document


class Embedded:
    """Beside the type of a field, such as `Annotated[Report, Embedded(Report)]`.

    The object carries no `sha256` of its own: what holds it binds it.
    """

    def __init__(self, model: type[Document]) -> None:
        self.model = model

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        """The field's own schema, with the two members put in and taken out around it."""
        inner = handler(source)
        return core_schema.no_info_before_validator_function(
            self._without_kind,
            inner,
            serialization=core_schema.wrap_serializer_function_ser_schema(self._with_kind, schema=inner),
        )

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        """The object's schema with the two members."""
        found = handler(schema)
        inner = handler.resolve_ref_schema(found)
        kind = {
            "schema": {"const": self.model.schema_name, "type": "string"},
            "version": {"const": self.model.schema_version, "type": "integer"},
        }
        inner["properties"] = {**kind, **inner["properties"]}
        inner["required"] = [*dict.fromkeys([*kind, *inner.get("required", [])])]
        return found

    def _without_kind(self, value: Any) -> Any:
        if not isinstance(value, dict):
            return value
        found = value.get("schema"), value.get("version")
        if found != (self.model.schema_name, self.model.schema_version) or isinstance(found[1], bool):
            raise ValueError(
                f"is {found[0]} version {found[1]}, expected {self.model.schema_name} version "
                f"{self.model.schema_version}"
            )
        return {name: member for name, member in value.items() if name not in ("schema", "version")}

    def _with_kind(self, value: Any, handler: core_schema.SerializerFunctionWrapHandler) -> Any:
        return {"schema": self.model.schema_name, "version": self.model.schema_version, **handler(value)}
