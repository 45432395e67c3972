"""What an answer costs: by the profile, by genai-prices, or unknown. Nothing becomes zero."""

from __future__ import annotations

import importlib.util
import sys
from typing import Any

import pytest

from pipeline.models.costs import pricing_of
from pipeline.records.exchange import TokenUsage
from pipeline.records.provider_profile import ProviderProfile

USED = TokenUsage(input_tokens=1_000, output_tokens=100, cache_read_input_tokens=400)
has_prices = importlib.util.find_spec("genai_prices") is not None


def cost(usage: TokenUsage = USED, model: str = "m", **members: Any) -> tuple[dict[str, Any], str]:
    profile = {"name": "p", "kind": "openai", "base_url": "http://127.0.0.1:1/v1", **members}
    if profile["kind"] in ("local", "scripted"):
        del profile["base_url"]
    found = pricing_of(ProviderProfile.model_validate(profile))(model, usage)
    return found.cost.model_dump(), found.table


def test_a_profiles_prices_are_of_a_million_tokens() -> None:
    found, table = cost(prices={"input": 2.0, "output": 10.0})
    assert found == {"known": {"value": 0.003, "currency": "USD"}}
    assert table.startswith("profile:")


def test_kept_tokens_have_a_price_of_their_own() -> None:
    found, _ = cost(prices={"input": 2.0, "output": 10.0, "cache_read": 0.5, "currency": "EUR"})
    assert found == {"known": {"value": 0.0024, "currency": "EUR"}}


def test_other_prices_are_another_table() -> None:
    assert cost(prices={"input": 1, "output": 2})[1] != cost(prices={"input": 1, "output": 3})[1]


@pytest.mark.parametrize("usage", [TokenUsage(), TokenUsage(input_tokens=5), TokenUsage(output_tokens=5)])
def test_without_counts_a_price_is_unknown_and_not_zero(usage: TokenUsage) -> None:
    assert cost(usage, prices={"input": 2.0, "output": 10.0}) == ({"unknown": True}, "")


def test_models_of_this_machine_and_scripts_are_free_and_so_is_what_the_profile_says() -> None:
    assert [cost(kind=kind)[0] for kind in ("local", "scripted")] == [{"free": True}] * 2
    assert cost(kind="vllm", prices={"free": True})[0] == {"free": True}
    assert cost(kind="scripted", prices={"input": 2.0, "output": 10.0})[0]["known"]["value"] == 0.003


def test_of_other_engines_nothing_is_known() -> None:
    assert cost(kind="vllm") == ({"unknown": True}, "")
    assert cost(base_url="http://127.0.0.1:1/v1") == ({"unknown": True}, "")


def test_without_genai_prices_what_it_would_know_is_unknown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "genai_prices", None)
    assert cost(model="gpt-4o-mini", base_url="https://api.openai.com/v1") == ({"unknown": True}, "")


@pytest.mark.skipif(not has_prices, reason="the extra prices is not installed: pip install 'assay[prices]'")
def test_genai_prices_knows_models_by_the_address_that_serves_them() -> None:
    found, table = cost(model="gpt-4o-mini", base_url="https://api.openai.com/v1")
    assert found["known"]["currency"] == "USD"
    assert 0 < found["known"]["value"] < 0.01
    assert table.startswith("genai-prices ")
    assert cost(model="no-such-model", base_url="https://api.openai.com/v1") == ({"unknown": True}, "")
    assert cost(model="gpt-4o-mini", base_url="http://127.0.0.1:1/v1") == ({"unknown": True}, "")


@pytest.mark.skipif(not has_prices, reason="the extra prices is not installed: pip install 'assay[prices]'")
def test_a_model_that_is_not_listed_is_searched_for_once(monkeypatch: pytest.MonkeyPatch) -> None:
    import genai_prices

    searched, search = [], genai_prices.calc_price

    def counted(usage: Any, model: str, **where: Any) -> Any:
        searched.append(model)
        return search(usage, model, **where)

    monkeypatch.setattr(genai_prices, "calc_price", counted)
    price = pricing_of(ProviderProfile(name="p", kind="openai", base_url="https://api.openai.com/v1"))
    usage = TokenUsage(input_tokens=10, output_tokens=1)
    for model in ("no-such-model", "gpt-4o-mini", "no-such-model", "gpt-4o-mini"):
        assert (price(model, usage).table == "") is (model == "no-such-model")
    assert searched == ["no-such-model", "gpt-4o-mini", "gpt-4o-mini"]
