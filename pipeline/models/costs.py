"""What an answer costs: by the profile's prices, by genai-prices where that is installed, else unknown: never zero."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from typing import NamedTuple

from pipeline.formats.canonical_json import canonical_json
from pipeline.records.audit_content import Cost, FreeCost, KnownCost, Money, UnknownCost
from pipeline.records.digest import digest_bytes
from pipeline.records.exchange import TokenUsage
from pipeline.records.provider_profile import Prices, ProviderProfile

PER = 1_000_000  # tokens, of a price
_DIGITS = 12  # after the point: less than any price of one token


class Priced(NamedTuple):
    """A cost, and the table that it was taken from."""

    cost: Cost
    table: str
    """Empty: none."""


Pricing = Callable[[str, TokenUsage], Priced]
"""Of the model that answered, and what it used."""

UNKNOWN = Priced(UnknownCost(unknown=True), "")
FREE = Priced(FreeCost(free=True), "")


def pricing_of(profile: ProviderProfile) -> Pricing:
    """How answers of a profile are priced."""
    if profile.prices is not None:
        return _by_profile(profile.prices)
    if profile.kind in ("local", "scripted"):
        return _always(FREE)
    if profile.kind == "openai" and importlib.util.find_spec("genai_prices") is not None:
        return _by_genai_prices(profile.base_url or "")
    return _always(UNKNOWN)


def _always(priced: Priced) -> Pricing:
    return lambda *_: priced


def _by_profile(prices: Prices) -> Pricing:
    if prices.free:
        return _always(FREE)
    table = f"profile:{digest_bytes(canonical_json(prices.model_dump(mode='json')))[:12]}"

    def price(_model: str, usage: TokenUsage) -> Priced:
        if usage.input_tokens is None or usage.output_tokens is None:
            return UNKNOWN
        plain = prices.input or 0.0
        read, created = usage.cache_read_input_tokens or 0, usage.cache_creation_input_tokens or 0
        amount = (
            max(0, usage.input_tokens - read - created) * plain
            + read * (plain if prices.cache_read is None else prices.cache_read)
            + created * (plain if prices.cache_creation is None else prices.cache_creation)
            + usage.output_tokens * (prices.output or 0.0)
        )
        return Priced(KnownCost(known=Money(value=round(amount / PER, _DIGITS), currency=prices.currency)), table)

    return price


def _by_genai_prices(base_url: str) -> Pricing:
    import genai_prices

    table = f"genai-prices {genai_prices.__version__}"
    not_listed: set[str] = set()  # models, so that each is searched for once

    def price(model: str, usage: TokenUsage) -> Priced:
        if usage.input_tokens is None or usage.output_tokens is None or model in not_listed:
            return UNKNOWN
        counted = genai_prices.Usage(
            input_tokens=usage.input_tokens,
            output_tokens=usage.output_tokens,
            cache_read_tokens=usage.cache_read_input_tokens,
            cache_write_tokens=usage.cache_creation_input_tokens,
        )
        try:
            found = genai_prices.calc_price(counted, model, provider_api_url=base_url)
        except LookupError:  # neither the provider nor the model is in the table
            not_listed.add(model)
            return UNKNOWN
        except ValueError:
            return UNKNOWN
        return Priced(KnownCost(known=Money(value=round(float(found.total_price), _DIGITS), currency="USD")), table)

    return price
