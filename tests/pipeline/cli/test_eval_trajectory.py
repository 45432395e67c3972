"""`assay eval check --trajectory`: one file that binds log, capture and report, or none."""

from __future__ import annotations

import base64
import json
import os
import resource
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from pipeline.formats.zon import write_zon
from pipeline.records.agent_config import AgentConfig, AgentLimits
from pipeline.records.audit_content import FreeCost, TextPart
from pipeline.records.capture import Capture, EndState, ProviderExchange
from pipeline.records.digest import digest_bytes
from pipeline.records.exchange import ChatMessage, ChatReply, ChatRequest, Sampling, Stop, TokenFields, TokenUsage
from pipeline.records.report import Producer
from pipeline.session.trajectory import load_trajectory

OTHER = "01K0000000ABCDEFGHJKMNPQRS"
TOKENS = TokenFields(
    prompt_token_ids=(1, 10), response_token_ids=(20, 2), response_mask=(1, 1), old_logprobs=(-0.1, -0.2)
)


def capture_of(session: str, tokens: TokenFields | None = TOKENS) -> Capture:
    request = ChatRequest(model="coder", system="", messages=())
    reply = ChatReply(
        message=ChatMessage(role="assistant", content=(TextPart(text="Done."),)), stop=Stop(reason="stop")
    )
    exchange = ProviderExchange(
        sequence=0, request_sha256=request.digest(), request=request, response=reply, usage=TokenUsage(),
        tokens=tokens, sampling=Sampling(), logprobs_mode="processed", weight_versions=(), cost=FreeCost(free=True),
        price_table_version="", model="coder", request_id="", inference_ms=3, retried=(),
    )  # fmt: skip
    return Capture(
        session=session,
        spec_sha256=None,
        producer=Producer(name="assay", version="1"),
        prompt_sha256="a" * 64,
        config=AgentConfig(
            agent_kind="main",
            prompt="",
            tools=(),
            approvals={},
            provider={},
            limits=AgentLimits(max_turns=5, wall_clock_s=60, tool_timeout_s=5),
        ),
        sandbox_sha256="d" * 64,
        sandbox_driver="native",
        exchanges=(exchange,),
        stopped=None,
        workspace=EndState(base_commit=None, end_tree="b" * 64, patch_base64=base64.b64encode(b"")),
    )


class Desk:
    """A solved session in a store and as a file, its spec, and where captures may stand."""

    def __init__(self, folder: Path, honest: ModuleType, assay: Any) -> None:
        self.folder, self.honest, self.assay = folder, honest, assay
        commit = honest.make_fixture(folder / "fixture")
        honest.solve(folder / "fixture")
        self.session = str(honest.SESSION)
        self.stored = folder / ".assay" / "sessions" / self.session
        self.stored.mkdir(parents=True)
        self.log = self.stored / "log.jsonl"
        honest.write_log(self.log, commit)
        self.beside, self.named, self.target = self.stored / "capture.json", folder / "recorded.json", folder / "t.json"
        self.write_spec(capture="recorded.json")

    def write_spec(self, **changes: Any) -> None:
        (self.folder / "sum.zon").write_text(write_zon(self.honest.spec_of("fixture", **changes)))

    def check(self, *options: object, session: object = None, to: object = "t.json") -> Any:
        command = ["eval", "check", "sum.zon", "--session", session or self.session, "--skip-tests"]
        return self.assay(*command, "--trajectory", to, *options)

    def written(self) -> Any:
        return load_trajectory(self.target.read_bytes(), "t.json")

    def temporary(self) -> list[str]:
        return [path.name for path in self.folder.iterdir() if path.name.endswith(".tmp")]


@pytest.fixture
def desk(workplace: Path, honest: ModuleType, assay) -> Iterator[Desk]:
    made = Desk(workplace, honest, assay)
    yield made
    assert made.temporary() == []


def test_without_a_capture_the_file_is_evidence_alone(desk: Desk) -> None:
    said = desk.check()
    assert (said.code, said.err) == (0, "")
    assert said.out.endswith(
        "\npassed\n\ntrajectory t.json: 0 turns, not trainable, 1 reason:\n"
        "- there is no capture of this session: nothing is known of its tokens\n"
    )
    found = desk.written()
    assert (found.capture, found.trainable) == (None, False)
    assert found.audit.log() == desk.log.read_bytes()
    assert found.report.session == desk.session


