"""The built-in scorers by name: what they are called, take and record. Loads none of them until one is made."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from scorers.base import Scorer

_PAIR = ("output", "expected")
REQUIRED = object()
"""The default of an option that has none."""


@dataclass(frozen=True)
class OptionInfo:
    """One option of a built-in."""

    name: str
    default: Any
    doc: str

    @property
    def is_required(self) -> bool:
        """Whether the scorer cannot be made without it; such options may be given by position in Python."""
        return self.default is REQUIRED


@dataclass(frozen=True)
class BuiltinInfo:
    """One built-in."""

    name: str
    doc: str
    default_name: str
    """Of the scorer; for string_similarity the method with hyphens takes its place."""
    default_inputs: tuple[str, ...]
    options: tuple[OptionInfo, ...]
    metadata: tuple[str, ...]
    """The keys that may occur."""


_CASE = OptionInfo("case_insensitive", False, "compare with str.casefold")
BUILTINS: Mapping[str, BuiltinInfo] = {
    info.name: info
    for info in (
        BuiltinInfo(
            "exact_match",
            "Whether candidate and reference are the same text.",
            "exact-match",
            _PAIR,
            (
                _CASE,
                OptionInfo("strip", True, "leave out whitespace around the texts"),
                OptionInfo("normalize_whitespace", False, "take every run of whitespace for one space"),
            ),
            ("matched",),
        ),
        BuiltinInfo(
            "contains",
            "Whether the reference, or each item of a reference that is a JSON array, occurs in the candidate.",
            "contains",
            _PAIR,
            (OptionInfo("mode", "all", "all, any or fraction of the wanted texts"), _CASE),
            ("matched", "missing"),
        ),
        BuiltinInfo(
            "regex_match",
            "Whether a pattern of Python's re matches the text.",
            "regex-match",
            ("output",),
            (
                OptionInfo("pattern", REQUIRED, "the regular expression"),
                OptionInfo("flags", 0, "flags of re, as a number"),
                OptionInfo("full_match", False, "whether the whole text must match"),
            ),
            ("match", "groups"),
        ),
        BuiltinInfo(
            "levenshtein",
            "How near two texts are by edit distance.",
            "levenshtein",
            _PAIR,
            (_CASE,),
            ("distance",),
        ),
        BuiltinInfo(
            "string_similarity",
            "How alike two texts are by one of several measures.",
            "string-similarity",
            _PAIR,
            (
                OptionInfo("method", REQUIRED, "jaro_winkler, jaccard, token_set, token_sort, partial or sequence"),
                _CASE,
                OptionInfo("unit", "word", "what jaccard compares sets of: word or char"),
            ),
            ("method", "ratio"),
        ),
        BuiltinInfo("json_valid", "Whether the text is JSON.", "json-valid", ("output",), (), ("error",)),
        BuiltinInfo(
            "json_match",
            "Whether two JSON documents are equal, as a whole or at some paths.",
            "json-match",
            _PAIR,
            (OptionInfo("paths", None, "the places to compare, such as items.0.sku; None: whole documents"),),
            ("mismatched", "missing", "error"),
        ),
        BuiltinInfo(
            "numeric_close",
            "How near two numbers are.",
            "numeric-close",
            _PAIR,
            (
                OptionInfo("tolerance", None, "the largest difference that scores 1.0; None: 1 minus the relative one"),
                OptionInfo("relative", False, "whether tolerance is a share of the larger number"),
            ),
            ("difference", "error"),
        ),
    )
}


def make_builtin(name: str, options: Mapping[str, Any]) -> Scorer:
    """The built-in `name` with all its keywords by name, required ones, `name`, `inputs` and function options too.

    Raises:
        ValueError: no such built-in, or a value that is refused.
        TypeError: an option that is not known, is missing, or is of another type.
    """
    info = BUILTINS.get(name)
    if info is None:
        raise ValueError(f"there is no built-in scorer {name!r}; known: {', '.join(BUILTINS)}")
    keywords = dict(options)
    required = [option.name for option in info.options if option.is_required]
    for option in required:
        if option not in keywords:
            raise TypeError(f"{name} needs the option {option!r}")
    positional = [keywords.pop(option) for option in required]
    scorer: Scorer = getattr(importlib.import_module(f"scorers._{name}"), name)(*positional, **keywords)
    return scorer


def builtin_from_json(value: Mapping[str, Any]) -> Scorer:
    """The scorer that `to_json()` gave `value` for; errors as in `make_builtin`."""
    return make_builtin(value["builtin"], {"name": value["name"], "inputs": value["inputs"], **value["options"]})
