"""Trajectories: what binds them, and that what they say of themselves is computed."""

from __future__ import annotations

import base64
import hashlib
import json
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from token_making import LOG, SESSION, capture_of, provider, report_of, tokens, tool, trajectory_from, trajectory_of

from pipeline.errors import CorruptError, InputError
from pipeline.formats.canonical_json import canonical_json
from pipeline.records.capture import Capture
from pipeline.records.json_schema import schema_of
from pipeline.records.provenance import Provenance
from pipeline.records.report import load_report
from pipeline.records.trajectory import Trajectory
from pipeline.session.trajectory import load_trajectory, make_trajectory

FIRST = tokens([1, 10, 11], [20, 21, 2])
SECOND = tokens([1, 10, 11, 20, 21, 2, 30], [40, 2])


def written(trajectory: Trajectory, **members: Any) -> bytes:
    """Its file, with other members, as somebody would write it who knows the form."""
    return canonical_json({**as_json(trajectory), **members}) + b"\n"


def as_json(trajectory: Trajectory) -> dict[str, Any]:
    """The file's members, in which large numbers are floats again."""
    body: dict[str, Any] = json.loads(trajectory.to_bytes(), parse_int=lambda text: (int, float)[len(text) > 17](text))
    return body


def test_log_capture_and_report_are_bound_by_their_bytes() -> None:
    made = trajectory_of(FIRST, SECOND, provenance=Provenance(seed=7))
    body = json.loads(made.to_bytes())
    assert (body["schema"], body["version"]) == ("chock.rl-trajectory", 1)
    assert body["producer"] == {"name": "assay", "version": "1.2.3"}
    assert base64.b64decode(body["audit"]["jsonl_base64"], validate=True) == LOG
    assert body["audit"]["sha256"] == hashlib.sha256(LOG).hexdigest()
    assert body["provenance"]["seed"] == 7
    assert load_report(canonical_json(body["report"]), "report").report == made.report


def test_the_captures_digest_is_the_one_of_its_own_file() -> None:
    exchanges = [provider(0, FIRST), tool(1)]
    in_a_file = json.loads(capture_of(exchanges).to_bytes())
    digest = in_a_file.pop("sha256")
    read = Capture.from_bytes(capture_of(exchanges).to_bytes())  # floats such as 1e20 pass through a file
    for capture in (capture_of(exchanges), read):
        made = make_trajectory(LOG, capture, report_of(), version="1")
        body = json.loads(made.to_bytes())["capture"]
        assert body == {"sha256": digest, "payload": in_a_file}
    assert load_trajectory(made.to_bytes()).capture == made.capture


def test_turns_of_one_branch_are_trainable() -> None:
    made = trajectory_of(FIRST, SECOND)
    assert (made.trainable, made.not_trainable_because) == (True, ())
    assert [turn.exchange for turn in made.turns] == [0, 2]
    assert [turn.branch for turn in made.turns] == [0, 0]
    assert [turn.response_mask for turn in made.turns] == [(1, 1, 1), (1, 1)]
    assert [turn.remarks for turn in made.turns] == [(), ()]


def test_a_session_without_a_capture_is_evidence_alone() -> None:
    made = make_trajectory(LOG, None, report_of(), version="1")
    assert (made.trainable, made.turns, made.capture) == (False, (), None)
    assert made.not_trainable_because == ("there is no capture of this session: nothing is known of its tokens",)
    assert load_trajectory(made.to_bytes()) == made


def test_a_session_without_turns_is_not_trainable() -> None:
    made = trajectory_from([tool(0)])
    assert (made.trainable, made.not_trainable_because) == (False, ("the capture holds no exchange with a model",))


def test_one_turn_without_tokens_makes_it_evidence() -> None:
    made = trajectory_of(FIRST, None)
    assert made.not_trainable_because == (
        "turn 1 (exchange 2), the engine gave no token ids and no logprobs [token_arrays]",
    )
    assert (made.turns[1].branch, made.turns[1].response_mask) == (None, None)


