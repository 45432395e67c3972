"""The options of a function: checked once, kept frozen, written as JSON. Runs nothing."""

from __future__ import annotations

import builtins
import dataclasses
import json
import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Self

from pipeline.functions.policies import ConcurrencyPolicy, RateLimitPolicy, RetryPolicy
from pipeline.functions.secret import VARIABLE, Secret
from pipeline.records.names import check_name, nearest

BATCH_ROWS = 1024  # rows a call of `batch=True`: an exception costs at most these
SAME_AS = {"cpu": "num_cpus", "gpu": "num_gpus"}
DECIDING = ("name", "retries", "timeout_s", "batch", "env", "runtime_env")
"""Options that can change a result, and so are part of the version; the others only say where and how fast."""

UNITS = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12}
UNITS |= {"ki": 2**10, "mi": 2**20, "gi": 2**30, "ti": 2**40}


@dataclass(frozen=True)
class FunctionOptions:
    """What was asked for a function beside its body. None: nothing was asked."""

    name: str | None = None
    num_cpus: float | None = None
    num_gpus: float | None = None
    memory: int | None = None
    """Bytes."""
    concurrency: ConcurrencyPolicy | None = None
    retries: RetryPolicy | None = None
    rate_limit: RateLimitPolicy | None = None
    timeout_s: float | None = None
    """Seconds for one call of the body."""
    batch: int = 0
    """Rows a call; 0: one row at a time, by its values."""
    env: Mapping[str, str | Secret] = field(default_factory=dict)
    secrets: tuple[Secret, ...] = ()
    runtime_env: Mapping[str, Any] = field(default_factory=dict)
    """Handed to Ray as it is."""

    @classmethod
    def of(cls, **given: Any) -> Self:
        """Check and normalise options as the user gives them.

        Raises:
            TypeError: an unknown option (with the nearest known one), or a value of the wrong type.
            ValueError: a value out of range.
        """
        if "image" in given:
            raise TypeError("option 'image' is not supported: list packages in runtime_env={'pip': [...]} instead")
        known = {entry.name for entry in dataclasses.fields(cls)}
        values: dict[str, Any] = {}
        for name, value in given.items():
            target = SAME_AS.get(name, name)
            if target not in known:
                raise TypeError(f"unknown function option {name!r}{nearest(name, known | set(SAME_AS))}")
            if value is None:
                continue
            if target in values:
                raise TypeError(f"options {name!r} and {target!r} are the same: give one of them")
            values[target] = CHECKS[target](name, value)
        return cls(**values)

    def to_json(self) -> dict[str, Any]:
        """The options that are not at their default. Of secrets only the names."""
        found: dict[str, Any] = {}
        for entry in dataclasses.fields(self):
            value = getattr(self, entry.name)
            if value not in (None, 0, (), {}):
                found[entry.name] = _plain(value)
        return found

    @classmethod
    def from_json(cls, written: Mapping[str, Any]) -> Self:
        """The options that `to_json` wrote, for show; exception classes that are not built in are left out."""
        given = dict(written)
        if "retries" in given:
            names = [name.removeprefix("builtins.") for name in given["retries"]["retry_on"]]
            kinds = tuple(getattr(builtins, name) for name in names if hasattr(builtins, name))
            given["retries"] = RetryPolicy(**{**given["retries"], "retry_on": kinds})
        for option, policy in (("rate_limit", RateLimitPolicy), ("concurrency", ConcurrencyPolicy)):
            if option in given:
                given[option] = policy(**given[option])
        env = {name: Secret(v["secret"]) if isinstance(v, dict) else v for name, v in given.pop("env", {}).items()}
        secrets = tuple(map(Secret, given.pop("secrets", ())))
        return cls(**given, env=env, secrets=secrets)

    def deciding(self) -> dict[str, Any]:
        """The part of `to_json` that belongs to the version."""
        return {name: value for name, value in self.to_json().items() if name in DECIDING}


