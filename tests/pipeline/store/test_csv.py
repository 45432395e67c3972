"""CSV files as sources: typing, quoting, and every kind of file that is refused."""

from __future__ import annotations

import csv
import io
import math
import re
import subprocess
import sys
import threading
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.errors import DatasetError, InputError
from pipeline.store.sources import SourceOptions, csv_text, open_source
from pipeline.store.sources.column_types import parse_column_types


def read(path: Path, types: dict[str, object] | None = None, delimiter: str = ",") -> pa.Table:
    source = open_source(path, options=SourceOptions(parse_column_types(types), delimiter))
    return pa.concat_tables([source.schema.empty_table(), *source.tables()])


def write(folder: Path, content: str | bytes) -> Path:
    path = folder / "data.csv"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


@pytest.mark.parametrize(
    "cells, kind, values",
    [
        (["1", "-2", ""], pa.int64(), [1, -2, None]),
        (["007", " 5", "6 "], pa.int64(), [7, 5, 6]),
        (["0", "1"], pa.int64(), [0, 1]),
        (["9223372036854775807", "-9223372036854775808"], pa.int64(), [2**63 - 1, -(2**63)]),
        (["9223372036854775808", "1"], pa.float64(), [2.0**63, 1.0]),
        (["1", "2.5", "1e3", ".5", "3."], pa.float64(), [1.0, 2.5, 1000.0, 0.5, 3.0]),
        (["inf", "-inf"], pa.float64(), [math.inf, -math.inf]),
        (["true", "True", "TRUE", "false", "False", "FALSE", "null"], pa.bool_(), [True] * 3 + [False] * 3 + [None]),
        (["t", "F"], pa.string(), ["t", "F"]),
        (["1_000", "2"], pa.string(), ["1_000", "2"]),
        (["+5", "6"], pa.string(), ["+5", "6"]),
        (["0x1F", "2"], pa.string(), ["0x1F", "2"]),
        (["true", "1"], pa.string(), ["true", "1"]),
        (["1", "x"], pa.string(), ["1", "x"]),
        (["2020-01-02", "2020-01-03"], pa.string(), ["2020-01-02", "2020-01-03"]),
        (["NULL", "null", "", '""'], pa.string(), [None] * 4),
        (["None", "NA"], pa.string(), ["None", "NA"]),
    ],
)
def test_the_cells_of_a_column_decide_its_type(tmp_path, cells, kind, values):
    table = read(write(tmp_path, "x,end\n" + "".join(f"{cell},e\n" for cell in cells)))
    assert table.schema.field("x").type == kind
    assert table["x"].to_pylist() == values


def test_nan_is_a_number(tmp_path):
    table = read(write(tmp_path, "x\nnan\n1\n"))
    assert table.schema.field("x").type == pa.float64()
    assert math.isnan(table["x"][0].as_py())


def test_a_type_is_decided_by_all_rows(tmp_path, monkeypatch):
    monkeypatch.setattr(csv_text, "BLOCK_BYTES", 1000)
    table = read(write(tmp_path, "x\n" + "1\n" * 5000 + "late\n"))
    assert table.schema.field("x").type == pa.string()
    assert table["x"].to_pylist() == ["1"] * 5000 + ["late"]


def test_a_given_type_wins(tmp_path):
    path = write(tmp_path, "zip,when,n\n00701,2020-01-02 03:04:05,1\n,,2\n")
    table = read(path, {"zip": "string", "when": "timestamp", "n": pa.int32()})
    assert [str(kind) for kind in table.schema.types] == ["string", "timestamp[us]", "int32"]
    assert table["zip"].to_pylist() == ["00701", None]
    assert str(table["when"][0].as_py()) == "2020-01-02 03:04:05"


def test_a_cell_that_a_given_type_refuses_is_named_with_its_line(tmp_path):
    path = write(tmp_path, 'note,n\n"two\nlines",1\nx,many\n')
    with pytest.raises(DatasetError, match=re.escape("data.csv, line 4: column 'n' holds 'many', expected int64")):
        read(path, {"n": "int64"})


def test_a_given_type_for_no_column_names_the_nearest(tmp_path):
    with pytest.raises(DatasetError, match="did you mean 'amount'"):
        read(write(tmp_path, "amount\n1\n"), {"amout": "int64"})


def test_an_unknown_type_name_is_refused():
    with pytest.raises(InputError, match="did you mean 'string'"):
        parse_column_types({"x": "strng"})


def test_quotes_line_ends_and_delimiters_in_cells_are_kept(tmp_path):
    table = read(write(tmp_path, 'a,b\r\n"x\r\ny","say ""hi"", ok"\r\n5" disk,"q"\r\n'))
    assert table.to_pylist() == [{"a": "x\r\ny", "b": 'say "hi", ok'}, {"a": '5" disk', "b": "q"}]