def test_the_report_in_the_file_is_the_one_that_is_printed(desk: Desk) -> None:
    desk.beside.write_bytes(capture_of(desk.session).to_bytes())
    said = desk.check("--format", "json")
    assert said.code == 0
    assert json.loads(desk.target.read_bytes())["report"] == said.json


@pytest.mark.parametrize("place", ["beside", "named"])
def test_a_capture_beside_the_log_or_named_by_the_spec_is_bound(desk: Desk, place: str) -> None:
    capture = capture_of(desk.session)
    getattr(desk, place).write_bytes(capture.to_bytes())
    said = desk.check()
    assert said.code == 0
    assert "t.json: 1 turns, trainable" in said.out
    found = desk.written()
    assert found.trainable
    assert found.capture.payload == capture
    assert f'"sha256":"{found.capture.sha256}"' in capture.to_bytes().decode()


def test_the_capture_beside_the_log_goes_before_the_specs(desk: Desk) -> None:
    desk.beside.write_bytes(capture_of(desk.session, None).to_bytes())
    desk.named.write_bytes(capture_of(OTHER).to_bytes())
    said = desk.check()
    assert said.code == 0
    assert "- turn 0 (exchange 0), the engine gave no token ids and no logprobs [token_arrays]" in said.out


def test_a_log_that_is_named_by_its_path_has_its_capture_beside_it_too(desk: Desk) -> None:
    desk.beside.write_bytes(capture_of(desk.session).to_bytes())
    for session in (desk.log, desk.stored):
        assert desk.check("--overwrite", session=session).code == 0
        assert desk.written().trainable
    alone = desk.folder / "other.jsonl"
    alone.write_bytes(desk.log.read_bytes())
    (desk.folder / "capture.json").write_bytes(capture_of(OTHER).to_bytes())  # of whom it is, nobody says
    assert desk.check("--overwrite", session=alone).code == 0
    assert desk.written().capture is None


@pytest.mark.parametrize("place", ["beside", "named"])
@pytest.mark.parametrize("by_path", [False, True])
def test_another_sessions_capture_is_exit_1_and_leaves_no_file(desk: Desk, place: str, by_path: bool) -> None:
    getattr(desk, place).write_bytes(capture_of(OTHER).to_bytes())
    said = desk.check(session=desk.log if by_path else None)
    assert (said.code, said.out, said.err.count("\n")) == (1, "", 1)
    assert f"is the capture of session {OTHER}, not of {desk.session}" in said.err
    assert getattr(desk, place).name in said.err
    assert not desk.target.exists()


DAMAGE: dict[str, tuple[Any, str]] = {
    "edited": (lambda data: data.replace(b"Done.", b"Gone."), "was changed after it was written"),
    "token": (lambda data: data.replace(b"[20,2]", b"[20,3]"), "was changed after it was written"),
    "cut": (lambda data: data[:-20], "not JSON"),
    "empty": (lambda data: b"", "not JSON"),
    "no digest": (lambda data: data.replace(b'sha256":"', b'sha255":"'), "was changed after it was written"),
    "newer": (lambda data: data.replace(b'"version":1,', b'"version":2,'), "assay.capture version 2, expected"),
    "a report": (lambda data: b'{"schema":"chock.eval-report","version":1}', "is chock.eval-report version 1"),
}


@pytest.mark.parametrize("place", ["beside", "named"])
@pytest.mark.parametrize("what", DAMAGE)
def test_a_capture_that_is_not_as_it_was_written_is_exit_2_and_leaves_no_file(
    desk: Desk, what: str, place: str
) -> None:
    damage, message = DAMAGE[what]
    getattr(desk, place).write_bytes(damage(capture_of(desk.session).to_bytes()))
    said = desk.check()
    assert (said.code, said.out, said.err.count("\n")) == (2, "", 1)
    assert message in said.err
    assert getattr(desk, place).name in said.err
    assert not desk.target.exists()


def test_a_capture_whose_digest_was_taken_of_another_form_is_exit_2(desk: Desk) -> None:
    body = json.loads(capture_of(desk.session).to_bytes())
    del body["sha256"]
    without = json.dumps(body, sort_keys=True, separators=(", ", ":")).replace(', "version"', ',"version"')
    digest = f'"sha256":"{digest_bytes(without.encode())}",'
    desk.beside.write_text(without.replace('"spec_sha256"', digest + '"spec_sha256"'))
    said = desk.check()
    assert said.code == 2
    assert "is not canonical JSON, as captures are written" in said.err


