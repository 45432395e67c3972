"""The file of a spec: what is read, and what is no spec."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

import pytest

from pipeline.errors import InputError
from pipeline.formats.located import MAX_BYTES
from pipeline.session.spec_file import load_spec

YAML = b"schema: chock.eval\nversion: 1\nname: n\ntask: t\nfixture: fixtures/a\ncapture: c.json\n"


def test_a_spec_has_the_digest_of_its_bytes_and_paths_from_its_folder(tmp_path: Path) -> None:
    path = tmp_path / "a.YAML"
    path.write_bytes(YAML)
    loaded = load_spec(str(path), "replay")
    assert loaded.spec.name == "n"
    assert loaded.sha256 == hashlib.sha256(YAML).hexdigest()
    assert loaded.path == path
    assert loaded.fixture == tmp_path / "fixtures" / "a"
    assert loaded.capture == tmp_path / "c.json"


def test_an_absolute_fixture_stays_where_it_is(tmp_path: Path) -> None:
    path = tmp_path / "a.yaml"
    path.write_bytes(YAML.replace(b"fixtures/a", b"/srv/a").replace(b"capture: c.json\n", b""))
    loaded = load_spec(path)
    assert (loaded.fixture, loaded.capture) == (Path("/srv/a"), None)


def test_errors_name_the_file_and_what_it_is_read_for(tmp_path: Path) -> None:
    path = tmp_path / "a.yaml"
    path.write_bytes(YAML)
    with pytest.raises(InputError, match=f"^{path}:1: the field 'provider' is missing, which a run needs"):
        load_spec(path, "run")


def test_what_is_no_file_of_a_spec_is_refused(tmp_path: Path) -> None:
    (tmp_path / "folder.zon").mkdir()
    os.mkfifo(tmp_path / "pipe.zon")
    (tmp_path / "large.zon").write_bytes(b" " * (MAX_BYTES + 1))
    (tmp_path / "empty.zon").write_bytes(b"")
    cases = {
        "missing.zon": "there is no such file",
        "folder.zon": "Is a directory|is no regular file",
        "pipe.zon": "is no regular file; name the file of a spec",
        "large.zon": "more than the 1,048,576 that a config may have",
        "empty.zon": "found the end, expected a value",
        "spec.txt": "ends in '.txt'; a spec ends in .zon, .yaml, .yml, .json",
        "a\0.zon": "cannot be read: embedded null byte",
        "empty.zon/x.zon": "cannot be read: Not a directory",
        "x" * 300 + ".zon": "cannot be read: File name too long",
    }
    for name, message in cases.items():
        with pytest.raises(InputError, match=message) as caught:
            load_spec(tmp_path / name)
        assert str(caught.value).startswith(str(tmp_path / name))
