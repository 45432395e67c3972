"""Making the built-in scorers: names, inputs, options, versions, and going to JSON and back."""

from __future__ import annotations

import hashlib
import inspect
import json
import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import scorers
from scorers.builtins import BUILTINS, builtin_from_json, make_builtin

VECTORS = json.loads((Path(__file__).parents[1] / "vectors" / "scorers.json").read_text(encoding="utf-8"))
REQUIRED = {"regex_match": {"pattern": "a"}, "string_similarity": {"method": "jaccard"}}
OPTIONS: list[tuple[str, dict[str, Any]]] = [
    ("exact_match", {"case_insensitive": True, "strip": False, "normalize_whitespace": True}),
    ("contains", {"mode": "fraction", "case_insensitive": True}),
    ("regex_match", {"pattern": "(?P<a>x)", "flags": 2, "full_match": True, "inputs": ["a b"]}),
    ("levenshtein", {"case_insensitive": True, "name": "edit", "inputs": ["ä", 'say "x"']}),
    ("string_similarity", {"method": "jaccard", "unit": "char", "case_insensitive": True}),
    ("json_valid", {"num_cpus": 2, "runtime_env": {"pip": ["x"]}}),
    ("json_match", {"paths": ["a.0", "b"]}),
    ("numeric_close", {"tolerance": 1, "relative": True}),
]

# Revision of each built-in and the digest of its vectors: where a vector changes, so does a result, and the revision
# is raised by hand in the scorer's file and here.
REVISIONS = {
    "exact_match": (1, "003ba6f672b0b9d2"),
    "contains": (1, "d86df4a95ae6752d"),
    "regex_match": (1, "9e9dd6b649449523"),
    "levenshtein": (1, "e1956052d2e4a86f"),
    "string_similarity": (1, "0a52e372eed47ccc"),
    "json_valid": (1, "2165e407dd8304ab"),
    "json_match": (1, "c222601c7603b2f9"),
    "numeric_close": (1, "b26c326cef8fee34"),
}


def make(builtin: str, /, **options: Any) -> Any:
    return make_builtin(builtin, REQUIRED.get(builtin, {}) | options)


@pytest.mark.parametrize("name", BUILTINS)
def test_a_revision_is_raised_when_the_vectors_change(name: str) -> None:
    vectors = [vector for vector in VECTORS if vector["scorer"] == name]
    digest = hashlib.sha256(json.dumps(vectors, sort_keys=True).encode()).hexdigest()
    assert (make(name).revision, digest[:16]) == REVISIONS[name]


@pytest.mark.parametrize("name, options", OPTIONS)
def test_a_scorer_goes_to_json_and_through_pickle_and_back(name: str, options: dict[str, Any]) -> None:
    scorer = make_builtin(name, options)
    assert isinstance(scorer, scorers.Scorer)
    assert pickle.loads(pickle.dumps(scorer)) == scorer
    assert hash(scorer) == hash(pickle.loads(pickle.dumps(scorer)))
    again = builtin_from_json(json.loads(json.dumps(scorer.to_json())))
    assert (again.to_json(), again.version) == (scorer.to_json(), scorer.version)


@pytest.mark.parametrize("name", BUILTINS)
def test_the_list_of_builtins_tells_what_the_functions_take(name: str) -> None:
    info, parameters = BUILTINS[name], inspect.signature(getattr(scorers, name)).parameters
    own = {key: item for key, item in parameters.items() if key not in ("name", "inputs", "function_options")}
    assert [option.name for option in info.options] == list(own)
    for option in info.options:
        assert option.is_required == (own[option.name].default is inspect.Parameter.empty)
        assert option.is_required or option.default == own[option.name].default
    assert parameters["inputs"].default == info.default_inputs
    assert parameters["name"].default in (info.default_name, None)


def test_a_version_follows_what_decides_the_result_and_nothing_else() -> None:
    plain = make("exact_match")
    assert plain.version == make("exact_match", name="other", num_cpus=2).version
    others = [make("exact_match", strip=False), make("exact_match", inputs=["a", "b"]), make("levenshtein")]
    assert len({plain.version, *(scorer.version for scorer in others)}) == 4


@pytest.mark.parametrize("name", BUILTINS)
def test_an_unknown_option_is_refused_with_the_nearest_name(name: str) -> None:
    with pytest.raises(TypeError, match=r"has no option 'num_cpu'; did you mean 'num_cpus' or 'num_gpus'\?"):
        make(name, num_cpu=1)
    with pytest.raises(TypeError, match="runtime_env"):
        make(name, image="x")


