"""The version of a function: one digest of everything that decides what it returns, and of nothing else."""

from __future__ import annotations

import platform
import types
from typing import NamedTuple

from pipeline.functions.described import Describer
from pipeline.functions.options import FunctionOptions
from pipeline.functions.signature import Signature
from pipeline.functions.source import code_digest, function_source
from pipeline.records.digest import digest_json


class Version(NamedTuple):
    """A version id and what was learnt on the way."""

    id: str
    source: str
    """The source text; empty where there is none."""
    imports: frozenset[str]
    """Neighbour modules that the function needs at run time."""


def python_minor() -> str:
    """Python's minor version, such as `3.11`: what payloads depend on."""
    return ".".join(platform.python_version_tuple()[:2])


def version_of(function: types.FunctionType, name: str, signature: Signature, options: FunctionOptions) -> Version:
    """The version of a function under a name.

    The same in every process of one Python minor version (a payload of another minor version cannot be loaded, so a
    deploy under it has to give another version). Edits elsewhere in the file leave it alone; edits of a helper, class
    or global that it refers to do not.
    """
    describer = Describer(home=(function.__module__ or "").partition(".")[0])
    body = describer.function(function, is_home=True)
    source = function_source(function)
    identity = digest_json(
        {
            "python": python_minor(),
            "name": name,
            "source": source or code_digest(function.__code__),
            "references": body,
            "parameters": [parameter.model_dump(mode="json") for parameter in signature.parameters()],
            "types": [str(slot.shape.arrow) if slot.shape else slot.form for slot in signature.slots],
            "returns": [signature.returned.text, str(signature.returned.arrow)],
            "classes": [describer.describe(cls) for cls in signature.classes()],
            "options": options.deciding(),
        }
    )
    return Version(identity, source or "", frozenset(describer.imports))