def _plain(value: Any) -> Any:
    if isinstance(value, Secret):
        return {"secret": value.name}
    if isinstance(value, tuple):
        return [secret.name for secret in value]
    if isinstance(value, Mapping):
        return {key: _plain(item) for key, item in value.items()}
    return value.to_json() if hasattr(value, "to_json") else value


def _name(option: str, value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{option} must be text, found {value!r}")
    return check_name(value, "function")


def _amount(option: str, value: Any) -> float:
    """A number, or text such as `2`, `0.5`, `500m` (thousandths)."""
    if isinstance(value, str) and (match := re.fullmatch(r"(\d+(?:\.\d+)?)(m?)", value.strip())):
        value = float(match[1]) / (1000 if match[2] else 1)
    return _positive(option, value, zero=True)


def _positive(option: str, value: Any, *, zero: bool = False) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise TypeError(f"{option} must be a number, found {value!r}")
    if not math.isfinite(value) or value < 0 or (value == 0 and not zero):
        raise ValueError(f"{option} must be finite and {'not negative' if zero else 'above 0'}, found {value}")
    return float(value)


def memory_bytes(option: str, value: Any) -> int:
    """Bytes as a number, or text such as `512Mi`, `2G`, `2gib`."""
    if isinstance(value, str):
        match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([kmgt]i?)?b?", value.strip().casefold())
        if match is None:
            raise ValueError(f"{option} must be bytes or text such as '512Mi' or '2G', found {value!r}")
        value = float(match[1]) * UNITS[match[2] or ""]
    return int(_positive(option, value))


def _batch(option: str, value: Any) -> int:
    if isinstance(value, bool):
        return BATCH_ROWS if value else 0
    return int(ConcurrencyPolicy(value).max_concurrent) if isinstance(value, int) else _refuse(option, value)


def _refuse(option: str, value: Any) -> Any:
    raise TypeError(f"{option} does not take {value!r}")


def _policy(kind: type, numbers: type | tuple[type, ...]) -> Callable[[str, Any], Any]:
    def check(option: str, value: Any) -> Any:
        if isinstance(value, kind):
            return value
        if isinstance(value, bool) or not isinstance(value, numbers):
            raise TypeError(f"{option} must be a number or a {kind.__name__}, found {value!r}")
        return kind(value)

    return check


def _env(option: str, value: Any) -> dict[str, str | Secret]:
    if not isinstance(value, Mapping):
        raise TypeError(f"{option} must map names to text or secrets, found {value!r}")
    for name, item in value.items():
        if not isinstance(name, str) or not VARIABLE.match(name) or not isinstance(item, str | Secret):
            raise TypeError(f"{option}[{name!r}] must be text or Secret.from_env(...), under a variable's name")
    return dict(value)


def _secrets(option: str, value: Any) -> tuple[Secret, ...]:
    items = (value,) if isinstance(value, Secret) else value
    if not isinstance(items, Sequence) or not all(isinstance(item, Secret) for item in items):
        raise TypeError(f"{option} must be a list of Secret.from_env(...)")
    return tuple(items)


def _runtime_env(option: str, value: Any) -> dict[str, Any]:
    try:
        return dict(json.loads(json.dumps(dict(value), allow_nan=False)))
    except (TypeError, ValueError) as error:
        raise TypeError(f"{option} must be a mapping of JSON values (secrets go to secrets=): {error}") from None


CHECKS: Mapping[str, Callable[[str, Any], Any]] = {
    "name": _name,
    "num_cpus": _amount,
    "num_gpus": _amount,
    "memory": memory_bytes,
    "concurrency": _policy(ConcurrencyPolicy, int),
    "retries": _policy(RetryPolicy, int),
    "rate_limit": _policy(RateLimitPolicy, (int, float)),
    "timeout_s": _positive,
    "batch": _batch,
    "env": _env,
    "secrets": _secrets,
    "runtime_env": _runtime_env,
}
