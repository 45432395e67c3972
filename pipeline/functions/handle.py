"""The handle of a function: called here, deployed to a store, or attached from one by name or version."""

from __future__ import annotations

import copy
import dataclasses
import inspect
import os
import sys
import types
from collections.abc import Callable, Mapping
from typing import Any, Self

import cloudpickle
import pyarrow as pa

from pipeline.errors import FunctionError, FunctionSignatureError
from pipeline.functions import registry
from pipeline.functions.options import FunctionOptions
from pipeline.functions.payload import Definition, dump_definition
from pipeline.functions.results import output_type_of
from pipeline.functions.signature import Signature, check_annotations, read_signature
from pipeline.functions.trust import remember_made_here
from pipeline.functions.version import Version, python_minor, version_of
from pipeline.records.digest import digest_bytes
from pipeline.records.function import FunctionRecord, Parameter
from pipeline.records.names import NAME_PATTERN, check_name, slug
from pipeline.store import Store, open_store

StoreLike = Store | str | os.PathLike[str] | None


class RemoteFunction:
    """A function that evaluations can call over the rows of a dataset.

    Made by hand (`RemoteFunction(f)`) it needs `.deploy()`; made by `@function` it is deployed when it is first used.

    Args:
        function: a plain or `async` function whose parameters and result are annotated.
        options: see `FunctionOptions`.

    Raises:
        TypeError: no function, or an unknown option.
        FunctionSignatureError: a missing annotation, or one without column type.
    """

    def __init__(self, function: Callable[..., Any], /, **options: Any) -> None:
        if not isinstance(function, types.FunctionType):
            raise TypeError(f"a function is a `def` or `async def`, found {type(function).__name__}; wrap it in one")
        self.options = FunctionOptions.of(**options)
        check_annotations(function)
        own_name = function.__name__
        self.name: str = self.options.name or (own_name if NAME_PATTERN.match(own_name) else slug(own_name))
        self.is_decorated = False
        self.is_async = inspect.iscoroutinefunction(function)
        self.__wrapped__: types.FunctionType | None = function
        self.__name__, self.__doc__, self.__module__ = own_name, function.__doc__, function.__module__
        self._record: FunctionRecord | None = None
        self._store: Store | None = None
        self._signature: Signature | None = None
        self._namespace: Mapping[str, Any] = _locals_of_caller()
        self._try_annotations()

    @classmethod
    def _attached(cls, record: FunctionRecord, store: Store) -> Self:
        handle = cls.__new__(cls)
        handle.name, handle.is_async, handle.is_decorated = record.name, record.is_async, False
        handle.options = FunctionOptions.from_json(record.options)
        handle.__wrapped__, handle.__name__, handle.__doc__ = None, record.name, record.doc
        handle._record, handle._store, handle._signature, handle._namespace = record, store, None, {}
        return handle

    @classmethod
    def from_name(cls, name: str, store: StoreLike = None) -> Self:
        """The version that a name resolves to now; later deploys leave the handle alone."""
        opened = open_store(store)
        return cls._attached(registry.read_by_name(opened, name), opened)

    @classmethod
    def from_version_id(cls, version_id: str, store: StoreLike = None) -> Self:
        """An exact version."""
        opened = open_store(store)
        return cls._attached(registry.read_by_version(opened, version_id), opened)

    from_id = from_version_id

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Run the body here, in this process; of an async function, a coroutine."""
        if self.__wrapped__ is None:
            raise FunctionError(f"{self.name!r} was attached from a store and is run by evaluations only, never here")
        return self.__wrapped__(*args, **kwargs)

    def __repr__(self) -> str:
        return (
            f"<RemoteFunction {self.name}, {f'version {self.version_id[:12]}' if self.version_id else 'not deployed'}>"
        )

    def __getstate__(self) -> dict[str, Any]:
        """Without the namespace of its definition and the store: functions refer to each other by their handles."""
        return {**self.__dict__, "_namespace": {}, "_store": None, "_signature": None}

    @property
    def version_id(self) -> str | None:
        """The version that was deployed or attached; None before."""
        return self._record.version_id if self._record else None

    @property
    def record(self) -> FunctionRecord | None:
        """What is written down of the version; None before it is deployed."""
        return self._record

    @property
    def store(self) -> Store | None:
        """The store of the version; None before it is deployed."""
        return self._store

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        """The parameters that bind to columns."""
        return self._record.parameters if self.__wrapped__ is None and self._record else self.signature.parameters()

    @property
    def output_type(self) -> pa.DataType | None:
        """The Arrow type of the output; None where scores are returned, or a batch of an unstated type."""
        if self.__wrapped__ is None and self._record:
            return output_type_of(self._record.output_schema)
        return self.signature.returned.arrow

    @property
    def signature(self) -> Signature:
        """The annotations, read."""
        if self.__wrapped__ is None:
            raise FunctionError(f"{self.name!r} was attached from a store: only its record is known here")
        if self._signature is None:
            is_batch = self.options.batch > 0
            self._signature = read_signature(self.__wrapped__, self._namespace, is_batch=is_batch)
            self._namespace = {}
        return self._signature

    def _try_annotations(self) -> None:
        """Read the annotations now; a name in them that is not defined yet is looked up again when it is needed."""
        try:
            _ = self.signature
        except FunctionSignatureError as error:
            if not isinstance(error.__cause__, NameError):
                raise

    def definition(self) -> Definition:
        """What a caller in this process is made of."""
        if self.__wrapped__ is None:
            raise FunctionError(f"{self.name!r} was attached from a store and is loaded by workers only")
        return Definition(self.__wrapped__, self.signature, self.options)

    def renamed(self, name: str) -> Self:
        """The same body under another name, not deployed: two scorers of one evaluation may not share a name."""
        if self.__wrapped__ is None:
            raise FunctionError(f"{self.name!r} was attached from a store: it keeps the name it was deployed under")
        other = copy.copy(self)
        other.name = check_name(name, "function")
        other.options = dataclasses.replace(self.options, name=other.name)
        other._record = other._store = None
        return other

    def find_version(self) -> Version:
        """The version that a deploy would give now: globals that the function refers to may have changed."""
        definition = self.definition()
        return version_of(definition.function, self.name, definition.signature, self.options)

    def deploy(self, store: StoreLike = None) -> Self:
        """Write the function's version to a store, unless it is there, and let its name resolve to it.

        Args:
            store: a store or its URL; default `ASSAY_STORE`, else `.assay` in the working directory.

        Raises:
            FunctionBuildError: the function cannot be pickled.
        """
        opened = open_store(store)
        if self.__wrapped__ is None:
            raise FunctionError(f"{self.name!r} was attached from a store: it is deployed already")
        record, payload = self._build()
        self._record, self._store = registry.write_version(opened, record, payload), opened
        registry.select_version(opened, self._record)
        return self

    def versions(self, store: StoreLike = None) -> list[FunctionRecord]:
        """The versions that its name resolved to, newest first; default: in the store it was deployed to."""
        return registry.read_versions(self._store if store is None and self._store else open_store(store), self.name)

    def _build(self) -> tuple[FunctionRecord, bytes]:
        definition = self.definition()
        version = self.find_version()
        payload = dump_definition(definition, version.imports)
        remember_made_here(version.id, payload)
        record = FunctionRecord(
            name=self.name,
            version_id=version.id,
            parameters=self.parameters,
            returns=definition.signature.returned.text,
            output_schema=definition.signature.returned.output_schema(),
            is_async=self.is_async,
            options=self.options.to_json(),
            source=version.source,
            doc=self.__doc__,
            payload_sha256=digest_bytes(payload),
            python=python_minor(),
            cloudpickle=cloudpickle.__version__,
        )
        return record, payload


def _locals_of_caller() -> dict[str, Any]:
    """The names of the enclosing function in which a function is made; its text annotations may use them."""
    frame: types.FrameType | None = sys._getframe(1)
    while frame is not None and str(frame.f_globals.get("__name__", "")).startswith(
        __package__ or "pipeline.functions"
    ):
        frame = frame.f_back
    return {} if frame is None or frame.f_locals is frame.f_globals else dict(frame.f_locals)