def test_own_options_are_among_the_nearest_names() -> None:
    with pytest.raises(TypeError, match="case_insensitive"):
        make("contains", case_insensitve=True)
    with pytest.raises(TypeError, match=r"no option 'ignore_case'; did you mean 'case_insensitive'\?"):
        make("contains", ignore_case=True)


def test_where_no_name_is_near_the_scorers_own_options_come_first() -> None:
    expected = r"no option 'xyz'; known: mode, case_insensitive, name, inputs; and the options of every function: "
    with pytest.raises(TypeError, match=expected):
        make("contains", xyz=1)


def test_function_options_are_carried_as_they_are() -> None:
    policy = object()
    assert make("json_valid", retries=policy, env={"A": "b"}).function_options == {"retries": policy, "env": {"A": "b"}}


@pytest.mark.parametrize("name", ["", " ", "---", "a\n", " a", "a\tb", "x" * 64, 5, None])
def test_a_name_that_could_label_no_column_is_refused(name: Any) -> None:
    with pytest.raises(ValueError, match="name"):
        make("exact_match", name=name)


@pytest.mark.parametrize("name", ["exact-match", "a_b", "My Exact", "日本", "x" * 63])
def test_other_names_are_kept(name: str) -> None:
    assert make("exact_match", name=name).name == name


@pytest.mark.parametrize(
    "inputs, error",
    [
        ("output", TypeError),
        (5, TypeError),
        ({"a", "b"}, TypeError),
        ([], ValueError),
        (["a"], ValueError),
        (["a", "a"], ValueError),
        (["a", ""], ValueError),
        (["a", None], ValueError),
        (["a", "__assay_row_id"], ValueError),
    ],
)
def test_inputs_that_are_no_two_columns_are_refused(inputs: Any, error: type[Exception]) -> None:
    with pytest.raises(error, match="input"):
        make("exact_match", inputs=inputs)


@pytest.mark.parametrize("first", ["a b", "ä", 'say "x"', "class", "None", "日本", "a.b", "x\ny", "'"])
def test_any_column_name_is_read(first: str) -> None:
    rows = pa.table({first: ["x"], "gold": ["x"]})
    assert make("exact_match", inputs=[first, "gold"]).score(rows).value.to_pylist() == [1.0]


@pytest.mark.parametrize(
    "name, options, error",
    [
        ("exact_match", {"strip": "no"}, TypeError),
        ("contains", {"mode": ["all"]}, ValueError),
        ("regex_match", {"pattern": "a", "flags": "i"}, TypeError),
        ("regex_match", {"pattern": "a", "flags": True}, TypeError),
        ("regex_match", {"pattern": "a", "flags": 128}, ValueError),
        ("regex_match", {"pattern": "a", "flags": 4}, ValueError),
        ("regex_match", {}, TypeError),
        ("string_similarity", {"method": "token-set"}, ValueError),
        ("string_similarity", {"method": "partial", "unit": "char"}, ValueError),
        ("json_match", {"paths": []}, ValueError),
        ("json_match", {"paths": {"a"}}, TypeError),
        ("numeric_close", {"tolerance": True}, TypeError),
        ("numeric_close", {"tolerance": float("nan")}, ValueError),
        ("numeric_close", {"tolerance": -1}, ValueError),
        ("numeric_close", {"tolerance": 10**400}, ValueError),
        ("no_such", {}, ValueError),
    ],
)
def test_options_out_of_their_type_or_set_are_refused(
    name: str, options: dict[str, Any], error: type[Exception]
) -> None:
    with pytest.raises(error):
        make_builtin(name, options)


def test_a_missing_column_is_told_with_the_nearest_one() -> None:
    with pytest.raises(TypeError, match="reads column 'expected', which is not there; did you mean 'expectd'"):
        make("exact_match").score(pa.table({"output": ["a"], "expectd": ["a"]}))


def test_importing_the_package_loads_no_library() -> None:
    code = "import sys, scorers; print([m for m in ('pyarrow', 'polars', 'duckdb', 'numpy') if m in sys.modules])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout.strip() == "[]"


def test_the_list_of_builtins_loads_no_library() -> None:
    code = "import sys, scorers; scorers.BUILTINS; print('polars' in sys.modules, 'pyarrow' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout.strip() == "False False"


def test_every_public_name_is_there() -> None:
    assert all(getattr(scorers, name) is not None for name in scorers.__all__)
    with pytest.raises(AttributeError, match="no attribute 'exact_matches'"):
        scorers.exact_matches  # noqa: B018  # the access is what is tested
