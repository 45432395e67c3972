"""Everything about where things are kept. The only importer of fsspec."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pipeline.on_demand import on_demand

if TYPE_CHECKING:
    from pipeline.store.backend import ObjectInfo as ObjectInfo
    from pipeline.store.commit import begin as begin
    from pipeline.store.commit import check_plan as check_plan
    from pipeline.store.commit import finish as finish
    from pipeline.store.commit import publish as publish
    from pipeline.store.commit import read_manifest as read_manifest
    from pipeline.store.commit import standing_receipt as standing_receipt
    from pipeline.store.datasets import DatasetClient as DatasetClient
    from pipeline.store.datasets import RevisionInfo as RevisionInfo
    from pipeline.store.heads import HeadEntry as HeadEntry
    from pipeline.store.heads import append_head as append_head
    from pipeline.store.heads import current_head as current_head
    from pipeline.store.heads import list_heads as list_heads
    from pipeline.store.open_url import expand_inputs as expand_inputs
    from pipeline.store.open_url import input_size as input_size
    from pipeline.store.open_url import open_input as open_input
    from pipeline.store.parquet import ParquetWriter as ParquetWriter
    from pipeline.store.parquet import write_parquet as write_parquet
    from pipeline.store.pinned import FileIdentity as FileIdentity
    from pipeline.store.pinned import known_digests as known_digests
    from pipeline.store.pinned import learn_digests as learn_digests
    from pipeline.store.pinned import pin_files as pin_files
    from pipeline.store.pinned import pin_stored as pin_stored
    from pipeline.store.revision_reader import RevisionReader as RevisionReader
    from pipeline.store.revisions import as_ref as as_ref
    from pipeline.store.revisions import get_revision as get_revision
    from pipeline.store.revisions import newest_revision as newest_revision
    from pipeline.store.revisions import register_revision as register_revision
    from pipeline.store.revisions import resolve_revision as resolve_revision
    from pipeline.store.row_bytes import fitting_rows as fitting_rows
    from pipeline.store.row_order import in_row_order as in_row_order
    from pipeline.store.scratch import scratch_folder as scratch_folder
    from pipeline.store.sources import Progress as Progress
    from pipeline.store.sources import Source as Source
    from pipeline.store.sources import SourceOptions as SourceOptions
    from pipeline.store.sources import open_source as open_source
    from pipeline.store.sources.csv_header import csv_header as csv_header
    from pipeline.store.store import Store as Store
    from pipeline.store.store import open_store as open_store

_HOMES = {
    ".backend": "ObjectInfo",
    ".commit": "begin check_plan finish publish read_manifest standing_receipt",
    ".datasets": "DatasetClient RevisionInfo",
    ".heads": "HeadEntry append_head current_head list_heads",
    ".open_url": "expand_inputs input_size open_input",
    ".parquet": "ParquetWriter write_parquet",
    ".pinned": "FileIdentity known_digests learn_digests pin_files pin_stored",
    ".revision_reader": "RevisionReader",
    ".revisions": "as_ref get_revision newest_revision register_revision resolve_revision",
    ".row_bytes": "fitting_rows",
    ".row_order": "in_row_order",
    ".scratch": "scratch_folder",
    ".sources": "Progress Source SourceOptions open_source",
    ".sources.csv_header": "csv_header",
    ".store": "Store open_store",
}

__getattr__, __all__ = on_demand(__name__, _HOMES)
