"""A session is checked with real parts: a git repository, a log, the sandbox."""

from __future__ import annotations

import os
import shutil
import zlib
from pathlib import Path
from types import ModuleType
from typing import Any

import orjson
import pytest

from pipeline.errors import InputError, SandboxError
from pipeline.records.report import Finding, Report
from pipeline.sandbox import Driver, change_of
from pipeline.session.check import CheckOptions, check_session
from pipeline.session.evidence import PathKind
from pipeline.session.session_files import session_log
from pipeline.session.spec_file import load_spec
from pipeline.session.tree_evidence import state_of
from pipeline.store import Store


class Place:
    """A fixture, an honest log of it, and a spec; each test changes one of them and has the session checked."""

    def __init__(self, folder: Path, honest: ModuleType) -> None:
        self.folder, self.honest = folder, honest
        self.fixture = folder / "fixture"
        self.commit = honest.make_fixture(self.fixture)
        self.log = honest.write_log(folder / "log.jsonl", self.commit)
        honest.solve(self.fixture)

    def check(self, expect: dict[str, Any] | None = None, **changes: Any) -> Report:
        options = {name: changes.pop(name) for name in ("project", "driver", "skip_tests") if name in changes}
        spec = self.folder / "spec.json"
        spec.write_bytes(orjson.dumps(self.honest.spec_of(self.fixture, expect=expect or {}, **changes)))
        with session_log(str(self.log), Store(self.folder / "store")) as log:
            return check_session(load_spec(spec), log, CheckOptions("0.1.0", os.environ, **options))


@pytest.fixture
def place(tmp_path: Path, honest: ModuleType) -> Place:
    return Place(tmp_path, honest)


def found(report: Report, name: str) -> Finding:
    (finding,) = [each for each in report.findings if each.name == name]
    return finding


def failed(report: Report) -> list[str]:
    return [finding.name for finding in report.findings if not finding.passed]


def test_a_solved_session_passes_every_check(place: Place) -> None:
    report = place.check()
    assert failed(report) == []
    assert (report.passed, report.score, report.reward, report.fault_owner) == (True, 1.0, 1.0, None)
    assert report.base_commit == place.commit
    assert report.session == place.honest.SESSION
    assert "a list is summed" in found(report, "test:unit").detail


def test_a_half_solved_session_fails_its_test_and_nobody_else_is_to_blame(place: Place) -> None:
    place.honest.solve(place.fixture, place.honest.HALF)
    report = place.check()
    assert failed(report) == ["test:empty"]
    assert found(report, "test:empty").category == "test"
    assert found(report, "test:empty").actual == 1
    assert "a list without numbers has a sum" in found(report, "test:empty").detail
    assert report.reward_components["tests"] == 0.5
    assert report.fault_owner is None


def test_an_agent_that_edits_its_tests_is_judged_by_those_of_the_base(place: Place) -> None:
    place.honest.solve(place.fixture, place.honest.BROKEN)
    (place.fixture / "tests" / "empty.sh").write_text("exit 0\n")
    assert failed(place.check()) == ["test:empty"]
    unprotected = place.check(test_files=[])
    assert failed(unprotected) == []
    assert found(unprotected, "test:empty").detail.startswith("tests not protected")


def test_tests_are_those_of_the_base_also_where_the_agent_committed_others_to_head(place: Place) -> None:
    place.honest.solve(place.fixture, place.honest.BROKEN)
    (place.fixture / "tests" / "empty.sh").write_text("exit 0\n")
    place.honest.git(place.fixture, "commit", "--quiet", "-am", "mended, trust me")
    report = place.check(base_commit="HEAD")
    assert failed(report) == ["test:empty"]
    assert "HEAD has moved" in found(report, "fixture.base_commit").detail
    assert report.base_commit == place.commit


def test_a_tag_that_was_moved_is_another_base(place: Place) -> None:
    place.honest.git(place.fixture, "commit", "--quiet", "-am", "mended")
    place.honest.git(place.fixture, "tag", "-f", "v1")
    report = place.check(skip_tests=True)
    assert failed(report) == ["fixture.base_commit"]
    assert report.fault_owner == "fixture"


