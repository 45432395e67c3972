from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import pytest

from pipeline.engine import Place, Resources, Service, StopSignal, choose_engine
from pipeline.engine.capacity import Node, threads_for, workers_for
from pipeline.engine.choose import check_shareable, landmarks, unseen
from pipeline.errors import EngineError

TWO_BY_FOUR = [Node("a", 4, 1, 8 * 2**30), Node("b", 4, 0, 8 * 2**30)]


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


def test_the_grace_period_runs_from_the_first_stop() -> None:
    clock = Clock()
    stop = StopSignal(grace_s=10, clock=clock)
    stop.stop()
    clock.now += 9
    stop.stop()
    assert (stop.is_stopped, stop.is_over) == (True, False)
    clock.now += 1
    assert stop.is_over


def test_a_kill_needs_no_stop_before_it() -> None:
    stop = StopSignal()
    assert (stop.is_stopped, stop.is_over) == (False, False)
    stop.kill()
    assert (stop.is_stopped, stop.is_over) == (True, True)


@pytest.mark.parametrize(
    "engine, n_parts, address, variable, expected",
    [
        ("auto", 2, None, None, "inline"),
        ("auto", 3, None, None, "ray"),
        ("auto", 1, "10.0.0.1:6379", None, "ray"),
        ("auto", 1, None, "10.0.0.1:6379", "ray"),
        ("auto", 1, "local", None, "ray"),
        ("inline", 9, None, "10.0.0.1:6379", "inline"),
        ("ray", 1, None, None, "ray"),
    ],
)
def test_auto_is_inline_for_two_parts_and_no_named_cluster(
    engine: str, n_parts: int, address: str | None, variable: str | None, expected: str
) -> None:
    environ = {"RAY_ADDRESS": variable} if variable else {}
    assert choose_engine(engine, n_parts, address, environ=environ) == expected


def test_the_inline_engine_and_a_cluster_exclude_each_other() -> None:
    with pytest.raises(EngineError, match=r"cannot use the cluster 10\.0\.0\.1:6379: leave out one"):
        choose_engine("inline", 1, "10.0.0.1:6379")


def test_an_unknown_engine_is_refused_with_the_known_ones() -> None:
    with pytest.raises(EngineError, match='engine "spark" is not known: use auto, inline or ray'):
        choose_engine("spark", 1, None)


@pytest.mark.parametrize(
    "url, fix", [("memory://x", "the inline engine"), ("./results", "give an absolute path"), ("x", "absolute path")]
)
def test_a_place_of_one_process_is_refused_with_the_fix(url: str, fix: str) -> None:
    with pytest.raises(EngineError, match=fix):
        check_shareable(["s3://bucket/x", url])


def test_urls_and_absolute_paths_are_shareable() -> None:
    check_shareable(["s3://bucket/x", "file:///data", "/data", "gs://b"])


def test_a_landmark_is_seen_only_where_the_very_same_folder_is(tmp_path: Path) -> None:
    (tmp_path / "store").mkdir()
    marks = landmarks([f"file://{tmp_path}/store", f"{tmp_path}/absent", "s3://bucket"])
    assert (list(marks), unseen(marks)) == ([f"{tmp_path}/store"], [])
    (tmp_path / "store").rename(tmp_path / "old")
    assert unseen(marks) == [f"{tmp_path}/store"]
    (tmp_path / "store").mkdir()
    assert unseen(marks) == [f"{tmp_path}/store"]


@pytest.mark.parametrize(
    "resources, n_parts, asked, expected",
    [
        (Resources(), 100, None, 8),
        (Resources(), 3, None, 3),
        (Resources(), 100, 5, 5),
        (Resources(num_cpus=3), 100, None, 2),
        (Resources(num_cpus=0.1), 100, None, 80),
        (Resources(num_cpus=0), 100, None, 8),
        (Resources(num_gpus=0.5), 100, None, 2),
        (Resources(memory=3 * 2**30), 100, None, 4),
    ],
)
def test_as_many_workers_as_fit_on_single_nodes(
    resources: Resources, n_parts: int, asked: int | None, expected: int
) -> None:
    assert workers_for(TWO_BY_FOUR, resources, n_parts, asked) == expected


@pytest.mark.parametrize(
    "resources, asked, message",
    [
        (Resources(num_cpus=5), None, "a worker needs 5 CPU on one node, the cluster has 8 CPU, 1 GPU, 16.0 GiB on 2"),
        (Resources(num_gpus=2), None, "a worker needs 1 CPU and 2 GPU on one node"),
        (Resources(), 9, "9 workers of 1 CPU were asked for, .* ask for at most 8"),
        (Resources(), 0, "0 workers were asked for"),
    ],
)
def test_more_than_the_cluster_has_is_refused(resources: Resources, asked: int | None, message: str) -> None:
    with pytest.raises(EngineError, match=message):
        workers_for(TWO_BY_FOUR, resources, 100, asked)


def test_the_threads_of_all_workers_together_do_not_exceed_the_cpus() -> None:
    assert threads_for(TWO_BY_FOUR, Resources(), 8) == 1
    assert threads_for(TWO_BY_FOUR, Resources(), 4) == 2
    assert threads_for(TWO_BY_FOUR, Resources(), 1) == 4
    assert threads_for(TWO_BY_FOUR, Resources(num_cpus=0.1), 80) == 1


class Asking(NamedTuple):
    """Of a pool, what `choose_engine` looks at."""

    resources: Resources

    def open(self, place: Place) -> Service:
        raise AssertionError("nothing is opened to choose")


@pytest.mark.parametrize("needs", [Resources(num_gpus=1.0), Resources(runtime_env={"env_vars": {"CITY": "Oslo"}})])
def test_what_this_process_cannot_give_is_asked_of_ray(needs: Resources) -> None:
    assert choose_engine("auto", 1, None, services={"task": Asking(needs)}, environ={}) == "ray"
    assert choose_engine("auto", 1, None, services={"task": Asking(Resources(num_cpus=2.0))}, environ={}) == "inline"


def test_a_runtime_environment_is_not_left_out_in_silence() -> None:
    asking = {"scorer tone": Asking(Resources(runtime_env={"env_vars": {"CITY": "Oslo"}}))}
    with pytest.raises(EngineError, match="scorer tone asks for a runtime_env, which this process cannot give"):
        choose_engine("inline", 1, None, services=asking)
