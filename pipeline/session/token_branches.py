"""How turns hang together: which prompt extends what was there before, and in which turn a token is trained."""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Sequence
from typing import NamedTuple

from pipeline.records.exchange import TokenFields
from pipeline.records.trajectory import Fork, Turn

ID_BYTES = 4  # ids are compared as the bytes of an int32 each: as fast as memory


class Placed(NamedTuple):
    """Where a turn stands, and what is trained there."""

    branch: int
    fork: Fork | None
    """null: it begins the first branch or extends its own."""
    response_mask: tuple[int, ...]
    repeats: int | None
    """The earlier turn whose response stands in this one, so that it is not trained again; null: there is none."""


class _Laid(NamedTuple):
    """A turn as bytes."""

    turn: int
    prompt: bytes
    whole: bytes
    """Prompt and response."""
    mask: tuple[int, ...]
    """As the engine gave it."""


def place_turns(turns: Sequence[TokenFields | None]) -> list[Placed | None]:
    """Give every turn its branch, and its tokens to the first turn that sampled them.

    A turn extends the branch whose last prompt and response its own prompt begins with, the longest if there are
    several. If there is none, a new branch begins; nothing is realigned.

    Args:
        turns: their tokens, arrays of the lengths and values that checks 1 to 3 ask for; None: a turn without.

    Returns:
        One a turn; None for a turn without tokens.
    """
    placed: list[Placed | None] = []
    laid: list[_Laid] = []
    tips: list[_Laid] = []  # the last turn of each branch
    for number, tokens in enumerate(turns):
        if tokens is None:
            placed.append(None)
            continue
        prompt = _as_bytes(tokens.prompt_token_ids)
        this = _Laid(number, prompt, prompt + _as_bytes(tokens.response_token_ids), tuple(tokens.response_mask))
        extended = [at for at, tip in enumerate(tips) if prompt.startswith(tip.whole)]
        branch = max(extended, key=lambda at: len(tips[at].whole)) if extended else len(tips)
        fork = _fork(prompt, tips) if tips and not extended else None
        mask, repeats = _trained_once(this, laid)
        placed.append(Placed(branch, fork, mask, repeats))
        tips[branch : branch + 1] = [this]
        laid.append(this)
    return placed


class PrefixCounts(NamedTuple):
    """How often a prompt extended what was there before."""

    n_clean: int
    n_forks: int


def count_prefixes(turns: Sequence[Turn]) -> PrefixCounts:
    """Turns that extend their branch, and turns that begin another one."""
    n_forks = sum(turn.fork is not None for turn in turns)
    n_placed = sum(turn.branch is not None for turn in turns)
    return PrefixCounts(max(0, n_placed - n_forks - 1), n_forks)


def _as_bytes(ids: Sequence[int]) -> bytes:
    return array("i", ids).tobytes()


def _fork(prompt: bytes, tips: Sequence[_Laid]) -> Fork:
    shared = [_n_shared(prompt, tip.whole) for tip in tips]
    nearest = max(range(len(tips)), key=lambda at: (shared[at], at))
    tip = tips[nearest]
    return Fork(turn=tip.turn, position=shared[nearest], n_left_out=len(tip.whole) // ID_BYTES - shared[nearest])


def _n_shared(left: bytes, right: bytes) -> int:
    """Ids at the beginning that are the same."""
    lengths = range(1, min(len(left), len(right)) // ID_BYTES + 1)
    return bisect_left(lengths, True, key=lambda n: left[: n * ID_BYTES] != right[: n * ID_BYTES])


def _trained_once(this: _Laid, earlier: Sequence[_Laid]) -> tuple[tuple[int, ...], int | None]:
    """The mask without what earlier turns sampled, for engines that give a response again with the next one.

    Whole responses alone count: two responses to one prompt that begin alike were sampled twice.
    """
    mask, repeats = list(this.mask), None
    begin = len(this.prompt) // ID_BYTES
    for other in earlier:
        if len(this.prompt) < len(other.whole) <= len(this.whole) and this.whole.startswith(other.whole):
            first = len(other.prompt) // ID_BYTES
            for at, is_sampled in enumerate(other.mask, first):
                if is_sampled and at >= begin and mask[at - begin]:
                    mask[at - begin], repeats = 0, other.turn
    return tuple(mask), repeats
