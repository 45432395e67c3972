"""`assay eval run` and `assay eval replay`: a session of a spec, live or from its capture, and the report on it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pipeline.cli import options
from pipeline.cli import provenance_flags as provenance
from pipeline.cli.eval_commands import FormatOption, tell_of_spec
from pipeline.cli.session_commands import AgentOption, ProvidersOption, SandboxOption

if TYPE_CHECKING:
    from pipeline.cli.trajectory_file import TrajectoryFile
    from pipeline.session.check import CheckOptions
    from pipeline.session.eval_session import Evaluated
    from pipeline.session.spec_file import LoadedSpec

SpecArgument = Annotated[
    Path, typer.Argument(metavar="SPEC", help="A .zon, .yaml or .json file: chock.eval version 1.")
]
ProjectOption = Annotated[
    Path | None, typer.Option("--project", metavar="DIR", help="In place of the spec's fixture; it stays as it is.")
]
SkipOption = Annotated[
    bool, typer.Option("--skip-tests", help="Do not run the spec's commands, and do not judge them.")
]


def run(
    spec: SpecArgument,
    project: ProjectOption = None,
    output: FormatOption = "text",
    skip_tests: SkipOption = False,
    trajectory: options.TrajectoryOption = None,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Replace a capture or trajectory that is there.")
    ] = False,
    sandbox: SandboxOption = None,
    agent: AgentOption = None,
    providers: ProvidersOption = None,
    store: options.StoreOption = None,
    quiet: options.QuietOption = False,
    checkpoint: provenance.GivenCheckpoint = None,
    trainer: provenance.GivenTrainer = None,
    seed: provenance.GivenSeed = None,
    intervention: provenance.GivenIntervention = None,
    intervention_sha256: provenance.GivenInterventionSha256 = None,
) -> int:
    """Run the session of a spec with its provider and model, record it, and judge it.

    Exit status: 0 every check passed, 1 bad input, 2 no sandbox here, 3 a check failed, 9 the log cannot be verified,
    130 interrupted.
    """
    import os

    from pipeline.cli.exit_codes import tell
    from pipeline.cli.live_session import live_provider, this_world
    from pipeline.cli.screen import printable
    from pipeline.cli.trajectory_file import TrajectoryFile
    from pipeline.session.configure import AgentChoice, agent_config, load_agent_file
    from pipeline.session.eval_session import LiveAgent, run_spec
    from pipeline.session.named_files import check_before_run
    from pipeline.session.spec_file import load_spec
    from pipeline.store import open_store

    fields = provenance.given(checkpoint, trainer, seed, intervention, intervention_sha256)
    target = TrajectoryFile.asked_for(trajectory, overwrite=overwrite, has_others=True)
    loaded = load_spec(spec, "run", fields)
    if target is not None:
        target.refuse(loaded.path, loaded.capture)
    asked = loaded.spec
    has_network = bool(asked.sandbox and asked.sandbox.network_hosts)
    choice = AgentChoice(asked.tools, asked.limits, asked.expect.max_cost, asked.expect.currency, has_network)
    file = load_agent_file(agent)
    assert asked.provider is not None  # a spec for a run has both
    live = live_provider(asked.provider, asked.model, providers, os.environ)
    config = agent_config(choice, file, live.profile, live.model)
    tell_of_spec(loaded)
    for remark in check_before_run(loaded, project, skip_tests=skip_tests):
        tell(printable(remark))
    runner = LiveAgent(config, live.model, live.provider, live.redactor)
    settings = _settings(project, sandbox, skip_tests=skip_tests)
    one = run_spec(loaded, runner, open_store(store), this_world(is_quiet=quiet), settings, overwrite=overwrite)
    return _unless_interrupted(one, _told(one, loaded, output, target))


def replay(
    spec: SpecArgument,
    project: ProjectOption = None,
    output: FormatOption = "text",
    skip_tests: SkipOption = False,
    trajectory: options.TrajectoryOption = None,
    overwrite: options.OverwriteOption = False,
    sandbox: SandboxOption = None,
    store: options.StoreOption = None,
    checkpoint: provenance.GivenCheckpoint = None,
    trainer: provenance.GivenTrainer = None,
    seed: provenance.GivenSeed = None,
    intervention: provenance.GivenIntervention = None,
    intervention_sha256: provenance.GivenInterventionSha256 = None,
) -> int:
    """Replay the session of a spec from its capture: no model is asked, no tool is called; judge it.

    Exit status: 0 every check passed, 1 bad input, 2 the capture does not answer the session, 3 a check failed.
    """
    from pipeline.cli.live_session import this_world
    from pipeline.cli.trajectory_file import TrajectoryFile
    from pipeline.session.eval_session import replay_spec
    from pipeline.session.spec_file import load_spec
    from pipeline.store import open_store

    fields = provenance.given(checkpoint, trainer, seed, intervention, intervention_sha256)
    target = TrajectoryFile.asked_for(trajectory, overwrite=overwrite)
    loaded = load_spec(spec, "replay", fields)
    if target is not None:
        target.refuse(loaded.path, loaded.capture)
    settings = _settings(project, sandbox, skip_tests=skip_tests)
    one = replay_spec(loaded, open_store(store), this_world(), settings)
    return _told(one, loaded, output, target)


def _settings(project: Path | None, sandbox: str | None, *, skip_tests: bool) -> CheckOptions:
    import os

    import pipeline
    from pipeline.sandbox.drivers import driver_named
    from pipeline.session.check import CheckOptions

    driver = None if sandbox is None else driver_named(sandbox)
    return CheckOptions(pipeline.__version__, os.environ, project, driver, skip_tests)


def _unless_interrupted(one: Evaluated, status: int) -> int:
    from pipeline.cli.exit_codes import ExitCode, tell
    from pipeline.records.audit_names import EndReason

    if one.outcome.ending.reason is not EndReason.CANCELED_BY_USER:
        return status
    tell(f"interrupted; session {one.outcome.session} is kept")
    return ExitCode.INTERRUPTED


def _told(one: Evaluated, loaded: LoadedSpec, output: str, target: TrajectoryFile | None) -> int:
    import pipeline
    from pipeline.cli.eval_commands import show_report
    from pipeline.cli.exit_codes import tell
    from pipeline.cli.screen import printable
    from pipeline.session.call_errors import call_errors_of

    bound = None if target is None else one.trajectory(pipeline.__version__)
    if target is not None and bound is not None:
        target.write(bound)
    remarks = [line for line in (call_errors_of(one.log).remark(), _how_it_ended(one)) if line]
    if output == "json":
        for line in remarks:
            tell(printable(line))
    status = show_report(one.report, loaded.spec, output, remarks)
    if target is not None and bound is not None and output == "text":
        target.tell(bound)
    return status


def _how_it_ended(one: Evaluated) -> str:
    from pipeline.records.audit_names import EndReason

    ending, n_turns = one.outcome.ending, one.outcome.n_turns
    if ending.reason is EndReason.FINISHED:
        return ""
    turns = f"{n_turns:,} {'turn' if n_turns == 1 else 'turns'}"
    return f"the session ended as {ending.reason.value} after {turns}{': ' if ending.detail else ''}{ending.detail}"
