"""`assay doctor`: what of this machine assay can use, and what to do about the rest."""

from __future__ import annotations

from pipeline.cli import options


def doctor(store: options.StoreOption = None, as_json: options.JsonOption = False) -> int:
    """Look at Python, libraries, Ray, the store, extras and keys. Starts nothing, shows no secret."""
    from pipeline.cli.diagnosis import examine
    from pipeline.cli.exit_codes import ExitCode
    from pipeline.cli.screen import print_json, print_table

    checks = examine(store)
    is_broken = any(check.state == "BROKEN" for check in checks)
    if as_json:
        print_json({"ok": not is_broken, "checks": [check._asdict() for check in checks]})
    else:
        print_table(["what", "state", "detail"], checks, whole=("what", "state"), prose=("detail",))
    return ExitCode.FAULT if is_broken else ExitCode.DONE