def test_another_delimiter_can_be_given(tmp_path):
    assert read(write(tmp_path, "a\tb\n1\tx,y\n"), delimiter="\t").to_pylist() == [{"a": 1, "b": "x,y"}]


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("last", [True, False])
def test_every_line_end_is_understood(tmp_path, end, last):
    content = end.join(["a,b", "1,2", "3,4"]) + (end if last else "")
    assert read(write(tmp_path, content)).to_pylist() == [{"a": 1, "b": 2}, {"a": 3, "b": 4}]


def test_a_byte_order_mark_is_skipped(tmp_path):
    assert read(write(tmp_path, b"\xef\xbb\xbfa,b\n1,2\n")).column_names == ["a", "b"]


@pytest.mark.parametrize("content", ["a,b\n", "a,b", "a,b\r\n"])
def test_a_header_alone_is_a_dataset_without_rows(tmp_path, content):
    table = read(write(tmp_path, content))
    assert table.num_rows == 0
    assert table.schema.types == [pa.string(), pa.string()]


def test_a_row_of_nulls_is_no_blank_line(tmp_path):
    assert read(write(tmp_path, "a,b\n1,2\n,\n")).to_pylist()[1] == {"a": None, "b": None}
    assert read(write(tmp_path, 'a\n1\n""\n'))["a"].to_pylist() == [1, None]


@pytest.mark.parametrize(
    "content, message",
    [
        ("", "data.csv: is empty; expected a header line"),
        (b"\xef\xbb\xbf", "data.csv: is empty"),
        ("\n1\n", "data.csv, line 1: has no columns"),
        ("a,b\n1,2\n3\n", "data.csv, line 3: has 1 cell, expected 2"),
        ('a,b\n"1\n",2\n3,4,5\n', "data.csv, line 4: has 3 cells, expected 2"),
        ("a,b\n1,2\n\n3,4\n", "data.csv, line 3: is blank"),
        ("a,b\n1,2\n\n", "data.csv, line 3: is blank"),
        ("a\n1\n\n2\n", "data.csv, line 3: is blank"),
        ("a,b,a\n1,2,3\n", "data.csv, line 1: columns 1 and 3 are both named 'a'"),
        ("a,,b\n1,2,3\n", "data.csv, line 1: column 2 of 3 has an empty name"),
        ("a, \n1,2\n", "data.csv, line 1: column 2 of 2 has an empty name"),
        (b"a,b\n1,x\n2,\xff\n", "data.csv, line 3: is not UTF-8 at byte 10"),
        (b"a,\xe9\n1,x\n", "data.csv, line 1: is not UTF-8 at byte 2"),
        ("a,b\n1,é\n".encode("utf-16"), "it looks like UTF-16"),
        ('a,b\n1,2\n3,"4\n5,6\n', 'data.csv, line 3: a quote (") that opens in this record is never closed'),
        ('a,b\n1,2\n3,"4', 'data.csv, line 3: a quote (") that opens in this record is never closed'),
    ],
)
def test_a_file_that_is_no_csv_is_refused_with_its_line(tmp_path, content, message):
    with pytest.raises(DatasetError, match=re.escape(message)):
        read(write(tmp_path, content))


def test_cells_larger_than_a_block_are_read(tmp_path, monkeypatch):
    monkeypatch.setattr(csv_text, "BLOCK_BYTES", 1000)
    table = read(write(tmp_path, "a,b\n1," + "x" * 50_000 + '\n2,"' + "y\n" * 20_000 + '"\n'))
    assert [len(cell) for cell in table["b"].to_pylist()] == [50_000, 40_000]


def test_a_record_beyond_the_largest_block_is_refused_with_its_line(tmp_path, monkeypatch):
    monkeypatch.setattr(csv_text, "BLOCK_BYTES", 1000)
    monkeypatch.setattr(csv_text, "LONGEST_RECORD", 1 << 20)
    with pytest.raises(DatasetError, match="line 3: a record of more than 1 MiB"):
        read(write(tmp_path, f"a,b\n1,2\n3,{'x' * (4 << 20)}\n4,5\n"))


def test_a_megabyte_in_one_cell_needs_no_setting(tmp_path):
    assert len(read(write(tmp_path, f"a\n{'x' * (6 << 20)}\n"))["a"][0].as_py()) == 6 << 20


CELLS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=12)


@settings(max_examples=150, deadline=None)
@given(rows=st.lists(st.tuples(CELLS, CELLS), min_size=1, max_size=20), block=st.sampled_from([10, 300, 1 << 20]))
def test_what_is_written_as_csv_is_read_back(tmp_path_factory, rows, block):
    text = io.StringIO()
    csv.writer(text, quoting=csv.QUOTE_ALL).writerows([("a", "b"), *rows])
    path = write(tmp_path_factory.mktemp("csv"), text.getvalue())
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(csv_text, "BLOCK_BYTES", block)
        table = read(path, {"a": "string", "b": "string"})
    expected = [tuple(cell or None for cell in row) for row in rows]
    assert [tuple(row.values()) for row in table.to_pylist()] == expected


