"""The worker's side of Ray Data: blocks into parts of a dataset. Loads no Ray; every answer is a value.

Tasks travel by value (`calling`) and import the package themselves, so that they find it where the driver has it.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import pyarrow as pa

from pipeline.engine.choose import unseen
from pipeline.engine.outcome import Failure
from pipeline.errors import DatasetError, EngineError
from pipeline.records.dataset import PartFile
from pipeline.store import Store, scratch_folder, write_parquet
from pipeline.store.sources import conform, cut_parts, storable_schema
from pipeline.store.sources.cut import BYTES_PER_PART

WHAT = "the Ray dataset"
FAILURE = "__assay_failure__"
"""The column of a block that stands for a failure."""
_PICKLED = "ray.data.arrow_pickled_object"
_TENSOR = "ray.data.arrow_tensor"
_INDEX = "__index_level_"  # of a pandas index without a name, which is not data


class PartPlace(NamedTuple):
    """Where the parts of a dataset go; travels pickled."""

    store: Store
    dataset: str
    schema: pa.Schema
    """Storable."""
    marks: Mapping[str, int]
    """Folders of the driver's machine that the worker must see: see `landmarks`."""
    part_bytes: int = BYTES_PER_PART
    """Of the values of a part, at most."""


def calling(name: str, root: str) -> Callable[..., Any]:
    """A function that calls the one of this module that is called `name`. It travels whole.

    Args:
        root: the folder that holds `pipeline` and `scorers` on the driver; looked at first where it exists.
    """

    def call(*arguments: Any) -> Any:
        import importlib
        import os
        import sys

        before = list(sys.path)
        if os.path.exists(os.path.join(root, "pipeline", "__init__.py")):
            sys.path.insert(0, root)  # a package of the same name in the user's folder is not ours
        try:
            importlib.import_module("scorers")
            module = importlib.import_module("pipeline.engine.ray_blocks")
        except ImportError as error:
            raise ImportError(f"a worker of Ray cannot import assay ({error}): install it on all nodes") from None
        finally:
            sys.path[:] = before  # the process is not ours alone
        return getattr(module, name)(*arguments)

    return call


def plain_block(block: pa.Table, schema: bytes) -> pa.Table:
    """A block as it is stored; one that cannot be is a table of one pickled `Failure`, since Ray Data keeps no errors.

    Args:
        schema: pickled; of None: the block's own.
    """
    try:
        return _plain(block, pickle.loads(schema))
    except DatasetError as error:
        return pa.table({FAILURE: pa.array([pickle.dumps(Failure.of(error))], pa.binary())})


def block_schema(block: pa.Table) -> pa.Schema:
    """The schema of a block."""
    return block.schema


def failure_in(block: pa.Table) -> Failure:
    """The first failure of a block that holds some; other rows of its task may lie beside it."""
    found: Failure = pickle.loads(block[FAILURE].drop_null()[0].as_py())
    return found


def write_part(place: bytes, slices: Sequence[tuple[int, int]], *blocks: pa.Table) -> PartFile | Failure:
    """Write rows of some blocks as one part of the dataset.

    Args:
        place: a `PartPlace`, pickled.
        slices: first row and the row behind the last, of each block.
    """
    try:
        to: PartPlace = pickle.loads(place)
        for path in unseen(to.marks):
            raise EngineError(
                f"{path} is a folder of the machine that called, a worker of Ray cannot see it: use a store that all "
                "nodes reach, such as s3://bucket/prefix"
            )
        table = pa.concat_tables(_rows(to, slices, blocks))
        with scratch_folder("part") as folder:
            local = folder / "part.parquet"
            written = write_parquet(table, local)
            key = f"datasets/{to.dataset}/data/{written.sha256}.parquet"
            to.store.put(key, local)
        return PartFile(path=key, rows=written.rows, bytes=written.bytes, sha256=written.sha256)
    except Exception as error:  # noqa: BLE001 - the border: a failure travels as a value
        return Failure.of(error)


def first_cut(place: bytes, slices: Sequence[tuple[int, int]], *blocks: pa.Table) -> int | Failure:
    """How many of the rows make the first part, where they may be too large for one. Arguments as `write_part`."""
    try:
        to: PartPlace = pickle.loads(place)
        return int(next(cut_parts(_rows(to, slices, blocks), n_bytes=to.part_bytes)).num_rows)
    except Exception as error:  # noqa: BLE001 - the border: a failure travels as a value
        return Failure.of(error)


def read_tables(call: bytes, marks: Mapping[str, int]) -> Iterator[pa.Table]:
    """The tables that a pickled call returns.

    Raises:
        EngineError: this worker does not see a folder that they are in.
    """
    for path in unseen(marks):
        raise EngineError(
            f"{path} is a folder of the machine that made the dataset, a worker of Ray cannot see it: use a store that "
            "all nodes reach, such as s3://bucket/prefix"
        )
    tables: Callable[[], Iterator[pa.Table]] = pickle.loads(call)
    yield from tables()


def _plain(block: pa.Table, given: pa.Schema | None) -> pa.Table:
    for field in block.schema:
        _check_extension(field)
    kept = block.select([i for i, name in enumerate(block.schema.names) if not name.startswith(_INDEX)])
    plain = storable_schema(kept.schema, WHAT)
    if given is None:
        return conform(kept, plain, WHAT)
    if plain.names != given.names:
        raise DatasetError(f"{WHAT}: has the columns {', '.join(plain.names)}; the schema has {', '.join(given.names)}")
    return conform(kept, given, WHAT)


def _rows(to: PartPlace, slices: Sequence[tuple[int, int]], blocks: Sequence[pa.Table]) -> list[pa.Table]:
    for block in blocks:
        _check_alike(to.schema, block.schema)
    pairs = zip(slices, blocks, strict=True)
    return [conform(block.slice(first, end - first), to.schema, WHAT) for (first, end), block in pairs]


def _check_alike(first: pa.Schema, other: pa.Schema) -> None:
    """Refuse what a cast would hide: whole numbers in one block, text or fractions in another."""
    if first.names != other.names:
        raise DatasetError(
            f"{WHAT}: its first block has the columns {', '.join(first.names)}, another one {', '.join(other.names)}"
        )
    for name, kind, found in zip(first.names, first.types, other.types, strict=True):
        if found != kind and not pa.types.is_null(found):
            raise DatasetError(
                f"{WHAT}: column {name!r} is {kind} in the first block and {found} in another; cast it in the dataset, "
                "or give the types of all columns with schema="
            )


def _check_extension(field: pa.Field) -> None:
    if not isinstance(field.type, pa.BaseExtensionType):
        return
    name = field.type.extension_name
    if name.startswith(_PICKLED):
        raise DatasetError(
            f"{WHAT}: column {field.name!r} holds Python objects; make text, numbers, lists or mappings of them"
        )
    if name.startswith(_TENSOR) and len(getattr(field.type, "shape", None) or (0, 0)) > 1:
        raise DatasetError(
            f"{WHAT}: column {field.name!r} holds arrays of several dimensions; make nested lists of them (tolist())"
        )
