"""`assay run --store s3://…` with what the environment says, where something about it is wrong."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

import pytest

EXACT = "output_column: answer\nscorers:\n  - {use: exact_match, name: exact, inputs: [output, gold]}\n"
SECRET = "a-secret-of-somebody"
LIMIT_S = 200
"""Of a test's patience; a store's own deadline is a minute."""


class Said(NamedTuple):
    code: int
    err: str


def _module(name: str) -> ModuleType:
    path = Path(__file__).parents[1] / "store" / f"{name}.py"
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def proxy(moto: Any) -> Iterator[Any]:
    proxy = _module("fault_proxy").FaultProxy(moto.endpoint)
    yield proxy
    proxy.close()


@pytest.fixture
def assay_run(workplace: Path, config: Callable[[str], Path]) -> Callable[..., Said]:
    path = config(EXACT)

    def call(url: str, endpoint: str, **environment: str) -> Said:
        command = [sys.executable, "-m", "pipeline.cli", "run", str(path), "--store", url, "--quiet"]
        known = {"AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": SECRET, "AWS_DEFAULT_REGION": "us-east-1"}
        settings = {**os.environ, **known, "AWS_ENDPOINT_URL": endpoint, **environment}
        ended = subprocess.run(
            command, cwd=workplace, env=settings, capture_output=True, text=True, timeout=LIMIT_S, check=False
        )
        return Said(ended.returncode, ended.stderr)

    return call


def check_told(said: Said, url: str, text: str, code: int = 2) -> None:
    assert said.code == code, said
    assert text in said.err
    assert f"assay: {url}" in said.err
    assert SECRET not in said.err
    assert "Traceback" not in said.err
    assert "a defect of assay" not in said.err


@pytest.mark.slow  # half a minute of tries; the store's own test of it is a short one
@pytest.mark.parametrize("endpoint", ["http://127.0.0.1:9", "http://no-such-host.invalid:9000"])
def test_an_address_where_nothing_answers_is_told(assay_run, endpoint) -> None:
    said = assay_run("s3://assay/x", endpoint)
    check_told(said, "s3://assay/x", "check the network and the store, then run the same command again")
    assert "Could not connect to the endpoint URL" in said.err


def test_an_address_that_is_none_is_bad_input(assay_run) -> None:
    check_told(assay_run("s3://assay/x", "not-a-url"), "s3://assay/x", "correct endpoint_url (AWS_ENDPOINT_URL)", 1)


def test_a_bucket_that_does_not_exist_is_told(assay_run, moto) -> None:
    said = assay_run("s3://no-such-bucket/x", moto.endpoint)
    check_told(said, "s3://no-such-bucket/x", "the bucket or container does not exist; create it, or correct")


def test_no_credentials_at_all_are_told(assay_run, moto) -> None:
    none = {"AWS_ACCESS_KEY_ID": "", "AWS_SECRET_ACCESS_KEY": "", "AWS_EC2_METADATA_DISABLED": "true"}
    said = assay_run("s3://assay/x", moto.endpoint, **none, AWS_SHARED_CREDENTIALS_FILE="/nowhere")
    check_told(said, "s3://assay/x", "no credentials found")


def test_a_wrong_key_is_told_without_the_secret(assay_run, seaweed) -> None:
    said = assay_run("s3://assay/x", seaweed.endpoint)
    check_told(said, "s3://assay/x", "no access; check the credentials and the permissions of the bucket")


@pytest.mark.parametrize(
    "status, code, text",
    [
        (403, "RequestTimeTooSkewed", "the clock of this machine is not that of the store; set it"),
        (403, "ExpiredToken", "the credentials have expired; renew them, then run the same command again"),
        (400, "ExpiredToken", "the credentials have expired; renew them, then run the same command again"),
        (403, "AccessDenied", "no access; check the credentials and the permissions of the bucket"),
    ],
)
def test_what_a_store_says_against_the_credentials_is_told(assay_run, proxy, status, code, text) -> None:
    proxy.inject(status, "PUT", "/assay/", code=code)
    check_told(assay_run("s3://assay/x", proxy.endpoint), "s3://assay/x", text)


@pytest.mark.parametrize(
    "status, code",
    [
        (507, "XMinioStorageFull"),
        pytest.param(500, "QuotaExceeded", marks=pytest.mark.slow),
        pytest.param(507, "Unknown", marks=pytest.mark.slow),
    ],
)
def test_a_bucket_that_fills_up_in_mid_run_is_told_and_the_same_command_goes_on(
    assay_run, proxy, status, code, workplace
) -> None:
    url = f"s3://assay/{workplace.name}"
    proxy.inject(status, "PUT", "/receipt/", code=code)
    said = assay_run(url, proxy.endpoint)
    assert said.code == 2
    assert f"{url}/runs/" in said.err
    assert "the store is full or its quota is used up; make room there, then run the same command again" in said.err
    assert "Traceback" not in said.err
    proxy.clear()
    again = assay_run(url, proxy.endpoint)
    assert again.code == 0, again
