"""The base of what stands in audit logs: frozen, open to members that are not known, written in declaration order."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Self

from pydantic import BaseModel, ConfigDict, SerializerFunctionWrapHandler, Strict, model_serializer

Text = Annotated[str, Strict()]
Whole = Annotated[int, Strict()]
"""A whole number, written without a point."""
Number = Whole | Annotated[float, Strict()]
"""A number, kept as it is written: 1 stays 1."""
Flag = Annotated[bool, Strict()]
Label = Text | Whole
"""Names something; whether by text or by number is not laid down."""
AsFound = Any
"""Any JSON value: the format does not lay down what it is. Absent stays absent."""


class WireRecord(BaseModel):
    """A JSON object of a log. Members that are not known are kept, behind those that are (`model_extra`).

    Whether an object is one of these depends on names of members and types of values alone, never on values: that is
    what lets a reader recognise an object of a form that it has seen before without looking at it again.
    """

    model_config = ConfigDict(frozen=True, extra="allow", allow_inf_nan=False, defer_build=True)

    only_if_set: ClassVar[frozenset[str]] = frozenset()
    """Fields that are written only where they are true or not empty."""

    @classmethod
    def from_wire(cls, value: Any) -> Self:
        """From the parsed JSON. Raises pydantic's ValidationError where it is not one."""
        return cls.model_validate(value, by_alias=True, by_name=False)

    def to_wire(self) -> dict[str, Any]:
        """What is written: fields in the order of their declaration, then other members."""
        return self.model_dump(by_alias=True)

    @model_serializer(mode="wrap")
    def _written(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        written: dict[str, Any] = handler(self)
        for name, info in type(self).model_fields.items():
            is_absent = info.annotation is AsFound and name not in self.model_fields_set
            if is_absent or (name in self.only_if_set and not getattr(self, name)):
                written.pop(info.serialization_alias or name, None)
        return written


class Payload(WireRecord):
    """What an event says."""

    wire_name: ClassVar[str]
    """The event's name in the log."""


class OneMember(WireRecord):
    """An object with exactly one member, whose name tells what it is."""

    model_config = ConfigDict(extra="forbid")


def member_of(value: Any) -> str:
    """The name that tells what an object of one member is; "" for anything else."""
    if isinstance(value, dict):
        return str(next(iter(value))) if len(value) == 1 else ""
    return next(iter(type(value).model_fields)) if isinstance(value, OneMember) else ""