@settings(max_examples=100, deadline=None)
@given(values=st.lists(st.none() | st.integers(-(2**63), 2**63 - 1), min_size=1))
def test_whole_numbers_are_read_back_exactly(tmp_path_factory, values):
    content = "x,end\n" + "".join(f"{'' if value is None else value},e\n" for value in values)
    table = read(write(tmp_path_factory.mktemp("csv"), content))
    assert table["x"].to_pylist() == values


@settings(max_examples=100, deadline=None)
@given(values=st.lists(st.floats(allow_nan=False), min_size=1))
def test_floats_are_read_back_exactly(tmp_path_factory, values):
    table = read(write(tmp_path_factory.mktemp("csv"), "x\n" + "".join(f"{value!r}\n" for value in values)))
    assert table["x"].to_pylist() == values


READ_AND_END = """
import gc, io, os, signal, sys, time
import pyarrow as pa
from pipeline.errors import DatasetError
from pipeline.store.sources import Progress, SourceOptions, csv_text, open_source

class SlowAtItsEnd(io.FileIO):
    def read(self, size=-1):
        data = super().read(size)
        time.sleep(0 if data else i % 5 / 1000)
        return data

def interrupt(done, total):
    if done > total / 4:
        os.kill(os.getpid(), signal.SIGINT)

def read(path, way):
    types = {"b": pa.int64()} if way == "second pass" else {}
    progress = Progress(interrupt if way == "interrupt" else None)
    for _ in open_source(path, progress, SourceOptions(types)).tables():
        if way == "closed early":
            break

csv_text.BLOCK_BYTES, csv_text.open_input = 1000, SlowAtItsEnd
gc.freeze()  # children end sooner
codes = []
for i in range(40):
    child = os.fork()
    if child == 0:
        break
    codes.append(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
if child == 0:
    try:
        read(*sys.argv[1:])
    except (DatasetError, KeyboardInterrupt) as error:
        print(type(error).__name__)
else:
    print(codes)
"""


@pytest.mark.parametrize(
    "way, content, error",
    [
        ("first pass", "a,b\n1,2\n3\n4,5,6\n", "DatasetError"),
        ("second pass", "a,b\n" + "1,2\n" * 1000 + "1,x\n", "DatasetError"),
        ("closed early", "a,b\n" + "1,2\n" * 1000, None),
        ("interrupt", "a,b\n" + "1,2\n" * 1000, "KeyboardInterrupt"),
    ],
)
def test_a_process_ends_in_order_however_its_reading_ended(tmp_path, way, content, error):
    script = write(tmp_path, READ_AND_END).rename(tmp_path / "script.py")
    done = subprocess.run(
        [sys.executable, "-W", "ignore::DeprecationWarning", script, write(tmp_path, content), way],
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert (done.returncode, done.stderr) == (0, "")
    *errors, codes = done.stdout.splitlines()
    assert codes == str([0] * 40)
    assert errors == ([error] * 40 if error else [])


def test_only_the_thread_that_asks_reads_the_file(tmp_path, monkeypatch):
    path = write(tmp_path, "a,b\n" + "1,2\n" * 5000)
    readers = []

    class Watched(io.FileIO):
        def read(self, size=-1):
            readers.append(threading.get_ident())
            return super().read(size)

    monkeypatch.setattr(csv_text, "open_input", lambda path: Watched(path))
    monkeypatch.setattr(csv_text, "BLOCK_BYTES", 1000)
    assert read(path).num_rows == 5000
    assert len(readers) > 20
    assert set(readers) == {threading.get_ident()}


PIECES = st.lists(st.sampled_from(['"', '""', ",", "\n", "\r", "\r\n", "x", "é", "\ufeff"]), max_size=40).map("".join)


@settings(max_examples=400, deadline=None)
@given(text=PIECES, block=st.integers(1, 12))
def test_blocks_of_any_size_hold_the_same_records(tmp_path_factory, text, block):
    path = write(tmp_path_factory.mktemp("csv"), "a,b\n1,2\n" + text)
    with pytest.MonkeyPatch.context() as patch:
        whole = outcome(path)
        patch.setattr(csv_text, "BLOCK_BYTES", block)
        assert outcome(path) == whole


def outcome(path: Path) -> list[dict[str, str]] | None:
    try:
        return read(path, {"a": "string", "b": "string"}).to_pylist()
    except DatasetError:  # of several faults, which one is named depends on the blocks
        return None


def test_a_column_given_as_text_keeps_its_cells_as_they_are_written(tmp_path):
    cells = ["007", "1.0", "true", "null", "NULL", " 5 ", "nan", '"a,b"', "", '""']
    table = read(write(tmp_path, "x,y\n" + "".join(f"{cell},null\n" for cell in cells)), {"x": "string"})
    assert table["x"].to_pylist() == ["007", "1.0", "true", "null", "NULL", " 5 ", "nan", "a,b", None, None]
    assert table["y"].to_pylist() == [None] * 10


@pytest.mark.parametrize("kind", ["string", "text", "large_string", pa.string_view()])
def test_every_type_of_text_keeps_cells_as_they_are_written(tmp_path, kind):
    assert read(write(tmp_path, "x\n007\nnull\n"), {"x": kind})["x"].to_pylist() == ["007", "null"]
