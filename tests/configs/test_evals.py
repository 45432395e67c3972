"""The specs of configs/evals: their repositories come out the same everywhere, and only the right answer passes."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from pipeline.records.report import Report
from pipeline.session.check import CheckOptions, check_session
from pipeline.session.session_files import SessionLog
from pipeline.session.spec_file import load_spec

CONFIGS = Path(__file__).parents[2] / "configs"
EVALS = CONFIGS / "evals"
OTHERS = {"assay-providers.yaml", "rolling_max_script.yaml"}
SPECS = sorted(
    path for path in EVALS.iterdir() if path.suffix in (".zon", ".yaml", ".json") and path.name not in OTHERS
)


@pytest.fixture(scope="module")
def cases() -> ModuleType:
    sys.path.insert(0, str(EVALS))
    try:
        import make_cases
    finally:
        sys.path.remove(str(EVALS))
    return make_cases


class Bench:
    """One of the specs beside the repository that it judges, and an honest session over it."""

    def __init__(self, folder: Path, spec: Path, cases: ModuleType, honest: ModuleType) -> None:
        self.cases = cases
        self.problem = cases.problems()[f"HumanEval/{cases.CASES[spec.stem]}"]
        self.spec = Path(shutil.copy(spec, folder))
        self.fixture = folder / "fixtures" / spec.stem
        self.commit = cases.make_case(self.fixture, self.problem)
        self.tree, self.log = folder / "tree", folder / "log.jsonl"
        shutil.copytree(self.fixture, self.tree)
        honest.write_session(self.log, self.commit, "solved")

    def write(self, body: str) -> None:
        (self.tree / "solution.py").write_text(self.cases.solution(self.problem, body))

    def check(self) -> Report:
        options = CheckOptions("0", os.environ, project=self.tree)
        return check_session(load_spec(self.spec, "check"), SessionLog(self.log, None), options)


def failed(report: Report) -> list[str]:
    return [finding.name for finding in report.findings if not finding.passed]


@pytest.fixture(params=SPECS, ids=lambda spec: spec.stem)
def bench(request: Any, tmp_path: Path, cases: ModuleType, honest: ModuleType) -> Bench:
    return Bench(tmp_path, request.param, cases, honest)


def test_there_is_a_spec_for_every_case(cases: ModuleType) -> None:
    assert {spec.stem for spec in SPECS} == set(cases.CASES)
    assert len(SPECS) == 6


def test_an_answer_passes_only_if_it_is_right(bench: Bench) -> None:
    too_expensive = ["session.max_cost"] if bench.spec.stem == "greatest_common_divisor" else []
    assert "test:check" in failed(bench.check())
    bench.write(bench.problem["canonical_solution"])
    report = bench.check()
    assert (failed(report), report.base_commit) == (too_expensive, bench.commit)


@pytest.mark.parametrize("bench", [EVALS / "rolling_max.zon"], indirect=True)
@pytest.mark.parametrize(
    "cheat",
    [
        {"solution.py": "import os\nos._exit(0)\n"},
        {"tests/check.py": ""},
        {"tests/candidate.py": "candidate = None\n", "tests/check.py": "", "tests/examples.py": ""},
        {"tests/json.py": "import os\nos._exit(0)\n"},
        {"tests/subprocess.py": "import os\nos._exit(0)\n"},
        {"json.py": "import os\nos._exit(0)\n"},
        {"sitecustomize.py": "import os\nos._exit(0)\n", "usercustomize.py": "import os\nos._exit(0)\n"},
    ],
    ids=lambda cheat: "+".join(cheat),
)
def test_a_session_that_works_on_its_tests_instead_of_its_task_passes_none(bench: Bench, cheat: dict[str, str]) -> None:
    for name, text in cheat.items():
        (bench.tree / name).write_text(text)
    assert {"test:check", "test:examples"} <= set(failed(bench.check()))