def test_a_capture_that_was_altered_and_signed_anew_is_found_where_it_is_pinned(desk: Desk) -> None:
    first, second = (capture_of(desk.session, tokens).to_bytes() for tokens in (TOKENS, None))
    desk.write_spec(capture="recorded.json", capture_sha256=digest_bytes(first))
    desk.named.write_bytes(first)
    assert desk.check().code == 0
    desk.named.write_bytes(second)
    said = desk.check("--overwrite")
    assert (said.code, said.out) == (2, "")
    assert f"the spec pins {digest_bytes(first)}" in said.err
    assert desk.written().trainable  # the file of before


def test_a_capture_that_is_no_file_is_exit_1(desk: Desk) -> None:
    desk.named.mkdir()
    said = desk.check()
    assert (said.code, said.out, said.err.count("\n")) == (1, "", 1)
    desk.named.rmdir()
    os.mkfifo(desk.named)
    assert desk.check().code == 1


def test_a_log_that_cannot_be_verified_is_still_9_and_kept_byte_for_byte(desk: Desk) -> None:
    desk.beside.write_bytes(capture_of(desk.session).to_bytes())
    torn = desk.log.read_bytes()[:-3] + b"\xff"
    desk.log.write_bytes(torn)
    assert desk.check().code == 9
    found = desk.written()
    assert found.audit.log() == torn
    assert found.report.fault_owner == "harness"
    desk.log.write_bytes(b"\x00")  # tells no session
    assert desk.check("--overwrite", session=desk.log).code == 9
    found = desk.written()
    assert (found.audit.log(), found.capture) == (b"\x00", None)


def test_a_failed_check_is_still_3(desk: Desk) -> None:
    desk.write_spec(expect={"end_reason": "turn_limit"})
    assert desk.check().code == 3
    assert not desk.written().report.passed


def test_a_file_that_is_there_needs_overwrite(desk: Desk) -> None:
    desk.target.write_text("mine")
    said = desk.check()
    assert (said.code, said.out, said.err.count("\n")) == (1, "", 1)
    assert "t.json is there already; choose another name, or add --overwrite" in said.err
    assert desk.target.read_text() == "mine"
    assert desk.check("--overwrite").code == 0
    assert desk.written().report.passed


def test_places_where_no_file_can_be_are_exit_1_before_anything_is_done(desk: Desk) -> None:
    (desk.folder / "link.json").symlink_to("nowhere.json")
    os.mkfifo(desk.folder / "pipe")
    places = {
        "no/where/t.json": "the folder no/where is not there; make it first",
        "sum.zon/t.json": "cannot be written: Not a directory",
        "fixture": "fixture is a folder; name a file in it",
        ".": ". is a folder",
        "pipe": "pipe is no regular file",
        "link.json": "link.json is no regular file",
        "/dev/null": "/dev/null is no regular file",
        "/proc/t.json": "/proc/t.json cannot be written: ",
        "a" * 300: "cannot be written: File name too long",
        "a\0b": "embedded null byte",
    }
    for place, message in places.items():
        for options in ([], ["--overwrite"]):
            said = desk.check(*options, to=place)
            assert (said.code, said.out, said.err.count("\n")) == (1, "", 1), place
            assert message in said.err
    assert os.path.exists("/dev/null")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_folder_without_the_right_to_write_is_exit_1(desk: Desk) -> None:
    closed = desk.folder / "closed"
    closed.mkdir(mode=0o500)
    said = desk.check(to=closed / "t.json")
    assert (said.code, said.out) == (1, "")
    assert "cannot be written: Permission denied" in said.err


def test_what_does_not_fit_on_the_disk_is_exit_2_and_leaves_what_was_there(desk: Desk) -> None:
    desk.target.write_text("mine")
    large = Capture.model_copy(capture_of(desk.session), update={"prompt_sha256": "c" * 64})
    desk.beside.write_bytes(large.to_bytes())
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (8_192, before[1]))
    try:
        said = desk.check("--overwrite")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert (said.code, said.out, said.err.count("\n")) == (2, "", 1)
    assert "t.json" in said.err
    assert desk.target.read_text() == "mine"


def test_overwrite_alone_is_exit_1(desk: Desk) -> None:
    said = desk.assay("eval", "check", "sum.zon", "--session", desk.session, "--overwrite")
    assert (said.code, said.out) == (1, "")
    assert "--overwrite is about the file of --trajectory" in said.err