def test_the_agents_tree_is_left_as_it_was(place: Place) -> None:
    place.check()
    assert place.honest.git(place.fixture, "status", "--porcelain") == "M src/sum.sh"


def test_skipped_tests_are_not_judged(place: Place) -> None:
    place.honest.solve(place.fixture, place.honest.BROKEN)
    report = place.check(skip_tests=True)
    assert report.passed
    assert "tests" not in report.reward_components


def test_a_project_stands_in_for_the_fixture(place: Place) -> None:
    project = place.folder / "elsewhere"
    shutil.copytree(place.fixture, project)
    place.honest.solve(place.fixture, place.honest.BROKEN)
    assert place.check(project=project).passed
    assert failed(place.check()) == ["test:empty"]


def test_a_program_that_is_nowhere_is_the_harness_fault(place: Place) -> None:
    report = place.check(tests=[{"name": "unit", "argv": ["no-such-program"]}])
    finding = found(report, "test:unit")
    assert (finding.category, finding.passed, finding.actual) == ("harness", False, None)
    assert "on the untouched fixture neither" in finding.detail
    assert report.fault_owner == "harness"


def test_a_program_that_the_agent_removed_is_a_failed_test(tmp_path: Path, honest: ModuleType) -> None:
    place = Place(tmp_path, honest)
    run = place.fixture / "run"
    run.write_text("#!/bin/sh\nexit 0\n")
    run.chmod(0o755)
    honest.git(place.fixture, "add", "run")
    honest.git(place.fixture, "commit", "--quiet", "-m", "a program")
    commit = honest.git(place.fixture, "rev-parse", "HEAD")
    place.log.unlink()
    honest.write_log(place.log, commit)
    tests = [{"name": "unit", "argv": ["./run"]}]
    assert place.check(tests=tests, base_commit=commit).passed
    run.unlink()
    finding = found(place.check(tests=tests, base_commit=commit), "test:unit")
    assert (finding.category, finding.passed, finding.actual) == ("test", False, "not started")


def test_a_command_that_hangs_is_a_failure_of_the_test(place: Place) -> None:
    tests = [{"name": "unit", "argv": ["sleep", "60"]}]
    report = place.check(tests=tests, limits={"test_timeout_s": 0.5})
    assert (found(report, "test:unit").category, found(report, "test:unit").actual) == ("test", "timed out")


def test_output_without_end_is_cut(place: Place) -> None:
    report = place.check(tests=[{"name": "unit", "argv": ["sh", "-c", "yes | head -c 3000000; exit 3"]}])
    finding = found(report, "test:unit")
    assert finding.actual == 3
    assert len(finding.detail) < 100_000
    assert "the output is cut" in finding.detail


def test_a_command_that_kills_itself_fails(place: Place) -> None:
    report = place.check(tests=[{"name": "unit", "argv": ["sh", "-c", "kill -9 $$"]}])
    assert found(report, "test:unit").category == "test"
    assert not found(report, "test:unit").passed


def test_test_files_that_the_base_does_not_have_are_no_pass(place: Place) -> None:
    report = place.check(test_files=["spec/**"])
    assert {found(report, name).category for name in ("test:unit", "test:empty")} == {"harness"}
    assert "spec/**" in found(report, "test:unit").detail


def test_a_script_that_no_session_can_make_is_the_harness_fault(place: Place) -> None:
    report = place.check(tests=[{"name": "unit", "argv": ["sh", "tests/unti.sh"]}])
    finding = found(report, "test:unit")
    assert (finding.category, finding.actual, report.fault_owner) == ("harness", None, "harness")
    assert "on the untouched fixture neither: 'tests/unti.sh' is not there in the fixture" in finding.detail
    assert "did you mean 'tests/unit.sh'" in finding.detail


