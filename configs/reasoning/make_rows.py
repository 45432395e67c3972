"""Writes `rows.parquet`: 20,000 tasks of reasoning-gym, the same rows for the same seed, no question twice.

python configs/reasoning/make_rows.py [FILE]
"""

import random
import sys
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import reasoning_gym

SEED = 20_240_229
ROWS_PER_FAMILY = 1_000
DRAWS_PER_FAMILY = 5 * ROWS_PER_FAMILY  # some families repeat themselves: `lcm` one question in ten
# Families whose thousand questions take less than a second.
FAMILIES = (
    "base_conversion",
    "basic_arithmetic",
    "binary_alternation",
    "bitwise_arithmetic",
    "caesar_cipher",
    "calendar_arithmetic",
    "count_bits",
    "count_primes",
    "decimal_chain_sum",
    "fraction_simplification",
    "gcd",
    "isomorphic_strings",
    "lcm",
    "leg_counting",
    "letter_counting",
    "number_sorting",
    "spell_backward",
    "time_intervals",
    "word_sequence_reversal",
    "word_sorting",
)


def family_rows(family: str) -> Iterator[dict[str, str]]:
    """The first thousand questions of a family that differ."""
    tasks = reasoning_gym.create_dataset(family, size=DRAWS_PER_FAMILY, seed=SEED)
    seen: set[str] = set()
    for position in range(DRAWS_PER_FAMILY):
        task = tasks[position]
        if task["question"] in seen:
            continue
        seen.add(task["question"])
        yield {
            "id": f"{family}-{position:04}",
            "family": family,
            "question": task["question"],
            "answer": task["answer"],
        }
        if len(seen) == ROWS_PER_FAMILY:
            return
    raise ValueError(f"{family} has only {len(seen)} questions that differ in {DRAWS_PER_FAMILY} draws")


def make_rows() -> pa.Table:
    """All families, shuffled: a part of the run then holds every family."""
    rows = [row for family in FAMILIES for row in family_rows(family)]
    random.Random(SEED).shuffle(rows)
    return pa.Table.from_pylist(rows)


if __name__ == "__main__":
    target = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).with_name("rows.parquet")
    table = make_rows()
    pq.write_table(table, target)
    print(f"{table.num_rows} rows of {len(FAMILIES)} families: {target}")
