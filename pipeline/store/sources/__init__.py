"""Every form of data that a dataset can be made from, as one schema and one stream of Arrow tables.

Knows no store. Whatever has to be read twice (to decide types over all rows) is streamed twice, never held.
"""

from pipeline.store.sources.cut import ROWS_PER_PART, cut_parts
from pipeline.store.sources.files import open_files, parquet_inputs
from pipeline.store.sources.forms import open_source
from pipeline.store.sources.source import Progress, Source, SourceOptions
from pipeline.store.sources.storable import conform, storable_schema

__all__ = [
    "ROWS_PER_PART",
    "Progress",
    "Source",
    "SourceOptions",
    "conform",
    "cut_parts",
    "open_files",
    "open_source",
    "parquet_inputs",
    "storable_schema",
]
