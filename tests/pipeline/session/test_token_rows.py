"""Branches and rows: every prompt and response comes back exactly, and every sampled token is trained once."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from token_making import LOG, provider, report_of, tokens, trajectory_from, trajectory_of

from pipeline.records.exchange import TokenFields
from pipeline.records.exchange import WeightSpan as Span
from pipeline.records.token_columns import TOKEN_SCHEMA, TOKEN_WRITER
from pipeline.records.trajectory import Fork, Trajectory
from pipeline.session.token_branches import count_prefixes
from pipeline.session.token_rows import RolloutPlace, prefix_chains, token_table, turn_rows
from pipeline.session.trajectory import load_trajectory, make_trajectory

FIRST = tokens([1, 10, 11], [20, 21, 2])
SECOND = tokens([1, 10, 11, 20, 21, 2, 30, 31], [40, 41, 2])
PLACE = RolloutPlace(case="parser", split="train", group=0, rollout=3)


def branches(made: Trajectory) -> list[int | None]:
    return [turn.branch for turn in made.turns]


def test_a_prompt_that_extends_prompt_and_response_exactly_stays_in_its_branch() -> None:
    made = trajectory_of(FIRST, SECOND)
    assert branches(made) == [0, 0]
    assert [turn.fork for turn in made.turns] == [None, None]
    (chain,) = prefix_chains(made)
    assert chain.turns == [0, 1]
    assert tuple(chain.prompt_token_ids) == (1, 10, 11)
    assert tuple(chain.response_token_ids) == (20, 21, 2, 30, 31, 40, 41, 2)
    assert tuple(chain.response_mask) == (1, 1, 1, 0, 0, 1, 1, 1)
    assert tuple(chain.old_logprobs) == (-0.5, -0.625, -0.75, None, None, -0.5, -0.625, -0.75)


def test_text_that_was_encoded_again_breaks_the_prefix_and_the_turn_says_where() -> None:
    encoded_again = tokens([1, 10, 11, 22, 2, 30], [40, 2])  # 20, 21 became 22
    made = trajectory_of(FIRST, encoded_again)
    assert (made.trainable, branches(made)) == (True, [0, 1])
    assert made.turns[1].fork == Fork(turn=0, position=3, n_left_out=3)
    assert made.turns[1].remarks == (
        "the prompt does not extend what was there before: it leaves turn 0 at position 3, 3 tokens before its end; "
        "branch 1 begins here [prefix]",
    )
    assert [chain.turns for chain in prefix_chains(made)] == [[0], [1]]
    assert count_prefixes(made.turns) == (0, 1)
    assert count_prefixes(trajectory_of(FIRST, SECOND).turns) == (1, 0)


@pytest.mark.parametrize(
    "prompt, position, n_left_out",
    [
        ([1, 10, 11, 20, 21], 5, 1),  # without the token that ended the response
        ([1, 10, 11], 3, 3),
        ([1, 10], 2, 4),
        ([9], 0, 6),
        ([1, 10, 11, 20, 21, 3, 30], 5, 1),
    ],
)
def test_a_fork_tells_how_far_the_prompts_agree(prompt: list[int], position: int, n_left_out: int) -> None:
    fork = trajectory_of(FIRST, tokens(prompt, [50])).turns[1].fork
    assert fork == Fork(turn=0, position=position, n_left_out=n_left_out)


def test_a_turn_goes_on_with_the_branch_that_it_extends_also_after_another_one() -> None:
    aside = tokens([7, 7], [8, 2])
    made = trajectory_of(FIRST, aside, SECOND, tokens([7, 7, 8, 2, 9], [8, 2]))
    assert branches(made) == [0, 1, 0, 1]
    assert [chain.turns for chain in prefix_chains(made)] == [[0, 2], [1, 3]]


def test_a_branch_that_begins_inside_another_trains_what_they_share_in_one_only() -> None:
    other = tokens([1, 10, 11, 20, 21, 2, 39], [60, 2])  # extends turn 0, but not turn 1
    made = trajectory_of(FIRST, SECOND, other)
    assert branches(made) == [0, 0, 1]
    assert made.turns[2].fork == Fork(turn=1, position=6, n_left_out=5)
    chains = prefix_chains(made)
    assert tuple(chains[1].prompt_token_ids) == (1, 10, 11, 20, 21, 2, 39)
    assert sum(sum(chain.response_mask) for chain in chains) == 3 + 3 + 2


def test_a_response_that_is_given_again_with_the_next_is_trained_once() -> None:
    doubled = tokens(
        [1, 10, 11], [20, 21, 2, 30, 40, 2], response_mask=(1, 1, 1, 0, 1, 1),
        old_logprobs=(-0.5, -0.625, -0.75, None, -0.25, -0.125),
    )  # fmt: skip
    made = trajectory_of(FIRST, doubled)
    assert (made.trainable, branches(made)) == (True, [0, 1])
    assert [turn.response_mask for turn in made.turns] == [(1, 1, 1), (0, 0, 0, 0, 1, 1)]
    assert "the response begins with that of turn 0, where those tokens are trained [prefix]" in made.turns[1].remarks
    row = turn_rows(made)[1]
    assert row.old_logprobs == (None, None, None, None, -0.25, -0.125)  # null, never 0.0
    third = tokens(
        [1, 10, 11], [20, 21, 2, 30, 40, 2, 31, 50], response_mask=(1, 1, 1, 0, 1, 1, 0, 1),
        old_logprobs=(-0.5, -0.625, -0.75, None, -0.25, -0.125, None, -1.0),
    )  # fmt: skip
    assert trajectory_of(FIRST, doubled, third).turns[2].response_mask == (0, 0, 0, 0, 0, 0, 0, 1)


def test_two_responses_to_one_prompt_that_begin_alike_were_sampled_twice() -> None:
    made = trajectory_of(FIRST, tokens([1, 10, 11], [20, 21, 9, 2]))
    assert [turn.response_mask for turn in made.turns] == [(1, 1, 1), (1, 1, 1, 1)]


def test_nothing_is_trained_where_one_turn_is_faulty() -> None:
    made = trajectory_of(FIRST, None)
    assert (turn_rows(made), prefix_chains(made)) == ([], [])
    table = token_table(made, PLACE)
    assert table.column("turn").to_pylist() == [0, 1]
    assert table.column("trainable").to_pylist() == [False, False]
    assert table.column("response_token_ids").null_count == table.column("branch").null_count == 2


def test_a_turn_in_which_nothing_was_sampled_keeps_its_place() -> None:
    silent = tokens([1, 10, 11, 20, 21, 2, 30], [40], response_mask=(0,), old_logprobs=(None,))
    made = trajectory_of(FIRST, silent, tokens([1, 10, 11, 20, 21, 2, 30, 40], [50]))
    assert (made.trainable, branches(made)) == (False, [0, 0, 0])


def test_rows_have_the_columns_of_token_parts() -> None:
    spans = (Span(version="step-1", start=0, end=1), Span(version="step-2", start=1, end=3))
    made = trajectory_from([provider(0, FIRST, weight_versions=spans), provider(1, SECOND)], reward=None)
    table = token_table(made, PLACE)
    assert table.schema == TOKEN_SCHEMA
    first, second = table.to_pylist()
    assert first == {
        "case": "parser", "split": "train", "group": 0, "rollout": 3, "turn": 0, "branch": 0,
        "prompt_token_ids": [1, 10, 11], "response_token_ids": [20, 21, 2], "response_mask": [1, 1, 1],
        "old_logprobs": [-0.5, -0.625, -0.75], "reward": None, "reward_components": [("tests", 0.5)],
        "fault_owner": None, "trainable": True, "weight_version_min": "step-1", "weight_version_max": "step-2",
        "session": made.report.session,
    }  # fmt: skip
    assert (second["turn"], second["weight_version_min"]) == (1, None)


IDS = st.integers(0, 3)  # few, so that prompts agree by chance
LONG_IDS = st.integers(0, 2**31 - 1)


@st.composite
def sessions(draw: Any) -> list[TokenFields]:
    """Turns that extend an earlier one, give it again with more, leave it somewhere, or begin anew."""
    turns: list[TokenFields] = []
    for _ in range(draw(st.integers(1, 6))):
        ids = draw(st.sampled_from([IDS, LONG_IDS]))
        before: TokenFields | None = draw(st.sampled_from([None, *turns]))
        prompt = draw(st.lists(ids, min_size=1, max_size=5))
        response, mask, logprobs = sampled(draw, ids)
        if before is not None:
            whole = [*before.prompt_token_ids, *before.response_token_ids]
            how = draw(st.sampled_from(["extends", "again", "leaves"]))
            if how == "again":  # the engine gives the response before once more
                prompt = list(before.prompt_token_ids)
                response = [*before.response_token_ids, *response]
                mask = [*before.response_mask, *mask]
                logprobs = [*before.old_logprobs, *logprobs]
            else:
                kept = len(whole) if how == "extends" else draw(st.integers(0, len(whole)))
                prompt = [*whole[:kept], *prompt]
        turns.append(tokens(prompt, response, response_mask=tuple(mask), old_logprobs=tuple(logprobs)))
    return turns


def sampled(draw: Any, ids: Any) -> tuple[list[int], list[int], list[float | None]]:
    response = draw(st.lists(ids, min_size=1, max_size=5))
    mask = draw(st.lists(st.integers(0, 1), min_size=len(response), max_size=len(response)).filter(any))
    logprobs = st.floats(-100, 0, width=32)
    return response, mask, [draw(logprobs) if is_sampled else None for is_sampled in mask]


@given(sessions())
def test_chains_reproduce_every_prompt_and_response_exactly(turns: list[TokenFields]) -> None:
    made = trajectory_of(*turns)
    chains = prefix_chains(made)
    assert sorted(number for chain in chains for number in chain.turns) == list(range(len(turns)))
    for chain in chains:
        whole = (*chain.prompt_token_ids, *chain.response_token_ids)
        lengths = {len(chain.response_token_ids), len(chain.response_mask), len(chain.old_logprobs)}
        assert len(lengths) == 1
        for number in chain.turns:
            found = turns[number]
            both = (*found.prompt_token_ids, *found.response_token_ids)
            assert whole[: len(both)] == both
        assert chain.turns == sorted(chain.turns)


@given(sessions())
def test_every_sampled_token_is_trained_once_in_both_forms(turns: list[TokenFields]) -> None:
    made = trajectory_of(*turns)
    rows, chains = turn_rows(made), prefix_chains(made)
    n_trained = sum(sum(turn.response_mask or ()) for turn in made.turns)
    assert sum(sum(row.response_mask) for row in rows) == sum(sum(chain.response_mask) for chain in chains) == n_trained
    for form in (rows, chains):
        for row in form:
            pairs = list(zip(row.response_mask, row.old_logprobs, strict=True))
            assert all((value is not None) == bool(is_trained) for is_trained, value in pairs)
    # Where a token was sampled: its turn, or the first one whose whole response is given again.
    wanted = {origin(turns, number, at) for number in range(len(turns)) for at in sampled_at(turns[number])}
    trained = [
        (row.turn, len(row.prompt_token_ids) + at)
        for row in rows
        for at, is_trained in enumerate(row.response_mask)
        if is_trained
    ]
    assert sorted(trained) == sorted(wanted)


def sampled_at(found: TokenFields) -> list[int]:
    begin = len(found.prompt_token_ids)
    return [begin + at for at, is_sampled in enumerate(found.response_mask) if is_sampled]


def origin(turns: Sequence[TokenFields], number: int, at: int) -> tuple[int, int]:
    """The turn that sampled the token at this position of a turn's prompt and response."""
    whole = (*turns[number].prompt_token_ids, *turns[number].response_token_ids)
    for earlier in range(number):
        found = turns[earlier]
        both = (*found.prompt_token_ids, *found.response_token_ids)
        if whole[: len(both)] == both and at in sampled_at(found):
            return origin(turns, earlier, at)
    return number, at


