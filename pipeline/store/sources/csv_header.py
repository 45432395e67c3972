"""The column names of a CSV file, before anything else of it is read."""

from __future__ import annotations

import csv
import io

from pipeline.store.open_url import open_input


def csv_header(path: str, delimiter: str = ",") -> list[str]:
    """The names in the first record; none where it cannot be read: whoever reads the rows says why.

    Raises:
        InputError: no such file.
    """
    with open_input(path) as file, io.TextIOWrapper(file, encoding="utf-8-sig", newline="") as text:
        try:
            return next(csv.reader(text, delimiter=delimiter), [])
        except (UnicodeDecodeError, csv.Error):
            return []
