from __future__ import annotations

import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.errors import CorruptError, InputError, MissingError, RetryError, UnavailableError, UnsafeStoreError
from pipeline.records.digest import digest_bytes
from pipeline.store import Store, object_backend, open_store
from pipeline.store.backend import ObjectInfo
from pipeline.store.create import create
from pipeline.store.location import check_key, without_credentials
from pipeline.store.retries import Retries


def test_urls_are_absolute_and_shown_plainly(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert Store("a/../b").url == f"file://{tmp_path}/b"
    assert Store("file:///x/y").display == "/x/y"
    assert Store("s3a://bucket//p/").url == "s3://bucket/p"
    assert Store("gcs://bucket/p").url == "gs://bucket/p"
    assert Store("memory://").is_memory
    assert Store(tmp_path).is_local


@pytest.mark.parametrize(
    "url, message",
    [
        ("sftp://user:word@host/x", r"sftp://host/x: sftp:// can be read but cannot commit safely; use one of file://"),
        ("https://host/x?token=word", "https:// can be read but cannot commit safely"),
        ("s3://key:word@bucket/x", "s3://bucket/x: a store's URL holds no credentials"),
        ("s3://bucket/x?token=word", "s3://bucket/x: a store's URL holds no credentials and no query"),
        ("s3://", "names no bucket or container"),
        ("", "a store needs a folder or URL"),
    ],
)
def test_a_url_that_cannot_be_a_store_is_refused_without_showing_a_secret(url, message):
    with pytest.raises(InputError, match=message) as caught:
        Store(url)
    assert "word" not in str(caught.value)


def test_a_container_of_azure_is_no_credential():
    assert without_credentials("abfs://container@account.dfs.core.windows.net/x").startswith("abfs://container@account")


def test_a_client_that_is_not_installed_is_named(monkeypatch):
    def missing(*args, **kwargs):
        raise ImportError("no")

    monkeypatch.setattr(object_backend.fsspec.core, "url_to_fs", missing)
    with pytest.raises(InputError, match=r'gs:// needs a client that is not installed; pip install "assay\[gcs\]"'):
        Store("gs://bucket/x").read("k")


def test_the_default_store_is_of_the_environment_else_of_the_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("ASSAY_STORE", raising=False)
    assert open_store(None).display == str(tmp_path / ".assay")
    monkeypatch.setenv("ASSAY_STORE", "memory://env")
    store = open_store(None)
    assert store.url == "memory://env"
    assert open_store(store) is store
    assert open_store("memory://x").url == "memory://x"


def test_a_store_pickles_as_url_and_options():
    store = Store("s3://bucket/x", options={"key": "a"}, timeout_s=7)
    again = pickle.loads(pickle.dumps(store))
    assert again == store
    assert hash(again) == hash(store)
    assert dict(again.options) == {"key": "a"}


@pytest.mark.parametrize("key", ["", "/a", "a/", "a//b", "..", "a/../b", "./a", "a\\b", "a\0b", "a\nb"])
def test_keys_that_could_leave_the_root_are_refused(key):
    store = Store("memory://keys")
    calls = (
        store.read,
        store.size,
        store.delete,
        store.open,
        lambda k: store.create(k, b""),
        lambda k: store.put(k, b""),
    )
    for call in calls:
        with pytest.raises(InputError, match="is no key of a store"):
            call(key)


@given(st.text(alphabet="ab./\\\0 é", max_size=12))
def test_a_key_is_accepted_exactly_when_it_has_only_plain_pieces(key):
    pieces = key.split("/")
    is_plain = bool(key) and not set(key) & {"\\", "\0"} and not set(pieces) & {"", ".", ".."}
    try:
        check_key(key)
    except InputError:
        assert not is_plain
    else:
        assert is_plain


@pytest.fixture(params=["local", "memory"])
def store(request, tmp_path):
    return Store(tmp_path if request.param == "local" else f"memory://{tmp_path.name}")


def test_damage_is_told_with_key_and_both_digests(store):
    store.put("d/x", b"right")
    expected = digest_bytes(b"wrong")
    with pytest.raises(CorruptError, match=rf"d/x: its SHA-256 is {digest_bytes(b'right')}, expected {expected}"):
        store.read("d/x", sha256=expected)
    assert store.read("d/x", sha256=digest_bytes(b"right")) == b"right"


def test_many_objects_are_read_in_order_with_none_where_there_is_none(store):
    for number in range(0, 50, 2):
        store.create(f"r/{number}", b"%d" % number)
    found = store.read_each(f"r/{number}" for number in range(50))
    assert found == [b"%d" % number if number % 2 == 0 else None for number in range(50)]


def test_a_negative_range_is_a_mistake_of_the_caller(store):
    with pytest.raises(ValueError, match="a range starts at 0 or later"):
        store.read_range("x", -1, 5)
    assert store.read_range("x", 0, 0) == b""


def test_opening_an_absent_object_is_missing(store):
    with pytest.raises(MissingError, match="nothing: not found"):
        store.open("nothing")


def test_a_put_from_a_file_is_the_same_as_from_bytes(store, tmp_path):
    source = tmp_path / "source"
    source.write_bytes(b"abc" * 1000)
    store.put("p/x", source)
    with store.open("p/x") as file:
        assert file.read() == b"abc" * 1000


def test_listings_tell_size_and_time(store):
    store.put("l/x", b"abc")
    [info] = store.list_infos("l/")
    assert (info.key, info.bytes) == ("l/x", 3)
    assert isinstance(info, ObjectInfo)
    assert info.modified > 1.7e9


class Scripted:
    """A backend that answers a create as it is told, and keeps what it is given."""

    def __init__(self, *faults, applies=False):
        self.faults, self.applies, self.stands, self.offered = list(faults), applies, None, []

    def put_if_absent(self, key, data):
        self.offered.append(data)
        fault = self.faults.pop(0) if self.faults else None
        if fault is None or self.applies:
            self.stands = self.stands or data
        if fault is not None:
            raise fault

    def get(self, key):
        if self.stands is None:
            raise MissingError(f"{key}: not found", key)
        return self.stands


def patient(naps):
    return Retries(timeout_s=100, sleep=naps.append, clock=lambda: sum(naps))


def test_the_same_bytes_are_offered_until_one_answer_is_clear():
    backend, naps = Scripted(RetryError("503"), RetryError("reset")), []
    assert create(backend, "k", b"mine", patient(naps)) == b"mine"
    assert backend.offered == [b"mine"] * 3
    assert len(naps) == 2


def test_an_unclear_answer_is_settled_by_reading_back():
    backend = Scripted(RetryError("reply lost"), applies=True)
    assert create(backend, "k", b"mine", patient([])) == b"mine"
    assert backend.offered == [b"mine"]


def test_giving_up_says_how_often_and_what_to_do():
    backend = Scripted(*[RetryError("s3://b/k: HTTP 503") for _ in range(20)])
    with pytest.raises(
        UnavailableError, match=r"s3://b/k: HTTP 503.*tried 8 times in .* s: check the network"
    ) as caught:
        create(backend, "k", b"mine", patient([]))
    assert caught.value.key == "k"


def test_waits_are_jittered_and_bounded():
    naps: list[float] = []
    with pytest.raises(UnavailableError):
        create(Scripted(*[RetryError("503") for _ in range(20)]), "k", b"mine", patient(naps))
    assert len(set(naps)) == len(naps)
    assert max(naps) <= 5


class Overwriting:
    """A backend that breaks its promise."""

    def __init__(self):
        self.objects = {}

    def put_if_absent(self, key, data):
        self.objects[key] = data

    def get(self, key):
        return self.objects[key]

    def delete(self, key):
        self.objects.pop(key, None)


def test_the_probe_refuses_a_backend_that_overwrites_and_cleans_up():
    backend = Overwriting()
    with pytest.raises(UnsafeStoreError, match="memory://bad: this store overwrites"):
        Store("memory://bad", backend=backend).probe()
    assert backend.objects == {}


def test_a_store_is_probed_once_per_process(tmp_path):
    Store(tmp_path / "p").probe()
    (tmp_path / "p").rmdir()
    Store(tmp_path / "p").probe()
    assert not (tmp_path / "p").exists()
