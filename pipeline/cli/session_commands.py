"""`assay session run`: a session of the agent in the box, without a spec."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from pipeline.cli import options

if TYPE_CHECKING:
    from pipeline.session.run import Outcome

ProvidersOption = Annotated[
    Path | None,
    typer.Option("--providers", metavar="FILE", help="Profiles; default: ./assay-providers.yaml, then the user's."),
]
AgentOption = Annotated[
    Path | None, typer.Option("--agent", metavar="FILE", help="Prompt, tools and approvals of the agent.")
]
SandboxOption = Annotated[
    str | None, typer.Option("--sandbox", metavar="DRIVER", help="native, microvm or none; default: native.")
]


def run(
    task: Annotated[str, typer.Option("--task", metavar="TEXT", help="What the agent is to do.")],
    project: Annotated[Path, typer.Option("--project", metavar="DIR", help="The repository; it stays as it is.")],
    provider: Annotated[str, typer.Option("--provider", metavar="NAME", help="A profile.")] = "local",
    model: Annotated[str | None, typer.Option("--model", metavar="MODEL", help="Default: the profile's.")] = None,
    base_commit: Annotated[str, typer.Option("--base-commit", metavar="REVISION", help="Where it begins.")] = "HEAD",
    allow_host: Annotated[
        list[str] | None, typer.Option("--allow-host", metavar="HOST", help="May be reached; repeatable.")
    ] = None,
    max_turns: Annotated[int, typer.Option("--max-turns", min=1, help="Replies of the model.")] = 50,
    max_cost: Annotated[
        str | None, typer.Option("--max-cost", metavar="'AMOUNT CODE'", help="Such as '0.5 USD'; default: no bound.")
    ] = None,
    agent: AgentOption = None,
    providers: ProvidersOption = None,
    sandbox: SandboxOption = None,
    store: options.StoreOption = None,
    quiet: options.QuietOption = False,
    output: Annotated[Literal["text", "json"], typer.Option("--output", help="text for people, json.")] = "text",
) -> int:
    """Run one session of the agent over a copy of a repository, and keep its log, capture and changes in the store.

    Exit status: 0 finished, 1 bad input, 2 errored or no sandbox here, 3 stopped by the user, 4 turn limit,
    6 no progress, 7 budget, 10 empty reply, 11 refused by the model, 12 rate limited.
    """
    import os

    from pipeline.cli.live_session import live_provider, this_world
    from pipeline.cli.session_view import print_outcome
    from pipeline.cli.uncommitted_view import tell_of_uncommitted
    from pipeline.records.eval_spec import Limits
    from pipeline.sandbox.drivers import Driver, driver_named
    from pipeline.session.call_errors import call_errors_of
    from pipeline.session.configure import AgentChoice, agent_config, load_agent_file
    from pipeline.session.run import Plan, run_session
    from pipeline.store import open_store

    _check_task(task)
    amount, currency = _money(max_cost)
    choice = AgentChoice(None, Limits(max_turns=max_turns), amount, currency, has_network=bool(allow_host))
    file = load_agent_file(agent)
    live = live_provider(provider, model, providers, os.environ)
    plan = Plan(
        task=task,
        fixture=project,
        base_commit=base_commit,
        config=agent_config(choice, file, live.profile, live.model),
        model=live.model,
        driver=driver_named(sandbox) if sandbox else Driver.NATIVE,
        network_hosts=tuple(allow_host or ()),
    )
    opened = open_store(store)
    tell_of_uncommitted(project, base_commit, opened)
    with run_session(plan, live.provider, opened, this_world(is_quiet=quiet), live.redactor) as outcome:
        print_outcome(outcome, call_errors_of(outcome.log.read_bytes()), is_json=output == "json")
        return exit_status(outcome)


def exit_status(outcome: Outcome) -> int:
    """The exit status that the end of a session stands for."""
    return {
        "finished": 0, "canceled_by_user": 3, "errored": 2, "turn_limit": 4, "no_progress": 6, "budget_reached": 7,
        "handed_over": 8, "empty_response": 10, "refused_by_model": 11, "rate_limited": 12,
    }.get(outcome.ending.reason.value, 2)  # fmt: skip


def _check_task(task: str) -> None:
    from pipeline.errors import InputError

    if not task.strip():
        raise InputError("--task is empty; expected what the agent is to do")


def _money(text: str | None) -> tuple[float | None, str | None]:
    from pipeline.errors import InputError

    if text is None:
        return None, None
    amount, _, currency = text.strip().partition(" ")
    try:
        value = float(amount)
    except ValueError:
        value = -1.0
    if not (0 < value < float("inf")) or not (len(currency) == 3 and currency.isalpha() and currency.isupper()):
        raise InputError(f"--max-cost is {text!r}; expected an amount and a currency, such as '0.5 USD'")
    return value, currency
