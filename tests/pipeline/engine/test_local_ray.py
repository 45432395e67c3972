"""What a start of a local Ray removes of those that were killed."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from pipeline.engine import local_ray


@pytest.mark.parametrize("age_s, is_left", [(0, True), (7200, False)])
def test_a_folder_without_a_lock_is_swept_when_it_is_old(
    age_s: int, is_left: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(local_ray, "_short_temp_folder", lambda: str(tmp_path))
    folder = tmp_path / f"{local_ray.PREFIX}x"
    folder.mkdir()
    os.utime(folder, (time.time() - age_s,) * 2)
    local_ray._sweep_dead_folders()
    assert folder.exists() == is_left


def test_a_folder_whose_lock_is_held_is_kept_however_old(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(local_ray, "_short_temp_folder", lambda: str(tmp_path))
    living, dead = (tmp_path / f"{local_ray.PREFIX}{name}" for name in ("living", "dead"))
    for folder in (living, dead):
        folder.mkdir()
    held, let_go = local_ray._lock_folder(str(living)), local_ray._lock_folder(str(dead))
    os.close(let_go)
    os.utime(living, (time.time() - 7200,) * 2)
    local_ray._sweep_dead_folders()
    os.close(held)
    assert (living.exists(), dead.exists()) == (True, False)
