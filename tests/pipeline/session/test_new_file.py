"""Files that commands leave behind: one writer wins, and nobody sees half of one."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier

import pytest

from pipeline.errors import InputError
from pipeline.session.new_file import check_new_file, write_new_file

N_WRITERS = 8


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "empty").mkdir()
    return tmp_path / "empty"


def written_by_all(path: Path, *, overwrite: bool) -> list[int]:
    """Let all write at once; those who were told that they had written."""
    together = Barrier(N_WRITERS)

    def write(number: int) -> bool:
        together.wait(30)
        try:
            write_new_file(path, bytes([number]) * 100_000, overwrite=overwrite)
        except InputError:
            return False
        return True

    with ThreadPoolExecutor(N_WRITERS) as pool:
        return [number for number, is_written in enumerate(pool.map(write, range(N_WRITERS))) if is_written]


def test_of_several_writers_one_makes_the_file(folder: Path) -> None:
    for round_ in range(5):
        path = folder / f"{round_}.json"
        (winner,) = written_by_all(path, overwrite=False)
        assert path.read_bytes() == bytes([winner]) * 100_000
    assert len(os.listdir(folder)) == 5


def test_where_all_may_replace_it_the_file_is_that_of_one(folder: Path) -> None:
    path = folder / "a.json"
    assert len(written_by_all(path, overwrite=True)) == N_WRITERS
    data = path.read_bytes()
    assert (len(data), len(set(data))) == (100_000, 1)
    assert os.listdir(folder) == ["a.json"]


def test_a_check_leaves_nothing_and_a_file_has_the_usual_rights(folder: Path) -> None:
    path = folder / "a.json"
    check_new_file(path, overwrite=False)
    assert os.listdir(folder) == []
    write_new_file(path, b"{}\n", overwrite=False)
    (folder / "usual").touch()
    assert path.stat().st_mode == (folder / "usual").stat().st_mode
    with pytest.raises(InputError, match="is there already"):
        check_new_file(path, overwrite=False)
