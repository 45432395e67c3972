"""EvaluationScorerResult beyond the vectors."""

from __future__ import annotations

import dataclasses
import pickle
from typing import Any

import numpy as np
import pytest

from scorers import EvaluationScorerResult


def test_a_result_is_frozen_picklable_and_keeps_a_copy_of_its_metadata() -> None:
    given = {"a": [1]}
    result = EvaluationScorerResult(0.5, given)
    given["b"] = [2]
    assert result.metadata == {"a": [1]}
    assert pickle.loads(pickle.dumps(result)) == result
    assert isinstance(hash(result), int)
    with pytest.raises(dataclasses.FrozenInstanceError):
        result.score = 1.0  # type: ignore[misc]  # that it is refused is what is tested


@pytest.mark.parametrize("score", [np.float32(0.5), np.float64(0.5), np.float16(0.5)])
def test_numpy_scalars_are_numbers(score: Any) -> None:
    result = EvaluationScorerResult(score)
    assert (result.score, type(result.score)) == (0.5, float)


@pytest.mark.parametrize("score", [np.bool_(True), np.array([0.5]), np.array(0.5), "1", b"1", object(), 1j, [1]])
def test_what_is_no_number_is_a_type_error(score: Any) -> None:
    with pytest.raises(TypeError, match="must be a number"):
        EvaluationScorerResult(score)


def test_an_integer_too_big_for_a_float_is_a_value_error() -> None:
    with pytest.raises(ValueError, match="too big"):
        EvaluationScorerResult(10**400)


def test_nested_keys_become_text_in_the_stored_metadata() -> None:
    assert EvaluationScorerResult(1, {"a": {1: "x"}}).metadata_json == '{"a":{"1":"x"}}'
