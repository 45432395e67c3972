from __future__ import annotations

import inspect
import json
import os
from types import ModuleType
from typing import Any

import commit_simulator
import pytest
from commit_simulator import Violation, run_schedule

from pipeline.records import base
from pipeline.records.plan import Manifest
from pipeline.store import commit, commit_checks, create

N_SCHEDULES = int(os.environ.get("ASSAY_SCHEDULES", "20000"))
FIRST_SEED = int(os.environ.get("ASSAY_FIRST_SEED", "0"))


@pytest.fixture(autouse=True)
def remembered_json(monkeypatch):
    """The same few values are written down a million times: each once is enough."""
    honest, remembered = base.canonical_json, {}

    def canonical_json(value):
        key = json.dumps(value)
        if key not in remembered:
            if len(remembered) > 50_000:
                remembered.clear()
            remembered[key] = honest(value)
        return remembered[key]

    monkeypatch.setattr(base, "canonical_json", canonical_json)


@pytest.mark.timeout(600)
def test_no_schedule_of_drivers_zombies_and_faults_breaks_an_invariant():
    broken, n_operations, n_faults = [], 0, 0
    for seed in range(FIRST_SEED, FIRST_SEED + N_SCHEDULES):
        try:
            world = run_schedule(seed)
        except Violation as violation:
            broken.append(str(violation))
        else:
            n_operations += world.n_operations
            n_faults += world.n_faults
    assert not broken, f"{len(broken)} of {N_SCHEDULES} schedules: " + "\n".join(broken[:50])
    assert n_operations > 20 * N_SCHEDULES
    assert n_faults > N_SCHEDULES


def test_the_same_seed_is_the_same_schedule():
    first, second = run_schedule(7), run_schedule(7)
    assert first.n_operations == second.n_operations
    assert first.backend.objects == second.backend.objects


Patch = tuple[ModuleType, str, str, str]
PUTS = """    for file in receipt.files:
        store.put(_key(prefix, file.path), files[file.path])
"""
READ_BACK = """    except (ExistsError, RetryError) as unclear:
        return _read_back(backend, key, unclear)
"""
DROP_DATA_OF_LIVE_WORKERS = """    for key in store.list(_key(prefix, "data")):
        store.delete(key)
    return Progress(None, found)"""

PLANTED: dict[str, list[Patch]] = {
    "I1/I3: an object is overwritten instead of created": [
        (create, "_create_once", "backend.put_if_absent(key, data)", "backend.put(key, data, durable=True)")
    ],
    "I2: the receipt is written before the data": [
        (commit, "publish", PUTS, "    store.create(_receipt_key(prefix, receipt.part), receipt.to_bytes())\n" + PUTS)
    ],
    "I4: a part is left out of the index": [
        (commit_checks, "build_manifest", "in plan.parts)\n", "in plan.parts[:-1] or plan.parts)\n"),
    ],
    "I6: exists is taken for a failure": [(create, "_create_once", "(ExistsError, RetryError)", "RetryError")],
    "I2: exists is taken for mine": [
        (create, "_create_once", "return _read_back(backend, key, unclear)", "return data")
    ],
    "I7: an unclear reply is taken for success": [
        (
            create,
            "_create_once",
            READ_BACK,
            READ_BACK.replace("(ExistsError, RetryError)", "ExistsError") + "    except RetryError:\n        pass\n",
        )
    ],
    "I8: an unclear reply is offered again with other bytes": [
        (create, "create", "key, data), key)", "key, data + b' ' * (backend.world.n_operations % 2)), key)")
    ],
    "I6: absent after exists is taken for a failure": [(create, "_read_back", "RetryError(f", "MissingError(f")],
    "I3: the loser keeps its own receipt": [(commit, "publish", "return standing", "return receipt")],
    "I2: the loser drops the winner's files": [
        (commit, "publish", "receipt.files, kept=standing.files", "standing.files, kept=()")
    ],
    "I2: a resume sweeps the data of live workers": [
        (commit, "begin", "    return Progress(None, found)", DROP_DATA_OF_LIVE_WORKERS)
    ],
    "I5: a resume ignores the receipts that stand": [(commit, "begin", "if data is not None:", "if False:")],
    "I7: another plan is not noticed": [(commit, "_compare_plans", "if stands != mine:", "if False:")],
    "I6: a swept upload is taken for a failure": [(commit, "_check_arrival", "and store.size(key) is None", "")],
}
UNCHECKED = {"I4: a part is left out of the index"}
"""Bugs that the code's own checks would stop: those are taken away, so that the simulator must see them."""


def plant(monkeypatch: pytest.MonkeyPatch, patches: list[Patch]) -> None:
    for module, name, old, new in patches:
        source = inspect.getsource(getattr(module, name))
        assert source.count(old) == 1, f"{name} no longer holds {old!r}: plant the bug anew"
        namespace: dict[str, Any] = dict(vars(module))
        exec(compile(source.replace(old, new), f"<planted in {name}>", "exec"), namespace)
        # The planted function sees the module's own names, planted ones included.
        planted = type(namespace[name])(namespace[name].__code__, vars(module), name, None, None)
        planted.__kwdefaults__ = namespace[name].__kwdefaults__
        for user in (create, commit, commit_checks):
            if hasattr(user, name):
                monkeypatch.setattr(user, name, planted)


def schedules_until_caught(limit: int) -> str:
    """The first violation. Most bugs need fewer than five schedules, the shyest one thirteen."""
    for seed in range(limit):
        try:
            run_schedule(seed)
        except Violation as violation:
            return str(violation)
    raise AssertionError(f"not caught within {limit} schedules")


@pytest.mark.parametrize("bug", PLANTED)
def test_a_planted_bug_is_caught(bug, monkeypatch):
    plant(monkeypatch, PLANTED[bug])
    if bug in UNCHECKED:
        monkeypatch.setattr(commit, "parse_manifest", lambda data, plan, where: Manifest.from_bytes(data, where))
    violation = schedules_until_caught(200)
    assert bug.split(":")[0] in violation


def test_data_that_is_not_named_by_its_content_is_caught(monkeypatch):
    monkeypatch.setattr(commit_simulator, "data_path", lambda part, digest: f"data/{part}.parquet")
    monkeypatch.setattr(commit, "check_files", lambda receipt, files: None)
    assert "I2" in schedules_until_caught(200)


def test_an_attempt_number_in_the_receipt_is_caught(monkeypatch):
    honest, attempts = commit_simulator.do_part, iter(range(10**9))

    def numbered(plan, digest, part, attempt):
        receipt, files = honest(plan, digest, part, attempt)
        return receipt.model_copy(update={"sums": {"attempt": next(attempts)}}), files

    for plan in commit_simulator.PLANS.values():  # the golden ones are made by honest workers
        commit_simulator.golden_index(plan)
    monkeypatch.setattr(commit_simulator, "do_part", numbered)
    assert "I8" in schedules_until_caught(200)
