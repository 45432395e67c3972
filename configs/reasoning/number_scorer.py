"""An own scorer: compares as numbers, and abstains where the reference is not one."""

import pipeline


def read_number(text: str) -> float | None:
    """The number that the text is, or null. `inf` and the like are no numbers here."""
    try:
        number = float(text.strip().removeprefix("$").removesuffix("$"))
    except ValueError:
        return None
    return number if abs(number) < float("inf") else None


@pipeline.function
def same_number(output: str, answer: str) -> float | None:
    """1 where both are the same number to a millionth, 0 where not, no score where the answer is no number."""
    expected = read_number(answer)
    if expected is None:
        return None
    found = read_number(output)
    return float(found is not None and abs(found - expected) <= 1e-6 * max(1.0, abs(expected)))
