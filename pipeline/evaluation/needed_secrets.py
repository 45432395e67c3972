"""Secrets that functions need, looked for before the first row."""

from __future__ import annotations

import socket
from collections.abc import Iterable, Mapping
from typing import Any

from pipeline.errors import FunctionError
from pipeline.functions import missing_names


def check_secrets(users: Iterable[tuple[str, Mapping[str, Any]]]) -> None:
    """Refuse to begin where a secret is not set on this node.

    Args:
        users: names and options of those who need them.

    Raises:
        FunctionError: names the variable, the node and who needs it.
    """
    for user, options in users:
        for name in missing_names(options):
            raise FunctionError(
                f"{name} is not set on node {socket.gethostname()}, and {user!r} needs it: "
                "export it there, before Ray is started"
            )
