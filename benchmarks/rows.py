"""Writes the rows of the benchmark: unique texts of about 280 characters and what was expected. Seeded.

python benchmarks/rows.py FILE [ROWS [FIRST]]
"""

import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

SEED = 7
ROWS = 1_000_000
ROWS_PER_BATCH = 65_536
WORDS_PER_TEXT = 36
N_WORDS = 20_000
OUTSIDE_ASCII = 0.05  # share of texts with a character that is not ASCII
LETTERS = np.array(list("etaoinshrdlucmfwypvbgkqjxz"))
WEIGHTS = np.arange(len(LETTERS), 0, -1, dtype=float) ** 1.5


def vocabulary(random: np.random.Generator) -> pa.Array:
    """Words of 2 to 11 letters, common letters oftener."""
    lengths = random.integers(2, 12, N_WORDS)
    letters = random.choice(LETTERS, lengths.sum(), p=WEIGHTS / WEIGHTS.sum())
    return pa.array(["".join(word) for word in np.split(letters, np.cumsum(lengths)[:-1])])


def texts(words: pa.Array, choice: np.ndarray, numbers: pa.Array) -> pa.Array:
    """Rows of words, each with its number in the middle, so that no two texts are equal."""
    columns = [words.take(pa.array(column)) for column in choice.T]
    half = len(columns) // 2
    return pc.binary_join_element_wise(*columns[:half], numbers, *columns[half:], " ")


def batch(random: np.random.Generator, words: pa.Array, first: int, rows: int) -> pa.Table:
    """Half of the outputs equal what was expected but for blanks around it; in the others some words differ."""
    ids = pa.array(np.arange(first, first + rows))
    marks = pa.array(["", "№"]).take(pa.array((random.random(rows) < OUTSIDE_ASCII).astype(int)))
    numbers = pc.binary_join_element_wise(marks, pc.cast(ids, pa.string()), "")
    choice = random.integers(0, N_WORDS, (rows, WORDS_PER_TEXT), dtype=np.int32)
    expected = texts(words, choice, numbers)
    edited = (random.random(rows) < 0.5)[:, None] & (
        random.random(choice.shape) < random.choice([0.03, 0.1, 0.4], (rows, 1))
    )
    edited[:, 0] |= edited.any(axis=1)
    output = texts(words, np.where(edited, random.integers(0, N_WORDS, choice.shape, dtype=np.int32), choice), numbers)
    blanks = pa.array(["", " ", "\n", "\t "]).take(pa.array(random.integers(0, 4, rows)))
    needle = words.take(pa.array(choice[:, 5]))
    return pa.table(
        {
            "id": ids,
            "output": pc.binary_join_element_wise(blanks, output, blanks, ""),
            "expected": expected,
            "needle": needle,
        }
    )


def write_rows(target: Path, rows: int = ROWS, first_row: int = 0) -> None:
    """Write the Parquet file, batch by batch. Files that begin at other first rows have other texts."""
    random = np.random.default_rng([SEED, first_row])
    words = vocabulary(random)
    writer = None
    for first in range(0, rows, ROWS_PER_BATCH):
        table = batch(random, words, first_row + first, min(ROWS_PER_BATCH, rows - first))
        writer = writer or pq.ParquetWriter(target, table.schema, compression="zstd")
        writer.write_table(table, row_group_size=ROWS_PER_BATCH)
    if writer is not None:
        writer.close()


if __name__ == "__main__":
    write_rows(Path(sys.argv[1]), *map(int, sys.argv[2:]))
