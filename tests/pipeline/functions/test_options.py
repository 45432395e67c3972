"""Options and policies: what is accepted, how it is normalised, and what is refused."""

from __future__ import annotations

import json
from typing import Any

import pytest

from pipeline.functions import ConcurrencyPolicy, FunctionOptions, RateLimitPolicy, RetryPolicy, Secret, function
from pipeline.records.limits import LimitRule


@pytest.mark.parametrize(
    "given, field, expected",
    [
        ({"cpu": "500m"}, "num_cpus", 0.5),
        ({"num_cpus": 2}, "num_cpus", 2.0),
        ({"gpu": 1}, "num_gpus", 1.0),
        ({"memory": "2Gi"}, "memory", 2 * 2**30),
        ({"memory": "2gib"}, "memory", 2 * 2**30),
        ({"memory": "3 mb"}, "memory", 3_000_000),
        ({"memory": 1024}, "memory", 1024),
        ({"concurrency": 8}, "concurrency", ConcurrencyPolicy(8)),
        ({"retries": 2}, "retries", RetryPolicy(max_retries=2)),
        ({"rate_limit": 5}, "rate_limit", RateLimitPolicy(5)),
        ({"timeout_s": 3}, "timeout_s", 3.0),
        ({"batch": True}, "batch", 1024),
        ({"batch": False}, "batch", 0),
        ({"batch": 50}, "batch", 50),
        ({"secrets": [Secret.from_env("KEY")]}, "secrets", (Secret("KEY"),)),
        ({"runtime_env": {"pip": ["x"]}}, "runtime_env", {"pip": ["x"]}),
        ({"retries": None}, "retries", None),
    ],
)
def test_an_option_is_normalised(given: dict[str, Any], field: str, expected: object) -> None:
    assert getattr(FunctionOptions.of(**given), field) == expected


