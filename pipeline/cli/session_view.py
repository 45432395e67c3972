"""What became of a session, for people and for programs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pipeline.cli.screen import print_facts, print_json, printable

if TYPE_CHECKING:
    from pipeline.session.call_errors import CallErrors
    from pipeline.session.run import Outcome


def print_outcome(outcome: Outcome, errors: CallErrors, *, is_json: bool) -> None:
    """Show the end of a session, what went wrong with its calls, and where its log is."""
    ending = outcome.ending
    if is_json:
        print_json(
            {
                "session": outcome.session,
                "reason": ending.reason.value,
                "detail": ending.detail,
                "result": ending.result,
                "turns": outcome.n_turns,
                "tool_calls": errors.n_calls,
                "tool_errors": errors.n_errors,
                "failed_commands": errors.n_failed_commands,
                "first_error": errors.first or None,
                "cost": dict(outcome.cost),
                "unpriced_requests": outcome.n_unpriced,
                "base_commit": outcome.base_commit,
                "log": str(outcome.log),
            }
        )
        return
    if ending.result:
        print(f"{printable(ending.result)}\n")
    print_facts(
        [
            ("session", outcome.session),
            ("ended", f"{ending.reason.value}{f': {printable(ending.detail)}' if ending.detail else ''}"),
            ("turns", str(outcome.n_turns)),
            ("calls", printable(errors.remark()) or str(errors.n_calls)),
            ("cost", _cost(outcome)),
            ("log", str(outcome.log)),
            ("changes", str(outcome.log.with_name("end.patch"))),
        ]
    )


def _cost(outcome: Outcome) -> str:
    """Without that of helpers, which is in their logs. What is not known is never told as nothing."""
    known = ", ".join(f"{amount:g} {currency}" for currency, amount in sorted(outcome.cost.items()))
    number = outcome.n_unpriced
    if not number:
        return known or "nothing"
    unknown = f"{number} {'request' if number == 1 else 'requests'} of unknown price"
    return f"{known} and {unknown}" if known else unknown
