"""Every attack on the sandbox and on the reads around it: `python tests/pipeline/sandbox/attacks.py [WORD]`.

Prints a table of the attacks (those with WORD in their line) and what became of each; ends with status 1 where one got
through.
"""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path

_HERE = Path(__file__).parent
sys.path[:0] = [str(_HERE), str(_HERE.parents[2])]

from attack import Attack, ground  # noqa: E402
from attacks_inside import ATTACKS_INSIDE  # noqa: E402
from attacks_outside import ATTACKS_OUTSIDE  # noqa: E402

ATTACKS: list[Attack] = [*ATTACKS_INSIDE, *ATTACKS_OUTSIDE]


def main(word: str) -> int:
    n_through, chosen = 0, [each for each in ATTACKS if word in f"{each.group}: {each.name}"]
    sys.stdout.write("| attack | outcome | seconds |\n|---|---|---|\n")
    with tempfile.TemporaryDirectory() as folder, ground(Path(folder, "ground")) as at:
        for each in chosen:
            began = time.monotonic()
            found = each.attempt(at)
            n_through += bool(found)
            outcome = f"THROUGH: {' '.join(found.split())}" if found else "stopped"
            sys.stdout.write(f"| {each.group}: {each.name} | {outcome} | {time.monotonic() - began:.2f} |\n")
            sys.stdout.flush()
    sys.stdout.write(f"\n{len(chosen)} attacks, {n_through} got through\n")
    return 1 if n_through else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1] if len(sys.argv) > 1 else ""))
