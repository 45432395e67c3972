"""Heads: what a name stands for now."""

from __future__ import annotations

from typing import Any, ClassVar

from pipeline.records.base import Document


class Head(Document):
    """One entry of a name's history. Entries are only ever added; the last one is what the name stands for."""

    schema_name: ClassVar[str] = "assay.head"

    payload: dict[str, Any]
    """What the name stood for, such as `{"revision": …}` or `{"version": …}`."""
