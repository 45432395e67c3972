"""`assay scorers`: what there is, and what each takes."""

from __future__ import annotations

import json
import re

import pytest

from scorers import BUILTINS


def test_every_built_in_is_listed(assay) -> None:
    said = assay("scorers")
    assert [line.split()[0] for line in said.out.splitlines()[1 : 1 + len(BUILTINS)]] == list(BUILTINS)


@pytest.mark.parametrize("name", list(BUILTINS))
def test_one_is_shown_with_options_and_an_example_that_parses(assay, name: str) -> None:
    said = assay("scorers", name)
    assert said.code == 0
    for option in BUILTINS[name].options:
        assert re.search(rf"^{option.name} ", said.out, re.MULTILINE)
    example = re.search(r"-s '?([a-z_]+):?(\{.*\})?'?$", said.out, re.MULTILINE)
    assert example is not None
    assert example[1] == name
    assert isinstance(json.loads(example[2] or "{}"), dict)


def test_json_has_defaults_and_metadata(assay) -> None:
    (found,) = assay("scorers", "exact_match", "--json").json
    assert found["inputs"] == ["output", "expected"]
    assert {"name": "strip", "required": False, "doc": found["options"][1]["doc"], "default": True} in found["options"]
    assert found["metadata"] == ["matched"]


def test_an_unknown_one_is_exit_1_with_the_nearest(assay) -> None:
    said = assay("scorers", "exact-match")
    assert (said.code, said.out) == (1, "")
    assert "did you mean 'exact_match'" in said.err
