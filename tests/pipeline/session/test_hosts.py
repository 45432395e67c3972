"""Hosts as logs name them."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.session.hosts import host_of_action, hosts_of_arguments, normal_host


@pytest.mark.parametrize(
    "action, host",
    [
        ("net.fetch.org.ziglang.docs", "docs.ziglang.org"),
        ("net.connect.com.Example", "example.com"),
        ("net.connect.com.example:443", "example.com"),
        ("net.connect.localhost", "localhost"),
        ("nix.net.org.nixos.cache", "cache.nixos.org"),
        ("net.connect.com.example.*", "*.example.com"),
        ("net.connect", ""),
        ("net.connect.", ""),
        ("nix.net", ""),
        ("call.fetch_url", None),
        ("exec.network.connect", None),
        ("internet.connect.com.example", None),
        ("", None),
    ],
)
def test_an_action_names_its_host_with_reversed_labels(action: str, host: str | None) -> None:
    assert host_of_action(action) == host


@pytest.mark.parametrize(
    "arguments, hosts",
    [
        ('{"url":"https://docs.ziglang.org/a?b=c"}', ("docs.ziglang.org",)),
        ('{"url":"HTTPS://Docs.Ziglang.ORG.:8443/"}', ("docs.ziglang.org",)),
        ('{"url":"https://good.com@evil.com/"}', ("evil.com",)),
        ('{"url":"https://good.com:x@evil.com"}', ("evil.com",)),
        ('{"url":"example.com/a"}', ("example.com",)),
        ('{"url":"//example.com/a"}', ("example.com",)),
        ('{"url":"https://bücher.example/"}', ("xn--bcher-kva.example",)),
        ('{"url":"http://[::1]:80/"}', ("::1",)),
        ('{"url":"http://evil.com\\\\@good.com/"}', ("good.com", "evil.com")),
        ('{"urls":["https://a.com","https://b.com"],"method":"GET"}', ("a.com", "b.com")),
        ('{"request":{"target":"https://a.com/x"},"note":"no address"}', ("a.com",)),
        ('{"URL":"https://a.com"}', ("a.com",)),
        ('"https://a.com"', ("a.com",)),
        ("https://a.com/b", ("a.com",)),
        ('{"method":"GET"}', ()),
        ('{"url":""}', ()),
        ('{"url":"http://[bad/"}', ()),
        ("{}", ()),
        ("null", ()),
        ("", ()),
    ],
)
def test_arguments_name_the_hosts_of_their_urls(arguments: str, hosts: tuple[str, ...]) -> None:
    assert hosts_of_arguments(arguments) == hosts


@given(st.text(max_size=40))
def test_any_text_can_be_looked_at(text: str) -> None:
    for found in (*hosts_of_arguments(text), *hosts_of_arguments(json.dumps({"url": text})), normal_host(text)):
        assert found == found.lower()
    host_of_action(f"net.fetch.{text}")


def test_arguments_made_to_take_long_do_not() -> None:
    assert len(hosts_of_arguments(json.dumps([f"https://{i}.com" for i in range(100_000)]))) <= 10_000
    assert hosts_of_arguments("[" * 500 + '"https://a.com"' + "]" * 500) == ("a.com",)