@pytest.mark.parametrize(
    "given, error, message",
    [
        ({"image": "debian"}, TypeError, "runtime_env"),
        ({"retry": 3}, TypeError, "did you mean 'retries'"),
        ({"num_cpus": -1}, ValueError, "not negative"),
        ({"num_cpus": 1, "cpu": 1}, TypeError, "the same"),
        ({"num_gpus": True}, TypeError, "must be a number"),
        ({"memory": "2 pounds"}, ValueError, "512Mi"),
        ({"retries": True}, TypeError, "RetryPolicy"),
        ({"retries": -1}, ValueError, "at least 0"),
        ({"rate_limit": 0}, ValueError, "above 0"),
        ({"concurrency": 0}, ValueError, "at least 1"),
        ({"timeout_s": 0}, ValueError, "above 0"),
        ({"timeout_s": float("inf")}, ValueError, "finite"),
        ({"batch": "yes"}, TypeError, "batch"),
        ({"env": {"A": None}}, TypeError, "Secret.from_env"),
        ({"secrets": ["KEY"]}, TypeError, "Secret.from_env"),
        ({"runtime_env": {"env_vars": {"A": Secret("KEY")}}}, TypeError, "secrets="),
        ({"name": "Not Allowed"}, ValueError, "not-allowed"),
        ({"name": ""}, ValueError, "not allowed"),
    ],
)
def test_a_wrong_option_is_refused_with_its_reason(given: dict[str, Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        FunctionOptions.of(**given)


def test_options_are_written_without_defaults_and_secrets_by_name_only() -> None:
    options = FunctionOptions.of(retries=1, env={"A": "b", "C": Secret.from_env("KEY")}, secrets=[Secret("OTHER")])
    assert options.to_json()["env"] == {"A": "b", "C": {"secret": "KEY"}}
    assert options.to_json()["secrets"] == ["OTHER"]
    assert set(options.to_json()) == {"retries", "env", "secrets"}
    assert options.to_json()["retries"]["retry_on"] == ["builtins.Exception"]


def test_a_name_of_python_that_no_folder_may_have_is_folded() -> None:
    @function
    def IsRight(text: str) -> bool:
        return True

    assert IsRight.name == "isright"


def test_only_plain_functions_can_be_decorated() -> None:
    with pytest.raises(TypeError, match="wrap it"):
        function(len)
    with pytest.raises(TypeError, match="wrap it"):
        function(str)


def test_waits_grow_up_to_a_limit() -> None:
    policy = RetryPolicy(initial_wait_seconds=1, backoff_multiplier=2, max_wait_seconds=5, jitter=False)
    assert [policy.wait_s(attempt, 0.0) for attempt in (1, 2, 3, 4)] == [1, 2, 4, 5]
    assert policy.wait_s(100_000, 0.0) == 5


def test_jitter_cuts_a_wait_by_up_to_a_half() -> None:
    policy = RetryPolicy(initial_wait_seconds=4)
    assert policy.wait_s(1, 0.0) == 4
    assert policy.wait_s(1, 0.999) == pytest.approx(2, abs=0.01)


def test_the_two_ways_to_make_a_retry_policy() -> None:
    assert RetryPolicy.exponential(attempts=5).max_retries == 5
    linear = RetryPolicy.linear(attempts=2, delay=3)
    assert (linear.max_retries, linear.jitter) == (2, False)
    assert [linear.wait_s(attempt, 0.5) for attempt in (1, 2)] == [3, 3]


@pytest.mark.parametrize(
    "make, error",
    [
        (lambda: RetryPolicy(max_retries=True), TypeError),
        (lambda: RetryPolicy(max_retries=1.5), TypeError),  # type: ignore[arg-type]
        (lambda: RetryPolicy(initial_wait_seconds=-1), ValueError),
        (lambda: RetryPolicy(retry_on=("ValueError",)), TypeError),  # type: ignore[arg-type]
        (lambda: RateLimitPolicy(1, per="day"), ValueError),
        (lambda: RateLimitPolicy(float("nan")), ValueError),
        (RateLimitPolicy, ValueError),
        (lambda: RateLimitPolicy(1, units=5), ValueError),
        (lambda: RateLimitPolicy(1, units_per_call=5), ValueError),
        (lambda: RateLimitPolicy(1, units=0, units_per_call=5), ValueError),
        (lambda: RateLimitPolicy(1, key=7), TypeError),  # type: ignore[arg-type]
        (lambda: RateLimitPolicy(1, key=" "), ValueError),
        (lambda: RateLimitPolicy(1, per=["second"]), ValueError),  # type: ignore[arg-type]
        (lambda: RateLimitPolicy(units=1000, units_per_call=1001), ValueError),
        (lambda: RateLimitPolicy(1e-300), ValueError),
        (lambda: ConcurrencyPolicy(True), TypeError),
    ],
)
def test_a_wrong_policy_is_refused(make: Any, error: type[Exception]) -> None:
    with pytest.raises(error):
        make()


def test_a_single_exception_class_may_stand_for_a_tuple() -> None:
    assert RetryPolicy(retry_on=OSError).retry_on == (OSError,)  # type: ignore[arg-type]


def test_a_rate_is_counted_by_the_second() -> None:
    policy = RateLimitPolicy(120, per="minute", units=6000, units_per_call=80, key="api")
    assert policy.rule("f1") == LimitRule("key api", calls_per_s=2, units_per_s=100, units_per_call=80)
    assert RateLimitPolicy(5).rule("f1") == LimitRule("function f1", calls_per_s=5)
    assert RateLimitPolicy(units=5, units_per_call=1).rule("f1").calls_per_s is None


def test_a_rate_limit_is_written_and_read() -> None:
    policy = RateLimitPolicy(per="hour", units=5, units_per_call=1, key="k")
    options = FunctionOptions.of(rate_limit=policy)
    assert FunctionOptions.from_json(json.loads(json.dumps(options.to_json()))).rate_limit == policy


def test_a_rate_limit_that_was_written_without_units_is_read() -> None:
    written = {"rate_limit": {"rate": 500, "per": "minute", "key": None}}
    assert FunctionOptions.from_json(written) == FunctionOptions(rate_limit=RateLimitPolicy(500, per="minute"))
    assert FunctionOptions.from_json(written).to_json() == written
