"""Names: what may name a dataset or function, and how other names become folders."""

from __future__ import annotations

import difflib
import hashlib
import re
import unicodedata
from collections.abc import Iterable

from pipeline.errors import InputError

NAME_PATTERN = re.compile(r"[a-z0-9][a-z0-9._-]{0,62}\Z")


def check_name(name: str, what: str) -> str:
    """Return `name` if it may name a `what` (dataset, function); else raise InputError with a name that may."""
    if NAME_PATTERN.match(name):
        return name
    raise InputError(
        f"{what} name {name!r} is not allowed: use 1 to 63 of a-z 0-9 . _ - starting with a letter or digit, "
        f"for example {slug(name)!r}"
    )


def slug(name: str) -> str:
    """A name reduced to what `NAME_PATTERN` allows, for use in paths."""
    name = name.casefold()  # names that are one after folding are one in a path
    folded = unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode()
    cleaned = re.sub(r"[^a-z0-9._-]+", "-", folded).strip("-._")[:63].rstrip("-._")
    return cleaned or f"x-{hashlib.sha256(name.encode()).hexdigest()[:8]}"


def nearest(name: str, known: Iterable[str]) -> str:
    """A hint for a name that is not known: ` (did you mean 'x'?)`, or the known names, or nothing."""
    names = list(known)
    close = difflib.get_close_matches(name, names, n=3, cutoff=0.6)
    if close:
        return f"; did you mean {' or '.join(map(repr, close))}?"
    return f"; known: {', '.join(sorted(names)[:20])}" if names else ""
