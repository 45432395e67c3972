"""Owners: who is to blame for a failure."""

from __future__ import annotations

from enum import StrEnum


class Owner(StrEnum):
    """Who is to blame for a failure."""

    MODEL = "model"
    HARNESS = "harness"
    SANDBOX = "sandbox"
    FIXTURE = "fixture"
    POLICY = "policy"
    NETWORK = "network"
    BUDGET = "budget"
    TEST = "test"
    JUDGE = "judge"
    DATA = "data"
