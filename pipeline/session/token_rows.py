"""Rows for a trainer: a trajectory's turns one by one, or as chains in which every prompt extends what was before."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from pipeline.records.capture import ProviderExchange
from pipeline.records.exchange import TokenFields
from pipeline.records.trajectory import Trajectory, Turn

if TYPE_CHECKING:
    import pyarrow as pa


class RolloutPlace(NamedTuple):
    """Where a rollout stands in its set."""

    case: str
    split: str
    group: int
    """From 0 in its case."""
    rollout: int
    """From 0 in its group."""


class TokenRow(NamedTuple):
    """One turn: conditions first, then what is trained."""

    turn: int
    branch: int
    prompt_token_ids: Sequence[int]
    response_token_ids: Sequence[int]
    response_mask: Sequence[int]
    """1: sampled, and trained in this row and in no other."""
    old_logprobs: Sequence[float | None]
    """null where the mask is 0."""
    weight_version_min: str | None
    """Of the first token; null: not known."""
    weight_version_max: str | None
    """Of the last token."""


class Chain(NamedTuple):
    """The turns of one branch as one row. What others put in between the responses has mask 0."""

    branch: int
    turns: Sequence[int]
    prompt_token_ids: Sequence[int]
    """The first turn's prompt."""
    response_token_ids: Sequence[int]
    response_mask: Sequence[int]
    old_logprobs: Sequence[float | None]


def turn_rows(trajectory: Trajectory) -> list[TokenRow]:
    """One row a turn, in order; none where the trajectory is not trainable."""
    return [_row(number, turn, tokens) for number, turn, tokens in _trained_turns(trajectory)]


def prefix_chains(trajectory: Trajectory) -> list[Chain]:
    """One row a branch, in order, each as long as its prompts extend each other; none if it is not trainable.

    A chain's prompt and response together begin with every prompt and response of its turns, exactly.
    """
    chains: dict[int, Chain] = {}
    for row in turn_rows(trajectory):
        chain = chains.get(row.branch)
        chains[row.branch] = _begun(row) if chain is None else _extended(chain, row)
    return list(chains.values())


def token_table(trajectory: Trajectory, place: RolloutPlace) -> pa.Table:
    """The rows of a rollout in the columns of token parts (`TOKEN_SCHEMA`): one a turn, whether trainable or not.

    Those of a rollout that is not trainable have no arrays, so that nobody trains on them by accident.
    """
    import pyarrow as pa

    from pipeline.records.token_columns import TOKEN_SCHEMA

    rows = {row.turn: row._asdict() for row in turn_rows(trajectory)}
    report = trajectory.report
    same: dict[str, Any] = {
        **place._asdict(),
        "reward": report.reward,
        "reward_components": list(report.reward_components.items()),
        "fault_owner": report.fault_owner,
        "trainable": trajectory.trainable,
        "session": report.session,
    }
    values = [{**same, "turn": number, **rows.get(number, {})} for number in range(len(trajectory.turns))]
    return pa.Table.from_pylist(values, schema=TOKEN_SCHEMA)


def _trained_turns(trajectory: Trajectory) -> Iterable[tuple[int, Turn, TokenFields]]:
    if not trajectory.trainable or trajectory.capture is None:
        return
    exchanges = trajectory.capture.payload.exchanges
    for number, turn in enumerate(trajectory.turns):
        exchange = exchanges[turn.exchange]
        if isinstance(exchange, ProviderExchange) and exchange.tokens is not None:
            yield number, turn, exchange.tokens


def _row(number: int, turn: Turn, tokens: TokenFields) -> TokenRow:
    if turn.branch is None or turn.response_mask is None:
        raise ValueError(f"turn {number} has no branch; a trainable trajectory has one for every turn")
    spans = turn.weight_versions
    pairs = zip(tokens.old_logprobs, turn.response_mask, strict=True)
    return TokenRow(
        turn=number,
        branch=turn.branch,
        prompt_token_ids=tokens.prompt_token_ids,
        response_token_ids=tokens.response_token_ids,
        response_mask=turn.response_mask,
        # A token that is trained in another row has no logprob in this one.
        old_logprobs=tuple(value if is_trained else None for value, is_trained in pairs),
        weight_version_min=spans[0].version if spans else None,
        weight_version_max=spans[-1].version if spans else None,
    )


def _begun(row: TokenRow) -> Chain:
    return Chain(
        row.branch, [row.turn], row.prompt_token_ids, row.response_token_ids, row.response_mask, row.old_logprobs
    )


def _extended(chain: Chain, row: TokenRow) -> Chain:
    between = row.prompt_token_ids[len(chain.prompt_token_ids) + len(chain.response_token_ids) :]
    return chain._replace(
        turns=[*chain.turns, row.turn],
        response_token_ids=(*chain.response_token_ids, *between, *row.response_token_ids),
        response_mask=(*chain.response_mask, *(0 for _ in between), *row.response_mask),
        old_logprobs=(*chain.old_logprobs, *(None for _ in between), *row.old_logprobs),
    )
