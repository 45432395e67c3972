"""Files that commands leave behind: one writer wins, and nobody sees half of one."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier

import pytest

from pipeline.cli.new_file import check_new_file, write_new_file
from pipeline.errors import InputError

N_WRITERS = 8


def written_by_all(path: Path, *, overwrite: bool) -> list[int]:
    """Let all write at once; those who were told that they had written."""
    together = Barrier(N_WRITERS)

    def write(number: int) -> bool:
        together.wait(30)
        try:
            write_new_file(path, bytes([number]) * 100_000, overwrite=overwrite)
        except InputError as error:
            assert "is there already" in str(error)
            return False
        return True

    with ThreadPoolExecutor(N_WRITERS) as pool:
        return [number for number, is_written in enumerate(pool.map(write, range(N_WRITERS))) if is_written]


def test_of_several_writers_one_makes_the_file(tmp_path: Path) -> None:
    for round_ in range(5):
        path = tmp_path / f"{round_}.json"
        (winner,) = written_by_all(path, overwrite=False)
        assert path.read_bytes() == bytes([winner]) * 100_000
    assert len(os.listdir(tmp_path)) == 5


def test_where_all_may_replace_it_the_file_is_that_of_one(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    assert len(written_by_all(path, overwrite=True)) == N_WRITERS
    data = path.read_bytes()
    assert (len(data), len(set(data))) == (100_000, 1)
    assert os.listdir(tmp_path) == ["a.json"]


def test_a_check_leaves_nothing_and_a_file_has_the_usual_rights(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    check_new_file(path, overwrite=False)
    assert os.listdir(tmp_path) == []
    write_new_file(path, b"{}\n", overwrite=False)
    (tmp_path / "usual").touch()
    assert path.stat().st_mode == (tmp_path / "usual").stat().st_mode
    with pytest.raises(InputError, match="is there already"):
        check_new_file(path, overwrite=False)
