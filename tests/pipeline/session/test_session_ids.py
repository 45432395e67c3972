"""Ids of sessions."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.session.session_ids import is_session_id, new_session_id

TIMES = st.integers(0, 2**48 - 1)
RANDOM = st.binary(min_size=10, max_size=10)


def test_the_time_is_the_prefix() -> None:
    assert new_session_id(1_760_000_000_000, b"\0" * 10) == "01K742SG00" + "0" * 16
    assert new_session_id(1_760_000_000_000, b"\xff" * 10) == "01K742SG00" + "Z" * 16


@given(TIMES, TIMES, RANDOM, RANDOM)
def test_ids_sort_by_time(one: int, other: int, random: bytes, more: bytes) -> None:
    ids = new_session_id(one, random), new_session_id(other, more)
    assert all(is_session_id(each) for each in ids)
    if one != other:
        assert (ids[0] < ids[1]) == (one < other)


def test_too_little_chance_is_refused() -> None:
    with pytest.raises(ValueError, match="got 9 random bytes, expected 10"):
        new_session_id(1, b"123456789")


@pytest.mark.parametrize(
    "text",
    ["", "01K742SG00", "01K742SG00" + "U" * 16, "01k742sg00" + "0" * 16, "../../../../../../etc/pass", "8" * 26,
     "01K742SG00" + "0" * 16 + "\n"],
)  # fmt: skip
def test_what_is_no_id_is_known(text: str) -> None:
    assert not is_session_id(text)
