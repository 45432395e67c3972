"""Checks of rollouts as a group: whether they may be compared. Also of logprobs that were scored again."""

from __future__ import annotations

import math
from array import array
from collections.abc import Collection, Iterator, Sequence
from hashlib import sha256
from typing import Literal, NamedTuple

from pipeline.records.capture import ProviderExchange
from pipeline.records.provenance import Provenance
from pipeline.records.trajectory import Trajectory
from pipeline.session.token_checks import TokenCheck, TokenFinding

REPORT_PINS = ("spec_sha256", "base_commit", "config_sha256", "sandbox_sha256", "sandbox_driver")
PROVENANCE_PINS = tuple(Provenance.model_fields)
TOLERANCE = {"fp32": ("max", 1e-3), "bf16": ("mean", 0.1)}
"""Nats by which the logprobs of an engine and of a model that scores them again may differ, by the engine's numbers.

Measured with a model of 135 million parameters: at most 5e-5 in fp32; 0.04 in the mean, 0.31 at most, in bf16.
"""


class Member(NamedTuple):
    """One rollout of a group."""

    rollout: int
    """Its number in the group."""
    trajectory: Trajectory


class GroupVerdict(NamedTuple):
    """Whether a group can be trained on."""

    findings: tuple[TokenFinding, ...]
    n_usable: int
    """Members that are trainable, have a reward, and whose evidence is about the model."""


def check_group(members: Sequence[Member], group_size: int, allowed: Collection[str] = ()) -> GroupVerdict:
    """Checks 11 to 13.

    Args:
        members: rollouts of one group.
        group_size: how many there were to be.
        allowed: pins in which they may differ, such as `seed`.
    """
    findings = [
        *check_same_tokenizer(members),
        *check_same_pins(members, group_size, allowed),
        *check_duplicates(members),
    ]
    return GroupVerdict(tuple(findings), sum(is_usable(member.trajectory) for member in members))


def is_usable(trajectory: Trajectory) -> bool:
    """Whether a rollout may enter a group's baseline: tokens, a reward, and no fault of what is around the model."""
    report = trajectory.report
    return trajectory.trainable and report.reward is not None and report.fault_owner is None


def check_same_tokenizer(members: Sequence[Member]) -> Iterator[TokenFinding]:
    """Check 11: one model, one protocol of tokenizer, chat and tools: what ids mean depends on them."""
    named = [(member.rollout, _models(member.trajectory)) for member in members]
    yield from _differing(TokenCheck.TOKENIZER, "the models that answered", named)
    profiles = [member.trajectory.provenance and member.trajectory.provenance.model_profile for member in members]
    if members and not any(profiles):
        text = "no member tells its model_profile: whether tokenizer and chat template are the same is not known"
        yield TokenFinding(TokenCheck.TOKENIZER, text, is_barring=False)


def check_same_pins(
    members: Sequence[Member], group_size: int, allowed: Collection[str] = ()
) -> Iterator[TokenFinding]:
    """Check 12: one task in one environment under one policy, each rollout once, all of them there."""
    for field in REPORT_PINS:
        if field not in allowed:
            values = [(member.rollout, getattr(member.trajectory.report, field)) for member in members]
            yield from _differing(TokenCheck.GROUP, field, values)
    for field in PROVENANCE_PINS:
        if field not in allowed:
            values = [(member.rollout, getattr(member.trajectory.provenance, field, None)) for member in members]
            yield from _differing(TokenCheck.GROUP, f"provenance.{field}", values)
    numbers = [member.rollout for member in members]
    for number in sorted({number for number in numbers if numbers.count(number) > 1}):
        yield TokenFinding(TokenCheck.GROUP, f"rollout {number} stands {numbers.count(number)} times in the group")
    if len(members) != group_size:
        text = f"the group has {len(members)} rollouts, expected {group_size}"
        yield TokenFinding(TokenCheck.GROUP, text)


def check_duplicates(members: Sequence[Member]) -> Iterator[TokenFinding]:
    """Check 13: members whose ids are all the same: one rollout twice, or a policy that no longer varies."""
    first: dict[str, int] = {}
    for member in members:
        digest = ids_sha256(member.trajectory)
        if digest is None:
            continue
        if digest in first:
            text = f"rollouts {first[digest]} and {member.rollout} have the same token ids in every turn"
            yield TokenFinding(TokenCheck.DUPLICATE, text, is_barring=False)
        first.setdefault(digest, member.rollout)


def ids_sha256(trajectory: Trajectory) -> str | None:
    """Digest of all ids of a trajectory, with the lengths of the arrays; None of one that is not trainable."""
    if not trajectory.trainable or trajectory.capture is None:
        return None
    digest = sha256()
    for exchange in trajectory.capture.payload.exchanges:
        if isinstance(exchange, ProviderExchange) and exchange.tokens is not None:
            for ids in (exchange.tokens.prompt_token_ids, exchange.tokens.response_token_ids):
                digest.update(len(ids).to_bytes(8, "little"))
                digest.update(array("i", ids).tobytes())
    return digest.hexdigest()


def check_rescored(
    old_logprobs: Sequence[float | None],
    rescored: Sequence[float],
    mask: Sequence[int],
    numbers: Literal["fp32", "bf16"],
) -> Iterator[TokenFinding]:
    """Check 14: the engine's logprobs beside those of the same weights, scored again with the tokens given.

    Args:
        old_logprobs: of the engine; null where the mask is 0.
        rescored: one a token; what stands where the mask is 0 is not looked at.
        mask: 1 where the token was sampled.
        numbers: in which the engine calculates.

    Raises:
        ValueError: the arrays differ in length.
    """
    if not len(old_logprobs) == len(rescored) == len(mask):
        lengths = f"{len(old_logprobs)}, {len(rescored)} and {len(mask)}"
        raise ValueError(f"old_logprobs, rescored and mask have {lengths} entries; expected as many of each")
    pairs = [(at, old, new) for at, (old, new) in enumerate(zip(old_logprobs, rescored, strict=True)) if mask[at]]
    unknown = [at for at, old, new in pairs if old is None or not math.isfinite(old) or not math.isfinite(new)]
    if unknown:
        text = f"position {unknown[0]}: there are not two logprobs to compare"
        yield TokenFinding(TokenCheck.RESCORE, text)
        return
    apart = [(abs(old - new), at) for at, old, new in pairs if old is not None]
    if not apart:
        return
    kind, most = TOLERANCE[numbers]
    largest, at = max(apart)
    found = largest if kind == "max" else math.fsum(each for each, _ in apart) / len(apart)
    if found > most:
        text = f"scored again, the logprobs differ by {found:.3g} nats ({kind}); {most:g} is allowed in {numbers}"
        yield TokenFinding(TokenCheck.RESCORE, f"{text}; most at position {at}")


def _models(trajectory: Trajectory) -> str | None:
    if trajectory.capture is None:
        return None
    found = {each.model for each in trajectory.capture.payload.exchanges if isinstance(each, ProviderExchange)}
    return ", ".join(sorted(name for name in found if name)) or None


def _differing(check: TokenCheck, what: str, values: Sequence[tuple[int, object]]) -> Iterator[TokenFinding]:
    """One finding where not all values are the same; it names the first two rollouts that differ."""
    for rollout, value in values[1:]:
        if value != values[0][1]:
            text = f"{what} differs: {values[0][1]} in rollout {values[0][0]}, {value} in rollout {rollout}"
            yield TokenFinding(check, text)
            return
