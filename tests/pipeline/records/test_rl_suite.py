"""The spec of a rollout suite: one model from three formats, and what an error says of a line of it."""

from __future__ import annotations

import json

import pytest

from pipeline.errors import InputError
from pipeline.records.rl_suite import RlCase, RlSuite, Split
from pipeline.records.spec_file import parse_suite

HEAD = "schema: chock.rl-suite\nversion: 1\nname: n\n"
CASE = "cases:\n- {name: a b, spec: a.zon, split: train, rollouts: 8, group_size: 4}\n"
SUITE = RlSuite(name="n", cases=(RlCase(name="a b", spec="a.zon", split=Split.TRAIN, rollouts=8, group_size=4),))

ZON = """.{ .schema = "chock.rl-suite", .version = 1, .name = "n", .cases = &.{
    .{ .name = "a b", .spec = "a.zon", .split = .train, .rollouts = 8, .group_size = 4 },
} }"""


def test_a_suite_is_the_same_in_every_format() -> None:
    assert parse_suite((HEAD + CASE).encode(), "a.yaml") == SUITE
    assert parse_suite(ZON.encode(), "a.zon") == SUITE
    assert parse_suite(ZON.replace(".train", '"train"').encode(), "a.zon") == SUITE
    as_json = json.dumps(SUITE.model_dump(mode="json", by_alias=True))
    assert parse_suite(as_json.encode(), "a.json") == SUITE


def test_every_split_is_a_name_after_a_dot() -> None:
    for split, written in (("validation", ".validation"), ("test", ".test"), ("test", '.@"test"')):
        (case,) = parse_suite(ZON.replace(".train", written).encode(), "a.zon").cases
        assert case.split == split


def test_one_session_at_a_time_is_the_default() -> None:
    assert (SUITE.parallelism, SUITE.output) == (1, None)


def case(name: str) -> str:
    return CASE.removeprefix("cases:\n").replace("a b", name)


@pytest.mark.parametrize(
    "text, message",
    [
        (HEAD.replace("rl-suite", "eval"), "a.yaml:1: schema is 'chock.eval'; this assay reads schema: chock.rl-suite"),
        (HEAD, "a.yaml:1: the field 'cases' is missing"),
        (HEAD + "cases: []", "a.yaml:4: cases: found []; expected a list that is not empty"),
        (HEAD + CASE + "paralellism: 2", "a.yaml:6: unknown field 'paralellism'; did you mean 'parallelism'?"),
        (HEAD + CASE + "parallelism: 0", "a.yaml:6: parallelism: found 0; input should be greater than or equal to 1"),
        (HEAD + CASE + "parallelism: 4097", "found 4097; input should be less than or equal to 4096"),
        (HEAD + CASE + "parallelism: '8'", "parallelism: found '8'; expected a whole number"),
        (HEAD + CASE.replace("train", "trian"), "a.yaml:5: cases[0].split: found 'trian'; input should be 'train', "),
        (HEAD + CASE.replace("train", "trian"), "did you mean 'train'?"),
        (HEAD + CASE.replace("rollouts: 8", "rollouts: 0"), "cases[0].rollouts: found 0; input should be greater"),
        (HEAD + CASE.replace("size: 4", "size: 3"), "a.yaml:5: cases[0].group_size: found 3; it must divide rollouts"),
        (HEAD + CASE.replace("size: 4", "size: 16"), "cases[0].group_size: found 16; it must divide rollouts, which"),
        (HEAD + CASE.replace("group_size", "groups"), "a.yaml:5: unknown field 'cases[0].groups'; did you mean"),
        (HEAD + CASE + case("a b"), "the name 'a b' stands twice: give one of them another name"),
        (HEAD + CASE + case("A-B!"), "the name 'A-B!' and 'a b' are one name in a path: give one of them another"),
    ],
)  # fmt: skip
def test_an_error_names_line_field_what_was_found_and_what_is_allowed(text: str, message: str) -> None:
    with pytest.raises(InputError) as caught:
        parse_suite(text.encode(), "a.yaml")
    assert message in str(caught.value)


def test_errors_of_zon_name_the_line() -> None:
    with pytest.raises(InputError, match=r"^a.zon:2: cases\[0\].split: found .trian; input should be"):
        parse_suite(ZON.replace(".train", ".trian").encode(), "a.zon")
