from __future__ import annotations

import pytest

from pipeline.engine import Resources
from pipeline.engine.arrangement import arrange
from pipeline.engine.capacity import Node
from pipeline.errors import EngineError

SMALL = Node("a", cpus=2.0, gpus=0.0, memory=2**33)
GPU = Node("b", cpus=8.0, gpus=2.0, memory=2**35)


def test_without_pools_the_workers_have_all_cpus() -> None:
    assert arrange([SMALL, GPU], Resources(), {}, 100, None)[:2] == (10, Resources())


def test_a_pool_gets_the_gpus_and_there_is_a_worker_for_each_member() -> None:
    found = arrange([SMALL, GPU], Resources(), {"embed": Resources(num_gpus=1.0)}, 100, None)
    assert (found.members, found.workers, found.worker) == ({"embed": 2}, 2, Resources())


def test_a_worker_asks_for_no_cpu_where_the_pool_has_them_all() -> None:
    found = arrange([SMALL], Resources(), {"heavy": Resources(num_cpus=2.0)}, 100, None)
    assert (found.members, found.workers, found.worker.num_cpus) == ({"heavy": 1}, 1, 0.0)


def test_each_of_two_pools_gets_a_member_before_either_gets_a_second() -> None:
    pools = {"one": Resources(), "two": Resources()}
    assert arrange([SMALL], Resources(), pools, 100, None).members == {"one": 1, "two": 1}


def test_no_pool_has_more_members_than_there_are_parts() -> None:
    assert arrange([GPU], Resources(), {"one": Resources()}, 3, None).members == {"one": 3}


def test_pools_that_do_not_fit_together_are_refused_by_name() -> None:
    pools = {"one": Resources(num_cpus=2.0), "two": Resources()}
    with pytest.raises(EngineError, match="two finds no room beside one: ask for less"):
        arrange([SMALL], Resources(), pools, 100, None)
