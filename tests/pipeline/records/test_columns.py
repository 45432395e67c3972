import pyarrow as pa
import pytest

from pipeline.errors import InputError
from pipeline.records.columns import check_collisions, check_dataset_columns, result_schema
from pipeline.records.evaluation import ScorerRecord


def scorer(name: str, **more) -> ScorerRecord:
    return ScorerRecord(id=name, name=name, inputs=("output",), version="v", **more)


@pytest.mark.parametrize(
    "name",
    ["output", "trace", "__chalk_evaluation_output", "__chalk_evaluation_row_id", "__chalk__session_id__",
     "__chalk__task_session_id__", "__assay_owner"],
)  # fmt: skip
def test_a_reserved_column_is_refused_by_name(name):
    with pytest.raises(InputError, match=f'dataset column "{name}" is reserved by the evaluation runtime'):
        check_dataset_columns(["message", name], None)


def test_a_column_called_output_may_be_scored_as_it_is():
    check_dataset_columns(["output", "expected"], "output")


def test_two_scorers_of_one_name_are_refused_with_a_name_to_give():
    with pytest.raises(InputError, match="name, for example 'exact-match-2'"):
        check_collisions([], [scorer("exact-match"), scorer("exact-match")])


def test_names_that_are_one_after_folding_or_in_a_path_are_refused():
    for first, second in (("Tone", "tone"), ("a b", "a-b")):
        with pytest.raises(InputError, match="one name in a path"):
            check_collisions([], [scorer(first), scorer(second)])


def test_a_dataset_column_that_a_scorer_would_write_is_refused():
    with pytest.raises(InputError, match="\"tone_value\" is a column that scorer 'tone' writes"):
        check_collisions(["tone_value"], [scorer("tone")])


def test_a_scorer_called_output_would_write_the_error_of_the_output():
    with pytest.raises(InputError, match="'output_error', which the output's error writes already"):
        check_collisions([], [scorer("output")])


def test_a_sql_scorer_has_its_value_alone():
    schema = result_schema(pa.schema([("q", pa.string())]), pa.string(), [scorer("s", sql_expression="1"), scorer("f")])
    assert schema.names == [
        "q", "output", "output_error", "s_value", "f_value", "f_error", "f_metadata",
        "__assay_row_id", "__assay_owner", "__assay_scorer_owner",
    ]  # fmt: skip


@pytest.mark.parametrize("first, second", [("Ω", "ω"), ("ß", "SS"), ("日本", "日本")])
def test_names_outside_ascii_are_folded_too(first, second):
    with pytest.raises(InputError, match="two scorers are called"):
        check_collisions([], [scorer(first), scorer(second)])


def test_names_outside_ascii_that_differ_are_kept_apart():
    check_collisions([], [scorer("日本"), scorer("中国")])
