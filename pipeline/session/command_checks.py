"""Checks of what the test commands did."""

from __future__ import annotations

import signal
from collections.abc import Iterable, Sequence

from pipeline.records.eval_spec import EvalSpec, TestCommand
from pipeline.records.owners import Owner
from pipeline.records.report import Finding
from pipeline.session.evidence import CommandResult, TreeEvidence
from pipeline.session.findings import Judged, finding

NOT_PROTECTED = "tests not protected: the spec has no test_files, so the agent could have changed what judges it"

NOT_SANDBOXED = "run without a sandbox, with all rights of whoever checked: what it printed is no evidence of isolation"


def check_commands(spec: EvalSpec, tree: TreeEvidence, results: Sequence[CommandResult]) -> Iterable[Finding]:
    """One finding for each test command of the spec, whether it has a result or not."""
    by_name = {result.name: result for result in results}
    for test in spec.tests:
        yield _check_command(test, spec, tree, by_name.get(test.name))


def _check_command(test: TestCommand, spec: EvalSpec, tree: TreeEvidence, result: CommandResult | None) -> Finding:
    name = f"test:{test.name}"
    # A fixture without what the tests are taken from is not the harness's fault, and no test is to blame.
    problem = tree.problem or (tree.base_problem if spec.test_files else "")
    if problem:
        return finding(name, Owner.FIXTURE, 0, Judged(False, None, f"not run: {problem}"))
    if result is None:
        return finding(name, Owner.HARNESS, 0, Judged(False, None, "not run"))
    if result.not_started and not result.starts_on_fixture:
        where = "" if result.starts_on_fixture is None else ", on the untouched fixture neither"
        return finding(
            name, Owner.HARNESS, 0, Judged(False, None, f"could not be started{where}: {result.not_started}")
        )
    return finding(name, Owner.TEST, 0, Judged(result.exit_status == 0, _ending(result), _told(result)))


def _ending(result: CommandResult) -> int | str:
    if result.not_started:
        return "not started"
    if result.stopped:
        return result.stopped
    if result.signal is not None:
        return _signal_name(result.signal)
    assert result.exit_status is not None
    return result.exit_status


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def _told(result: CommandResult) -> str:
    """For a person: what is to be known about the judgement, then what the command printed."""
    if result.not_started:
        return f"could not be started, though it starts on the untouched fixture: {result.not_started}"
    lines = [result.absent] if result.absent else []
    lines += [] if result.is_sandboxed else [NOT_SANDBOXED]
    lines += [] if result.is_protected else [NOT_PROTECTED]
    if result.is_cut:
        lines.append("the output is cut:")
    return "\n".join([*lines, *([result.output] if result.output else [])])
