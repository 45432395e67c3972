"""What an evaluation does with a function when it is created: deploy or copy it, and bind it to columns."""

from __future__ import annotations

from collections.abc import Mapping

import pyarrow as pa

from pipeline.errors import EvaluationError, FunctionSignatureError
from pipeline.functions.handle import RemoteFunction
from pipeline.functions.into_python import fits
from pipeline.functions.registry import copy_version
from pipeline.functions.results import output_type_of
from pipeline.functions.trust import TrustPolicy
from pipeline.records.function import FunctionRecord, Parameter
from pipeline.records.names import nearest
from pipeline.store import Store


def deploy_for(store: Store, handle: object, *, trust: TrustPolicy | None = None) -> FunctionRecord:
    """The record, in this store, of a function that an evaluation is to use.

    A decorated function is deployed; one attached from another store is copied, if it is trusted.

    Raises:
        TypeError: not a RemoteFunction.
        EvaluationError: made by hand and never deployed.
        UntrustedFunctionError: attached from another store that is not trusted.
    """
    if not isinstance(handle, RemoteFunction):
        name = getattr(handle, "__name__", type(handle).__name__)
        if callable(handle):
            raise TypeError(f"{name!r} is a bare callable: decorate it with @function")
        raise TypeError(f"expected a @function or RemoteFunction, found {type(handle).__name__}")
    if handle.version_id is None and not handle.is_decorated:
        raise EvaluationError(f"function {handle.name!r} is not deployed: call .deploy() first, or use @function")
    if handle.__wrapped__ is not None:
        deployed = handle.deploy(store).record
        assert deployed is not None
        return deployed
    assert handle.record is not None
    assert handle.store is not None
    return copy_version(handle.store, store, handle.record, trust or TrustPolicy.of())


def check_columns(
    function: FunctionRecord | RemoteFunction, schema: pa.Schema, extra: Mapping[str, pa.DataType] | None = None
) -> tuple[str, ...]:
    """The columns that a function reads from rows of this schema.

    Args:
        extra: columns that the evaluation adds, such as `output`; they win over dataset columns of their name.

    Returns:
        In the order of the parameters; parameters that keep their default are left out.

    Raises:
        FunctionSignatureError: a column is missing (the nearest are named), or cannot hold the parameter's type.
    """
    types = {**dict(zip(schema.names, schema.types, strict=True)), **(extra or {})}
    read: list[str] = []
    for parameter in function.parameters:
        if parameter.kind == "table":
            return tuple(types)
        if parameter.name in types:
            _check_type(function.name, parameter, types[parameter.name])
            read.append(parameter.name)
        elif not parameter.has_default:
            hint = nearest(parameter.name, types)
            raise FunctionSignatureError(
                f"{function.name}() needs a column {parameter.name!r}, which the dataset does not have{hint}"
            )
    return tuple(read)


def require_task(function: FunctionRecord | RemoteFunction) -> pa.DataType:
    """The Arrow type of a task's output.

    Raises:
        FunctionSignatureError: it returns scores, or Arrow data of a type that it does not state.
    """
    found = function.output_type if isinstance(function, RemoteFunction) else output_type_of(function.output_schema)
    if found is None:
        raise FunctionSignatureError(
            f"{function.name}() cannot be a task: its result has no column type. Return a str, a float, a dataclass or "
            "so; a batch function says it as list[str] or Annotated[pa.Array, pa.string()]"
        )
    return found


def require_scorer(function: FunctionRecord | RemoteFunction) -> None:
    """Raise FunctionSignatureError unless the result can be scores: numbers, EvaluationScorerResult, lists of them."""
    found = function.output_type if isinstance(function, RemoteFunction) else output_type_of(function.output_schema)
    inner = found.value_type if found is not None and pa.types.is_large_list(found) else found
    if inner is None or pa.types.is_floating(inner) or pa.types.is_integer(inner) or pa.types.is_boolean(inner):
        return
    returns = function.signature.returned.text if isinstance(function, RemoteFunction) else function.returns
    raise FunctionSignatureError(
        f"{function.name}() cannot be a scorer: it returns {returns}, "
        "expected float, EvaluationScorerResult or a list of it"
    )


def _check_type(function: str, parameter: Parameter, column: pa.DataType) -> None:
    if not fits(parameter.kind, column):
        raise FunctionSignatureError(
            f"column {parameter.name!r} is {column}, but {function}() takes {parameter.type}: "
            "change the annotation, or convert the column before the upload"
        )
