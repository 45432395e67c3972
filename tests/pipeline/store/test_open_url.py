from __future__ import annotations

import functools
import http.server
import os
import threading

import pytest

from pipeline.errors import InputError
from pipeline.store import Store, expand_inputs, input_size, open_input


@pytest.fixture
def files(tmp_path):
    for name in ("b.csv", "a.csv", "sub/c.csv", "sub/_SUCCESS", ".hidden/d.csv", "e.txt"):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(name)
    return tmp_path


def names(paths, root):
    return [os.path.relpath(path, root) for path in paths]


def test_a_folder_stands_for_the_files_in_it(files):
    assert names(expand_inputs(files), files) == ["a.csv", "b.csv", "e.txt", "sub/c.csv"]


def test_a_glob_stands_for_what_it_matches(files):
    assert names(expand_inputs(f"{files}/*.csv"), files) == ["a.csv", "b.csv"]
    assert names(expand_inputs(f"file://{files}/**/*.csv"), files) == ["a.csv", "b.csv", "sub/c.csv"]


def test_a_file_whose_name_looks_like_a_glob_is_a_file(files):
    (files / "x[1].csv").write_text("x")
    assert names(expand_inputs(files / "x[1].csv"), files) == ["x[1].csv"]


def test_a_local_file_opens_and_has_a_size(files):
    with open_input(files / "sub/c.csv") as file:
        assert file.read() == b"sub/c.csv"
    assert input_size(f"file://{files}/sub/c.csv") == 9


@pytest.mark.parametrize("call", [open_input, input_size, expand_inputs])
def test_an_absent_file_is_named(tmp_path, call):
    with pytest.raises(InputError, match=r"nope\.csv: no such file.*check the path"):
        call(tmp_path / "nope.csv")


def test_a_folder_cannot_be_opened(tmp_path):
    with pytest.raises(InputError, match="is a folder"):
        open_input(tmp_path)


def test_memory_urls_are_inputs_too():
    store = Store("memory://inputs")
    store.put("x/a.csv", b"a,b")
    store.put("x/b.csv", b"c")
    assert [path.split("/")[-1] for path in expand_inputs("memory://inputs/x/*.csv")] == ["a.csv", "b.csv"]
    [first, _] = expand_inputs("memory://inputs/x")
    with open_input(first) as file:
        assert file.read() == b"a,b"
    assert input_size(first) == 3


def test_s3_inputs_read_by_ranges(moto, tmp_path, monkeypatch):
    monkeypatch.setenv("AWS_ENDPOINT_URL", moto.endpoint)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "test")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "testtest")
    root = f"s3://{moto.bucket}/{tmp_path.name}"
    Store(root, options=moto.options).put("x/a.csv", b"0123456789" * 300_000)
    assert expand_inputs(f"{root}/x/*.csv") == expand_inputs(f"{root}/x") == [f"{root}/x/a.csv"]
    with open_input(f"{root}/x/a.csv") as file:
        file.seek(-10, os.SEEK_END)
        assert file.read() == b"0123456789"
    assert input_size(f"{root}/x/a.csv") == 3_000_000
    with pytest.raises(InputError, match=r"nope\.csv: no such file"):
        open_input(f"{root}/nope.csv")


@pytest.fixture
def web(files):
    class Handler(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *args):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Handler, directory=files))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_address[1]}"
    server.shutdown()
    server.server_close()


def test_a_web_address_is_an_input(web):
    assert expand_inputs(f"{web}/a.csv") == [f"{web}/a.csv"]
    assert input_size(f"{web}/a.csv") == 5
    with open_input(f"{web}/a.csv") as file:
        assert file.read() == b"a.csv"
    with pytest.raises(InputError, match=r"nope\.csv: no such file"):
        open_input(f"{web}/nope.csv")


def test_an_unknown_kind_of_url_is_refused():
    with pytest.raises(InputError, match="foo://x: cannot be opened"):
        open_input("foo://x")
