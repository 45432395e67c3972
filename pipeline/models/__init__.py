"""Models: one question, one answer, whatever endpoint or engine is behind it."""

from __future__ import annotations
