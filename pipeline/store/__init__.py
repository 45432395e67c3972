"""Everything about where things are kept. The only importer of fsspec."""

from pipeline.store.backend import ObjectInfo
from pipeline.store.open_url import expand_inputs, input_size, open_input
from pipeline.store.store import Store, open_store

__all__ = ["ObjectInfo", "Store", "expand_inputs", "input_size", "open_input", "open_store"]
