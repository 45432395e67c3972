from __future__ import annotations

import pickle
import time

import pytest
from fault_proxy import FaultProxy

from pipeline.errors import CorruptError, DeniedError, RetryError, UnavailableError
from pipeline.records.digest import digest_bytes
from pipeline.store import Store


@pytest.fixture(params=["moto", "seaweed"])
def server(request):
    return request.getfixturevalue(request.param)


@pytest.fixture
def proxy(server):
    proxy = FaultProxy(server.endpoint)
    yield proxy
    proxy.close()


@pytest.fixture
def store(server, proxy, tmp_path):
    return Store(f"s3://assay/{tmp_path.name}", options=server._replace(endpoint=proxy.endpoint).options, timeout_s=20)


@pytest.fixture
def direct(server, tmp_path):
    return Store(f"s3://assay/{tmp_path.name}", options=server.options)


@pytest.mark.parametrize("kind", ["reply lost", "dropped", 409, 500, 503])
def test_one_fault_of_a_create_is_told_from_a_lost_race(store, direct, proxy, kind):
    key = f"receipt/{kind}.json".replace(" ", "-")
    proxy.inject(kind, "PUT", key.split("/")[1], times=1)
    assert store.create(key, b"mine") == b"mine"
    assert proxy.n_injected == 1
    assert direct.read(key) == b"mine"


def test_a_lost_reply_and_a_lost_race_give_the_bytes_of_the_other(store, direct, proxy):
    direct.create("receipt/0.json", b"theirs")
    proxy.inject("reply lost", "PUT", "receipt/0.json", times=1)
    assert store.create("receipt/0.json", b"mine") == b"theirs"


def test_a_store_that_is_overloaded_for_good_ends_in_a_clear_error(server, proxy):
    short = Store("s3://assay/storm", options=server._replace(endpoint=proxy.endpoint).options, timeout_s=4)
    proxy.inject(503, "PUT", "x.json")
    started = time.monotonic()
    with pytest.raises(
        UnavailableError, match=r"s3://assay/storm/x\.json.*tried \d+ times in \d+ s: check the network"
    ):
        short.create("x.json", b"mine")
    assert time.monotonic() - started < 10


def test_a_store_that_never_answers_ends_within_the_deadline(server, proxy):
    short = Store("s3://assay/hang", options=server._replace(endpoint=proxy.endpoint).options, timeout_s=2)
    proxy.inject("hang", "GET", "x.json")
    started = time.monotonic()
    with pytest.raises(UnavailableError, match="no answer within 1 s"):
        short.read("x.json")
    assert time.monotonic() - started < 6


def test_expired_credentials_are_not_tried_again(store, proxy):
    proxy.inject(403, "PUT", "x.json")
    with pytest.raises(DeniedError, match=r"x\.json: the credentials have expired; renew them, then run the same"):
        store.create("x.json", b"mine")
    assert proxy.n_injected == 1


def test_a_cut_reply_is_read_again(store, direct, proxy):
    direct.create("x.json", b"all of it")
    proxy.inject("truncate", "GET", "x.json", times=1)
    assert store.read("x.json") == b"all of it"


def test_bytes_flipped_on_the_way_are_read_again_and_flipped_for_good_are_refused(store, direct, proxy):
    data = b"rows" * 1000
    direct.put("x.bin", data)
    proxy.inject("flip", "GET", "x.bin", times=1)
    assert store.read("x.bin", sha256=digest_bytes(data)) == data
    proxy.inject("flip", "GET", "x.bin")
    with pytest.raises((CorruptError, UnavailableError), match=r"x\.bin"):
        store.read("x.bin", sha256=digest_bytes(data))


def test_a_missing_bucket_and_wrong_keys_are_named_without_the_secret(moto):
    with pytest.raises(DeniedError, match="the bucket or container does not exist"):
        Store("s3://no-such-bucket/x", options=moto.options).create("k", b"x")
    with pytest.raises(DeniedError, match="the bucket or container does not exist"):
        Store("s3://no-such-bucket/x", options=moto.options).read("k")


def test_a_secret_is_never_shown(seaweed):
    store = Store("s3://assay/x", options={**seaweed.options, "secret": "wrong-secret-value"})
    with pytest.raises(DeniedError) as caught:
        store.create("k", b"x")
    assert "wrong-secret-value" not in str(caught.value)
    assert "wrong-secret-value" not in repr(store)


def test_a_dead_address_ends_in_a_clear_error():
    options = {"key": "a", "secret": "b", "endpoint_url": "http://127.0.0.1:9"}
    with pytest.raises(UnavailableError, match="tried"):
        Store("s3://assay/x", options=options, timeout_s=3).read("k")


def test_errors_survive_pickling_with_their_key():
    error = pickle.loads(pickle.dumps(RetryError("text", "k")))
    assert (str(error), error.key) == ("text", "k")


def test_what_goes_wrong_while_a_lost_race_is_read_back_is_not_taken_for_the_race(store, direct, proxy):
    direct.create("receipt/0.json", b"theirs")
    proxy.inject("flip", "GET", "receipt/0.json", times=1)
    assert store.create("receipt/0.json", b"mine") == b"theirs"
    assert proxy.n_injected == 1
