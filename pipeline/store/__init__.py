"""Everything about where things are kept. The only importer of fsspec."""

from pipeline.store.backend import ObjectInfo
from pipeline.store.commit import begin, check_plan, finish, publish, read_manifest, standing_receipt
from pipeline.store.datasets import DatasetClient, RevisionInfo
from pipeline.store.heads import HeadEntry, append_head, current_head, list_heads
from pipeline.store.open_url import expand_inputs, input_size, open_input
from pipeline.store.parquet import ParquetWriter, write_parquet
from pipeline.store.pinned import FileIdentity, known_digests, learn_digests, pin_files, pin_stored
from pipeline.store.revision_reader import RevisionReader
from pipeline.store.revisions import as_ref, get_revision, newest_revision, register_revision, resolve_revision
from pipeline.store.row_bytes import fitting_rows
from pipeline.store.row_order import in_row_order
from pipeline.store.scratch import scratch_folder
from pipeline.store.sources import Progress, Source, SourceOptions, open_source
from pipeline.store.sources.csv_header import csv_header
from pipeline.store.store import Store, open_store

__all__ = [
    "DatasetClient",
    "FileIdentity",
    "HeadEntry",
    "ObjectInfo",
    "ParquetWriter",
    "Progress",
    "RevisionInfo",
    "RevisionReader",
    "Source",
    "SourceOptions",
    "Store",
    "append_head",
    "as_ref",
    "begin",
    "check_plan",
    "csv_header",
    "current_head",
    "expand_inputs",
    "finish",
    "fitting_rows",
    "get_revision",
    "in_row_order",
    "input_size",
    "known_digests",
    "learn_digests",
    "list_heads",
    "newest_revision",
    "open_input",
    "open_source",
    "open_store",
    "pin_files",
    "pin_stored",
    "publish",
    "read_manifest",
    "register_revision",
    "resolve_revision",
    "scratch_folder",
    "standing_receipt",
    "write_parquet",
]