def test_a_file_that_is_not_there_is_told_with_whether_the_fixture_has_it(place: Place) -> None:
    tests = [
        {"name": "typo", "argv": ["sh", "nothere.sh"]},
        {"name": "gone", "argv": ["sh", "src/sum.sh"]},
        {"name": "other", "argv": ["sh", "-c", "exit 3", "tests/unit.sh"]},
    ]
    (place.fixture / "src" / "sum.sh").unlink()
    report = place.check(tests=tests)
    assert {found(report, f"test:{each['name']}").category for each in tests} == {"test"}
    told = [found(report, f"test:{each['name']}").detail.splitlines()[:1] for each in tests]
    assert told == [
        ["argv names 'nothere.sh', which is not there, in the fixture neither: unless the session was to make it, "
         "the spec is misspelt"],
        ["argv names 'src/sum.sh', which is in the fixture and no longer there: the session took it away"],
        [],
    ]  # fmt: skip


def test_a_fixture_that_is_not_there_is_told(place: Place) -> None:
    report = place.check(project=place.folder / "nowhere")
    assert report.fault_owner == "fixture"
    assert "is not there" in found(report, "fixture.available").detail
    assert found(report, "test:unit").category == "fixture"


def test_a_base_commit_that_is_not_there_is_told(place: Place) -> None:
    report = place.check(base_commit="v9", skip_tests=True)
    assert failed(report) == ["fixture.base_commit"]
    assert "v9" in found(report, "fixture.base_commit").detail


def test_an_empty_repository_has_no_base(place: Place) -> None:
    empty = place.folder / "empty"
    empty.mkdir()
    place.honest.git(empty, "init", "--quiet")
    assert "fixture.base_commit" in failed(place.check(project=empty, base_commit="HEAD", skip_tests=True))


def test_a_fixture_without_git_is_judged_as_it_is(place: Place) -> None:
    shutil.rmtree(place.fixture / ".git")
    place.log.unlink()
    place.honest.write_log(place.log, "")
    report = place.check(base_commit="HEAD", test_files=[])
    assert failed(report) == []
    assert report.base_commit is None
    assert "test:unit" in failed(place.check(base_commit="HEAD"))


def test_a_spec_inside_the_fixture_is_refused(place: Place) -> None:
    with pytest.raises(InputError, match="an agent could change what judges it"):
        place.check(project=place.folder)


@pytest.mark.parametrize("way", ["link.json", "folder/spec.json", "folder/../spec.json"])
def test_a_spec_that_is_reached_through_a_link_in_the_fixture_is_refused(place: Place, way: str) -> None:
    place.check(skip_tests=True)
    spec = place.folder / "spec.json"
    (place.fixture / "link.json").symlink_to(spec)
    (place.fixture / "folder").symlink_to(place.folder)
    (place.folder / "outside.json").symlink_to(place.fixture / way)
    options = CheckOptions("0.1.0", os.environ, skip_tests=True)
    for named in (place.fixture / way, place.folder / "outside.json"):
        if named.exists():
            with (
                session_log(str(place.log), Store(place.folder / "store")) as log,
                pytest.raises(InputError, match="lies in"),
            ):
                check_session(load_spec(named), log, options)
    with session_log(str(place.log), Store(place.folder / "store")) as log:
        assert check_session(load_spec(place.fixture / ".." / "spec.json"), log, options).passed


@pytest.mark.parametrize("project, problem", [("empty", "is no commit"), ("borrowed", "borrows objects")])
def test_tests_of_a_base_that_cannot_be_had_are_owned_by_the_fixture(place: Place, project: str, problem: str) -> None:
    folder = place.folder / project
    folder.mkdir()
    place.honest.git(folder, "init", "--quiet")
    if project == "borrowed":
        (folder / ".git" / "objects" / "info" / "alternates").write_text("/elsewhere\n")
    report = place.check(project=folder)
    assert report.fault_owner == "fixture"
    assert found(report, "test:unit").category == "fixture"
    assert problem in found(report, "test:unit").detail


def test_an_agent_that_puts_another_test_under_the_name_of_that_of_the_base_does_not_pass(place: Place) -> None:
    place.honest.solve(place.fixture, place.honest.BROKEN)
    name = place.honest.git(place.fixture, "rev-parse", "HEAD:tests/empty.sh")
    judge = place.fixture / ".git" / "objects" / name[:2] / name[2:]
    judge.chmod(0o644)
    judge.write_bytes(zlib.compress(b"blob 7\0exit 0\n"))
    report = place.check()
    assert "test:empty" in failed(report)
    assert report.fault_owner == "harness"
    assert "tampered with" in found(report, "test:empty").detail


