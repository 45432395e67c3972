"""The file of a spec: read once, its digest taken from the bytes that were read."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from pipeline.errors import InputError
from pipeline.formats.located import MAX_BYTES
from pipeline.records.audit_event import PAYLOADS
from pipeline.records.audit_names import EndReason
from pipeline.records.digest import digest_bytes
from pipeline.records.eval_spec import EvalSpec
from pipeline.records.names import nearest
from pipeline.records.spec_file import NOTHING, Command, check_ending, parse_spec

_WILD = re.compile(r"[*?]")


class LoadedSpec(NamedTuple):
    """A spec, and the file it was read from."""

    spec: EvalSpec
    sha256: str
    """Of the bytes of the file."""
    path: Path

    @property
    def fixture(self) -> Path:
        """The folder of the repository: what the spec names, from the folder of the spec's file."""
        return self.path.parent / self.spec.fixture

    @property
    def capture(self) -> Path | None:
        """The file of the recorded exchanges; None: the spec names none."""
        return None if self.spec.capture is None else self.path.parent / self.spec.capture


def load_spec(
    path: str | os.PathLike[str], command: Command = "check", provenance: Mapping[str, object] = NOTHING
) -> LoadedSpec:
    """Read the spec of an evaluation from a .zon, .yaml, .yml or .json file.

    Args:
        path: the file.
        command: what the spec is for; a run needs `provider` and `model`, a replay `capture`.
        provenance: fields that replace those of the spec, before it is validated.

    Raises:
        InputError: no such file, a folder or a device, or a spec that cannot be used; names file, line and field.
    """
    file = Path(path)
    where = str(file)
    check_ending(where)
    data = _read(file)
    return LoadedSpec(parse_spec(data, where, command, provenance), digest_bytes(data), file)


def names_beyond_the_known(spec: EvalSpec) -> Iterator[str]:
    """What to tell of names that the format does not know: its lists are open, and yet they may be misspelt.

    An event that is forbidden by a misspelt name is never found, and its check passes; so does the check of a path
    that was meant as a pattern.
    """
    expect = spec.expect
    for field, names, known in (
        ("end_reason", [expect.end_reason] if expect.end_reason else [], [reason.value for reason in EndReason]),
        ("required_events", expect.required_events, list(PAYLOADS)),
        ("forbidden_events", expect.forbidden_events, list(PAYLOADS)),
    ):
        for name in names:
            if name not in known:
                hint = nearest(name, known)
                hint = hint if "did you mean" in hint else ""
                yield f"expect.{field}: the format lists no name {name!r}; it is looked for as it is{hint}"
    for field, paths in (("required_paths", expect.required_paths), ("forbidden_paths", expect.forbidden_paths)):
        for path in paths:
            if _WILD.search(path):
                yield f"expect.{field}: {path!r} is the path of one file and no pattern; it is looked for as it is"


def _read(path: Path) -> bytes:
    try:
        # Not blocking: a pipe without a writer is refused below instead of waited for.
        with open(os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0)), "rb") as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                raise InputError(f"{path}: is no regular file; name the file of a spec")
            return file.read(MAX_BYTES + 1)  # one too many is refused by every format
    except FileNotFoundError:
        raise InputError(f"{path}: there is no such file") from None
    except (OSError, ValueError) as error:  # ValueError: a NUL in the path; but InputError is one, too
        if isinstance(error, InputError):
            raise
        reason = error.strerror if isinstance(error, OSError) else error
        raise InputError(f"{path}: cannot be read: {reason}") from None
