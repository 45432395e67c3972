"""Finds the run or result folder that a few characters stand for."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from pipeline.errors import EvaluationNotFoundError, InputError

if TYPE_CHECKING:
    from pipeline.store import Store

LATEST = "latest"
N_SHOWN = 5  # candidates in a message


def find_run_id(store: Store, text: str) -> str:
    """The id of the one run that `text` stands for: an id, part of its beginning or end, or `latest`.

    Raises:
        EvaluationNotFoundError: no such run.
        InputError: several.
    """
    ids = [name for name in store.list_folders("runs") if store.exists(f"runs/{name}/run.json")]
    if not ids:
        raise EvaluationNotFoundError(f"there are no runs in {store.display}; name another store with --store")
    if text.lower() == LATEST:
        return max(ids)
    wanted = text.strip().upper()
    exact = [found for found in ids if found == wanted]
    close = exact or [found for found in ids if wanted and (found.startswith(wanted) or found.endswith(wanted))]
    if not close:
        raise EvaluationNotFoundError(f"no run {text!r} in {store.display}; `assay runs` lists them")
    if len(close) > 1:
        some = ", ".join(sorted(close, reverse=True)[:N_SHOWN])
        raise InputError(
            f"{text!r} stands for {len(close)} runs of {store.display} ({some}{', …' * (len(close) > N_SHOWN)}); "
            "give more of one"
        )
    return close[0]


def is_result_folder(text: str) -> bool:
    """Whether a RUN argument names a plain result folder and not a run of the store."""
    return "://" in text or "/" in text or text in (".", "..") or (Path(text) / "plan.json").is_file()


def refuse_result_folder(text: str) -> None:
    """Refuse a plain result folder where only a run of a store will do. Raises InputError."""
    if is_result_folder(text):
        raise InputError(
            f"{text} is a folder of `assay score --to` and no run of a store: Ctrl-C stops that command where it runs, "
            "and the same `assay score` command goes on with it"
        )