def test_a_tree_that_cannot_be_copied_is_a_failed_test_and_not_called_unprotected(place: Place) -> None:
    with open(place.fixture / "huge", "wb") as file:
        file.truncate(5 * 2**30)
    unit = found(place.check(), "test:unit")
    assert (unit.category, unit.actual) == ("test", "not started")
    assert "bytes, which is the most that is copied" in unit.detail
    assert "not protected" not in unit.detail


def test_the_digest_of_a_file_of_any_size_is_not_waited_for(place: Place) -> None:
    with open(place.fixture / "huge", "wb") as file:
        file.truncate(2**42)
    report = place.check({"files": [{"path": "huge", "sha256": "0" * 64}]}, skip_tests=True)
    assert failed(report) == ["file.sha256:huge"]
    assert "is larger than" in found(report, "file.sha256:huge").detail


def test_names_that_are_no_text_are_told_in_a_report(place: Place) -> None:
    report = place.check(project=Path(os.fsdecode(bytes(place.folder) + b"/\xff")), skip_tests=True)
    assert "/\ufffd is not there" in found(report, "fixture.available").detail
    assert report.to_bytes()


def test_a_driver_that_cannot_be_had_is_refused_before_anything_is_read(place: Place) -> None:
    with pytest.raises(SandboxError, match="microvm"):
        place.check(driver=Driver.MICROVM)
    assert place.check(driver=Driver.MICROVM, skip_tests=True).passed


def test_the_driver_of_the_spec_is_used_for_its_commands(place: Place) -> None:
    with pytest.raises(SandboxError, match="microvm"):
        place.check(sandbox={"driver": "microvm"})
    with pytest.raises(SandboxError, match="microvm"):
        place.check(expect={"sandbox_driver": "microvm"})


# Paths, some of which an agent has prepared.


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    folder = tmp_path / "tree"
    (folder / "src").mkdir(parents=True)
    (folder / "src" / "a").write_bytes(b"a")
    (tmp_path / "outside.json").write_bytes(b"secret")
    (folder / "link").symlink_to("src/a")
    (folder / "lib").symlink_to("src")
    (folder / "up").symlink_to("../outside")
    (folder / "src" / "deep").symlink_to("../../outside")
    (folder / "src" / "back").symlink_to("../src/a")
    (folder / "rooted").symlink_to(tmp_path / "outside.json")
    (folder / "dangling").symlink_to("nothing")
    (folder / "one").symlink_to("two")
    (folder / "two").symlink_to("one")
    os.mkfifo(folder / "pipe")
    return folder


@pytest.mark.parametrize(
    "path, kind",
    [
        ("src/a", PathKind.FILE), ("./src//a", PathKind.FILE), ("src", PathKind.FOLDER), ("src/", PathKind.FOLDER),
        (".", PathKind.FOLDER), ("b", PathKind.ABSENT), ("src/a/b", PathKind.ABSENT), ("pipe", PathKind.OTHER),
        ("link", PathKind.FILE), ("lib/a", PathKind.FILE), ("lib", PathKind.FOLDER), ("lib/b", PathKind.ABSENT),
        ("src/back", PathKind.FILE), ("dangling", PathKind.LINK), ("up", PathKind.OUTSIDE),
        ("src/deep", PathKind.OUTSIDE), ("rooted", PathKind.OUTSIDE), ("one", PathKind.UNREADABLE),
        ("a" * 5000, PathKind.UNREADABLE),
    ],
)  # fmt: skip
def test_links_are_followed_within_a_tree_and_never_out_of_it(tree: Path, path: str, kind: PathKind) -> None:
    state = state_of(tree, path, with_digest=True)
    assert state.kind is kind
    assert (state.sha256 is not None) == (kind is PathKind.FILE)