@given(sessions())
def test_a_trajectory_of_any_session_is_read_as_it_was_written(turns: list[TokenFields]) -> None:
    made = trajectory_of(*turns)
    assert made.trainable
    assert load_trajectory(made.to_bytes()) == made


def bits(table: pa.Table, name: str) -> tuple[list[int], bytes, list[bool]]:
    """Lengths, values bit by bit, and which are null."""
    column = table.column(name).combine_chunks()
    values = column.flatten()
    return (
        column.value_lengths().to_pylist(),
        np.asarray(values.fill_null(0)).tobytes(),
        values.is_null().to_pylist(),
    )


@given(sessions())
def test_ids_masks_and_logprobs_survive_a_file_bit_for_bit(tmp_path_factory: Any, turns: list[TokenFields]) -> None:
    table = token_table(trajectory_of(*turns), PLACE)
    path: Path = tmp_path_factory.mktemp("parts") / "part.parquet"
    pq.write_table(table, path, **TOKEN_WRITER)
    read = pq.read_table(path, page_checksum_verification=True)
    assert read.schema == TOKEN_SCHEMA
    for name in ("prompt_token_ids", "response_token_ids", "response_mask", "old_logprobs"):
        assert bits(read, name) == bits(table, name)
    logprobs = [
        [None if each is None else np.float32(each) for each in row.old_logprobs]
        for row in turn_rows(trajectory_of(*turns))
    ]
    assert read.column("old_logprobs").to_pylist() == logprobs


def test_token_columns_are_split_by_byte_and_have_no_dictionary(tmp_path: Path) -> None:
    pq.write_table(token_table(trajectory_of(FIRST, SECOND), PLACE), tmp_path / "part.parquet", **TOKEN_WRITER)
    group = pq.read_metadata(tmp_path / "part.parquet").row_group(0)
    columns = {column.path_in_schema: column for column in map(group.column, range(group.num_columns))}
    for name in ("prompt_token_ids", "response_token_ids", "old_logprobs"):
        column = columns[f"{name}.list.element"]
        assert "BYTE_STREAM_SPLIT" in column.encodings
        assert not column.has_dictionary_page
        assert column.statistics is None
        assert column.compression == "ZSTD"
    assert columns["turn"].statistics.max == 1


def test_a_trajectory_without_a_capture_has_no_rows() -> None:
    made = make_trajectory(LOG, None, report_of(), version="1")
    assert turn_rows(made) == []
    assert token_table(made, PLACE).num_rows == 0
