"""What a function returns: a value of a declared type, scores, or (in batches) Arrow data."""

from __future__ import annotations

import base64
import types
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Union, get_args, get_origin

import pyarrow as pa

from pipeline.errors import FunctionSignatureError
from pipeline.functions.shape import Shape, annotation_text, shape_of, split_none
from pipeline.records.dataset import encode_schema
from scorers.result import EvaluationScorerResult

NUMBERS = (int, float, bool)


@dataclass(frozen=True)
class Returned:
    """A return annotation, read."""

    text: str
    form: str
    """`value`; `scores` (EvaluationScorerResult in it); of batch functions also `list` and `arrow`."""
    shape: Shape | None = None
    """Of one row's value; None for `scores` and `arrow`."""
    arrow: pa.DataType | None = None
    """The type of the output column; None for scores, and for Arrow data that does not say."""
    is_list: bool = False
    """Whether one row's result is a list: several scores, where it is a scorer's."""

    @property
    def nullable(self) -> bool:
        """Whether a row may return None."""
        return self.shape is None or self.shape.nullable

    def output_schema(self) -> str | None:
        """The output type as it is written down."""
        return None if self.arrow is None else encode_schema(pa.schema([pa.field("output", self.arrow)]))


def returned_of(hint: Any, names: Mapping[str, Any], *, is_batch: bool) -> Returned:
    """Read a return annotation.

    Raises:
        FunctionSignatureError: it has no column type.
    """
    text = annotation_text(hint)
    stated = get_args(hint)[1:] if get_origin(hint) is Annotated else ()
    bare, _ = split_none(hint)
    if bare in (pa.Table, pa.Array, pa.ChunkedArray):
        if not is_batch:
            raise FunctionSignatureError(f"{text} needs @function(batch=True)")
        return Returned(text, "arrow", arrow=_stated_type(stated))
    if is_batch:
        return _batch_list(hint, text, names)
    if holds_scores(hint):
        return Returned(text, "scores", is_list="list[" in text)
    shape = shape_of(hint, names)
    return Returned(text, "value", shape, shape.arrow, is_list=shape.kind == "list")


def holds_scores(hint: Any) -> bool:
    """Whether an annotation is EvaluationScorerResult, a list of it, or a union of those with numbers and None."""
    if get_origin(hint) is list:
        return get_args(hint) == (EvaluationScorerResult,)
    if get_origin(hint) in (Union, types.UnionType):
        members = get_args(hint)
        return any(map(holds_scores, members)) and all(m in (*NUMBERS, type(None)) or holds_scores(m) for m in members)
    return hint is EvaluationScorerResult


def _batch_list(hint: Any, text: str, names: Mapping[str, Any]) -> Returned:
    arguments = get_args(hint)
    if get_origin(hint) is not list or not arguments:
        raise FunctionSignatureError(f"a batch function returns list[T], pa.Array or pa.Table, found {text}")
    if holds_scores(arguments[0]):
        return Returned(text, "list", is_list="list[" in annotation_text(arguments[0]))
    shape = shape_of(arguments[0], names)
    return Returned(text, "list", shape, shape.arrow, is_list=shape.kind == "list")


def _stated_type(stated: tuple[Any, ...]) -> pa.DataType | None:
    for item in stated:
        if isinstance(item, pa.DataType):
            return item
        if isinstance(item, pa.Schema):
            return item.field(0).type if len(item) == 1 else pa.struct(list(item))
    return None


def output_type_of(schema: str | None) -> pa.DataType | None:
    """The output type that `output_schema` wrote down."""
    if schema is None:
        return None
    return pa.ipc.read_schema(pa.py_buffer(base64.b64decode(schema))).field(0).type
