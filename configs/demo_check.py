"""What `make demo-check` runs: four sessions over small repositories judged by their specs, and two reports compared.

The sessions are written by `tests/honest_sessions.py` with assay's own log writer: what a coding agent would leave.
"""

import shutil
import sys
from pathlib import Path
from typing import NamedTuple

from steps import ASSAY, CONFIGS, shown, step

sys.path += [str(CONFIGS / "evals"), str(CONFIGS.parent / "tests")]

from honest_sessions import write_session
from make_cases import CASES, FIXTURES, make_case, problems, solution

SESSIONS = Path("demo-results").resolve() / "sessions"
FORGETS_EMPTY_LISTS = """    result = [numbers[0]]
    for number in numbers[1:]:
        result.append(max(result[-1], number))
    return result
"""


class Session(NamedTuple):
    """A session that is made and checked."""

    title: str
    kind: str
    spec: str
    exit_status: int
    body: str = ""
    """Of the function that it wrote; empty: the right one."""

    @property
    def folder(self) -> Path:
        """Where its log and its tree lie."""
        return SESSIONS / self.kind.replace(" ", "-")

    @property
    def command(self) -> list[str]:
        """The command that checks it."""
        spec, log, tree = (shown(each) for each in (CONFIGS / "evals" / self.spec, self.log, self.tree))
        return [ASSAY, "eval", "check", spec, "--session", log, "--project", tree]

    @property
    def log(self) -> Path:
        """Its audit log."""
        return self.folder / "log.jsonl"

    @property
    def tree(self) -> Path:
        """What it left of the fixture."""
        return self.folder / "tree"


DEMO = (
    Session("solved its task", "solved", "rolling_max.zon", 0),
    Session("forgot the empty list", "half solved", "rolling_max.zon", 3, FORGETS_EMPTY_LISTS),
    Session("reached a host that it must not", "network used", "remove_duplicates.yaml", 3),
    Session("had its log changed afterwards", "tampered", "string_xor.zon", 9),
)


def make_sessions() -> None:
    """Write the log of each session, and the tree that it left."""
    found = problems()
    shutil.rmtree(SESSIONS, ignore_errors=True)
    for session in DEMO:
        case = session.spec.partition(".")[0]
        problem = found[f"HumanEval/{CASES[case]}"]
        commit = make_case(FIXTURES / case, problem)
        shutil.copytree(FIXTURES / case, session.tree)
        body = session.body or problem["canonical_solution"]
        (session.tree / "solution.py").write_text(solution(problem, body), encoding="utf-8")
        write_session(session.log, commit, session.kind, f"Write {problem['entry_point']} in solution.py.")


def main() -> None:
    """Make, check, compare; every exit status is the one that is expected, or the demo ends with a fault."""
    make_sessions()
    for session in DEMO:
        step(f"a session that {session.title}", *session.command, expected=session.exit_status)
    reports = [report_of(session) for session in DEMO[:2]]
    step("the second against the first", ASSAY, "eval", "compare", *reports, expected=3)


def report_of(session: Session) -> str:
    """The file of its report, as JSON."""
    report = session.folder / "report.json"
    command = [*session.command, "--format", "json"]
    step(f"the report on what was {session.kind}, kept", *command, to=report, expected=session.exit_status)
    return shown(report)


if __name__ == "__main__":
    main()