def test_a_path_that_leads_out_of_the_tree_passes_no_check(place: Place) -> None:
    (place.folder / "outside.json").write_text("secret")
    (place.fixture / "out").symlink_to("../outside")
    report = place.check({"required_paths": ["out"], "forbidden_paths": ["out/x"]}, skip_tests=True)
    assert failed(report) == ["path.required:out", "path.forbidden:out/x"]


# Where the log is.


def test_a_session_of_the_store_is_found_by_its_id(place: Place) -> None:
    store = Store(place.folder / "store")
    store.write(f"sessions/{place.honest.SESSION}/log.jsonl", place.log.read_bytes())
    with session_log(place.honest.SESSION, store) as log:
        assert (log.session, log.patch) == (place.honest.SESSION, None)
        assert log.path.read_bytes() == place.log.read_bytes()


def test_a_session_of_a_store_that_is_not_local_is_read_to_a_file(place: Place) -> None:
    store = Store("memory://sessions-of-check")
    store.write(f"sessions/{place.honest.SESSION}/log.jsonl", place.log.read_bytes())
    with session_log(place.honest.SESSION, store) as log:
        assert log.path.read_bytes() == place.log.read_bytes()
    assert not log.path.exists()


def test_a_folder_with_a_log_is_a_session(place: Place) -> None:
    with session_log(str(place.folder), Store(place.folder / "store")) as log:
        assert log == (place.log, None, None, False)


@pytest.mark.parametrize(
    "text", ["01K0000000ABCDEFGHJKMNPQRS", "nowhere.jsonl", "a\0b", "", "01k", "~nobody-of-that-name/x", "a" * 5000]
)
def test_a_session_that_is_nowhere_is_told(place: Place, text: str) -> None:
    with (
        pytest.raises(InputError, match=r"there is no (session|such log)"),
        session_log(text, Store(place.folder / "store")),
    ):
        pass


def kept(place: Place, patch: bytes, spec: dict[str, Any] | None = None) -> Report:
    """Check a session of a store that keeps what it changed as a patch."""
    store = Store(place.folder / "store")
    store.write(f"sessions/{place.honest.SESSION}/log.jsonl", place.log.read_bytes())
    store.write(f"sessions/{place.honest.SESSION}/end.patch", patch)
    path = place.folder / "spec.json"
    path.write_bytes(orjson.dumps(place.honest.spec_of(place.fixture, **(spec or {}))))
    with session_log(place.honest.SESSION, store) as log:
        return check_session(load_spec(path), log, CheckOptions("0.1.0", os.environ))


def test_a_session_that_is_kept_as_a_patch_is_judged_by_the_tree_that_it_left(place: Place) -> None:
    patch = change_of(place.fixture, place.commit, place.fixture).patch
    place.honest.solve(place.fixture, place.honest.BROKEN)
    assert kept(place, patch).passed
    assert failed(kept(place, b"", {})) == ["test:empty"]


def test_a_patch_that_does_not_fit_is_no_evidence_about_the_model(place: Place) -> None:
    report = kept(place, b"junk")
    assert "fixture.available" in failed(report)
    assert report.fault_owner == "fixture"
    assert not [each for each in report.findings if each.category == "model" and not each.passed]


def test_a_session_that_was_killed_is_no_evidence_about_the_model(place: Place) -> None:
    store = Store(place.folder / "store")
    folder = f"sessions/{place.honest.SESSION}"
    place.honest.write_log(place.folder / "cut.jsonl", place.commit, without=["session.end", "network.summary"])
    store.write(f"{folder}/log.jsonl", (place.folder / "cut.jsonl").read_bytes())
    store.write(f"{folder}/session.json", b"{}")
    path = place.folder / "spec.json"
    path.write_bytes(orjson.dumps(place.honest.spec_of(place.fixture, expect={"max_turns": 1})))
    with session_log(place.honest.SESSION, store) as log:
        report = check_session(load_spec(path), log, CheckOptions("0.1.0", os.environ))
    owners = {finding.category.value for finding in report.findings if not finding.passed}
    assert owners == {"harness", "fixture", "network"}
    assert report.fault_owner in ("harness", "fixture")
    assert "cut off" in next(each.detail for each in report.findings if each.name == "fixture.available")
