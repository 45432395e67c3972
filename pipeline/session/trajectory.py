"""The trajectory of a session: log, capture and report bound together, and what of it can be trained on."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Literal, cast

from pipeline.errors import CorruptError, InputError
from pipeline.records.capture import Capture, ProviderExchange
from pipeline.records.digest import digest_bytes
from pipeline.records.exchange import TokenFields, WeightSpan
from pipeline.records.report import Producer, Report
from pipeline.records.trajectory import AuditEvidence, CaptureEvidence, Trajectory, Turn
from pipeline.session.aggregate import figures_amiss
from pipeline.session.evaluate import PRODUCER
from pipeline.session.token_branches import Placed, place_turns
from pipeline.session.token_checks import TokenCheck, TokenFinding, check_turn, is_truncated

_NEEDED_TO_PLACE = (TokenCheck.ARRAYS, TokenCheck.IDS)
NO_CAPTURE = "there is no capture of this session: nothing is known of its tokens"
NO_TURNS = "the capture holds no exchange with a model"


def make_trajectory(log: bytes, capture: Capture | None, report: Report, *, version: str) -> Trajectory:
    """Bind what is known of a session. A pure function.

    Args:
        log: the exact bytes of the audit log that the report is about.
        capture: what the session exchanged, its digest verified; None: it was not kept, and nothing can be trained on.
        report: on the same session.
        version: of this program.

    Raises:
        InputError: the capture is another session's.
        CorruptError: exchanges of the capture are not numbered from 0 in their order, or hold other requests than
            their digests tell.
    """
    if capture is not None:
        _check_capture(capture, report)
    exchanges = [] if capture is None else [each for each in capture.exchanges if isinstance(each, ProviderExchange)]
    findings = [check_turn(exchange) for exchange in exchanges]
    turns = _turns(exchanges, findings)
    reasons = _reasons(capture, exchanges, findings)
    return Trajectory(
        producer=Producer(name=PRODUCER, version=version),
        provenance=report.provenance,
        audit=AuditEvidence.of(log, digest_bytes(log)),
        capture=None if capture is None else CaptureEvidence(sha256=capture.content_sha256(), payload=capture),
        report=report,
        turns=turns,
        trainable=not reasons,
        not_trainable_because=reasons,
    )


def load_trajectory(data: bytes, where: str = "") -> Trajectory:
    """Read a trajectory, and compute again what it says of itself.

    Args:
        data: the bytes of the file, as `Trajectory.to_bytes` wrote them.
        where: what errors call it, such as its path.

    Raises:
        CorruptError: no trajectory, a digest that differs, or a member that is not what its evidence gives.
    """
    found = Trajectory.from_bytes(data, where)
    try:
        log = found.audit.log()
        capture = None if found.capture is None else found.capture.payload
        made = make_trajectory(log, capture, found.report, version=found.producer.version)
    except (InputError, CorruptError) as error:
        raise CorruptError(f"{where}: {error}", key=where) from None
    for field in ("provenance", "audit", "capture", "turns", "not_trainable_because", "trainable"):
        told, computed = getattr(found, field), getattr(made, field)
        if told != computed:
            raise CorruptError(
                f"{where}: {_difference(field, told, computed)}; restore it, or make it again", key=where
            )
    if lie := figures_amiss(found.report):
        raise CorruptError(f"{where}: the member report: {lie}; restore it, or make it again", key=where)
    if found.to_bytes() != data:
        raise CorruptError(f"{where}: is not canonical JSON, as trajectories are written; restore it", key=where)
    return found


def _check_capture(capture: Capture, report: Report) -> None:
    if report.session is not None and capture.session != report.session:
        raise InputError(
            f"the capture is of session {capture.session}, the log and its report are of {report.session}; give the "
            "capture that was recorded with the log"
        )
    for place, exchange in enumerate(capture.exchanges):
        if exchange.sequence != place:
            raise CorruptError(
                f"the capture's exchange {place} has the sequence {exchange.sequence}: some were moved or left out"
            )
        if isinstance(exchange, ProviderExchange) and exchange.request_sha256 != exchange.request.digest():
            raise CorruptError(f"the capture's exchange {place} holds another request than that of its request_sha256")


def _turns(exchanges: Sequence[ProviderExchange], findings: Sequence[Sequence[TokenFinding]]) -> tuple[Turn, ...]:
    usable = [_usable(exchange, found) for exchange, found in zip(exchanges, findings, strict=True)]
    placed = place_turns(usable)
    return tuple(
        Turn(
            exchange=exchange.sequence,
            branch=place.branch if place else None,
            fork=place.fork if place else None,
            response_mask=cast(tuple[Literal[0, 1], ...], place.response_mask) if place else None,
            weight_versions=_joined(exchange.weight_versions),
            is_truncated=is_truncated(exchange),
            remarks=tuple(each.told() for each in [*found, *_about_place(place)] if not each.is_barring),
        )
        for exchange, found, place in zip(exchanges, findings, placed, strict=True)
    )


def _usable(exchange: ProviderExchange, findings: Sequence[TokenFinding]) -> TokenFields | None:
    """The tokens of a turn whose arrays, ids and mask are such that it has a place, even if nothing was sampled."""
    is_barred = any(each.is_barring and each.check in _NEEDED_TO_PLACE for each in findings)
    if is_barred or exchange.tokens is None or not set(exchange.tokens.response_mask) <= {0, 1}:
        return None
    return exchange.tokens


def _about_place(placed: Placed | None) -> list[TokenFinding]:
    found = []
    if placed is not None and placed.fork is not None:
        fork = placed.fork
        text = (
            f"the prompt does not extend what was there before: it leaves turn {fork.turn} at position "
            f"{fork.position}, {fork.n_left_out:,} tokens before its end; branch {placed.branch} begins here"
        )
        found.append(TokenFinding(TokenCheck.PREFIX, text, is_barring=False))
    if placed is not None and placed.repeats is not None:
        text = f"the response begins with that of turn {placed.repeats}, where those tokens are trained"
        found.append(TokenFinding(TokenCheck.PREFIX, text, is_barring=False))
    return found


def _joined(spans: Sequence[WeightSpan]) -> tuple[WeightSpan, ...]:
    """Spans of one version that follow each other, as one."""
    joined: list[WeightSpan] = []
    for span in spans:
        if joined and (joined[-1].version, joined[-1].end) == (span.version, span.start):
            joined[-1] = joined[-1].model_copy(update={"end": span.end})
        else:
            joined.append(span)
    return tuple(joined)


def _reasons(
    capture: Capture | None, exchanges: Sequence[ProviderExchange], findings: Sequence[Sequence[TokenFinding]]
) -> tuple[str, ...]:
    if capture is None:
        return (NO_CAPTURE,)
    if not exchanges:
        return (NO_TURNS,)
    return tuple(
        f"turn {number} (exchange {exchange.sequence}), {finding.told()}"
        for number, (exchange, found) in enumerate(zip(exchanges, findings, strict=True))
        for finding in found
        if finding.is_barring
    )


def _difference(field: str, told: object, computed: object) -> str:
    if field == "audit":
        return "the member audit holds other bytes than those of its sha256"
    if field == "capture":
        return "the member capture holds another payload than that of its sha256"
    if field == "trainable":
        return f"the member trainable is {json.dumps(told)}, its evidence gives {json.dumps(computed)}"
    return f"the member {field} is not what its evidence gives"