def test_what_is_written_is_read_and_fits_its_schema() -> None:
    for made in (
        trajectory_of(FIRST, SECOND),
        trajectory_of(None),
        make_trajectory(b"", None, report_of(), version=""),
    ):
        assert load_trajectory(made.to_bytes()) == made
        assert Trajectory.from_bytes(made.to_bytes()).to_bytes() == made.to_bytes()
        Draft202012Validator(schema_of(Trajectory)).validate(json.loads(made.to_bytes()))
        if made.capture is not None:
            Draft202012Validator(schema_of(Capture)).validate(json.loads(made.capture.payload.to_bytes()))


def lies() -> dict[str, tuple[bytes, str]]:
    good, bad, forked = trajectory_of(FIRST, SECOND), trajectory_of(FIRST, None), trajectory_of(FIRST, FIRST)
    body = as_json(good)
    mask = [{**body["turns"][0], "response_mask": [1, 1, 0]}, body["turns"][1]]
    capture, report = body["capture"], body["report"]
    renamed = {**capture, "payload": {**capture["payload"], "session": "01K0000000ABCDEFGHJKMNPQRS"}}
    patched = {**capture, "payload": {**capture["payload"], "prompt_sha256": "0" * 64}}
    other_report = {**capture["payload"], "schema": "chock.eval-report"}
    return {
        "trainable": (written(bad, trainable=True), "the member trainable is true, its evidence gives false"),
        "modest": (written(good, trainable=False), "the member trainable is false, its evidence gives true"),
        "reasons": (written(bad, not_trainable_because=[], trainable=True), "not_trainable_because is not what"),
        "mask": (written(good, turns=mask), "the member turns is not what its evidence gives"),
        "turns": (written(forked, turns=body["turns"]), "the member turns is not what its evidence gives"),
        "log": (written(good, audit={**body["audit"], "jsonl_base64": ""}), "audit holds other bytes than those"),
        "no base64": (written(good, audit={**body["audit"], "jsonl_base64": "a"}), "jsonl_base64: Value error, is no"),
        "capture": (written(good, capture=patched), "capture holds another payload than that of its sha256"),
        "session": (written(good, capture=renamed), "the capture is of session 01K0000000ABCDEFGHJKMNPQRS"),
        "kind": (written(good, capture={**capture, "payload": other_report}), "expected assay.capture version 1"),
        "provenance": (written(good, provenance={"seed": 8}), "the member provenance is not what its evidence gives"),
        "score": (written(good, report={**report, "score": 1.0}), "report: score is not what its findings give"),
        "passed": (written(good, report={**report, "passed": True}), "report: passed is not what its findings give"),
        "owner": (written(good, report={**report, "fault_owner": "harness"}), "fault_owner is not what its findings"),
        "reward": (written(good, report={**report, "reward": 0.9}), "report: reward is no mean of its components"),
        "empty": (written(good, report={**report, "findings": []}), "report: it has no findings"),
        "version": (written(good, version=2), "is chock.rl-trajectory version 2, expected chock.rl"),
        "more": (written(good, nice=True), "field nice"),
        "as text": (written(good, trainable="true"), "not canonical JSON"),
        "blanks": (json.dumps(body).encode(), "not canonical JSON"),
        "cut": (good.to_bytes()[:-10], "not JSON"),
        "no text": (b"\xff\xfe", "not JSON"),
        "deep": (b"[" * 100_000, "too deep"),
        "list": (b"[]", "is None version None"),
    }  # fmt: skip


@pytest.mark.parametrize("what", lies())
def test_a_file_that_lies_is_refused(what: str) -> None:
    data, message = lies()[what]
    with pytest.raises(CorruptError) as caught:
        load_trajectory(data, "a.json")
    assert str(caught.value).startswith("a.json: ")
    assert message in str(caught.value)


def test_another_sessions_capture_is_refused() -> None:
    with pytest.raises(InputError, match=f"is of session 01K0000000.*are of {SESSION}"):
        make_trajectory(LOG, capture_of([], "01K0000000ABCDEFGHJKMNPQRS"), report_of(), version="1")


def test_a_capture_whose_exchanges_were_moved_is_refused() -> None:
    with pytest.raises(CorruptError, match="exchange 0 has the sequence 1"):
        trajectory_from([provider(1, FIRST), provider(0, SECOND)])


def test_a_capture_with_another_request_than_its_digest_tells_is_refused() -> None:
    with pytest.raises(CorruptError, match="exchange 0 holds another request"):
        trajectory_from([provider(0, FIRST, request_sha256="0" * 64)])
