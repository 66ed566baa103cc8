"""Data in which what occurs more than once is written once."""

from __future__ import annotations

import json

import numpy as np
import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench.dashboard.report.shared_values import pack, unpack

SCALARS = st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.floats(allow_nan=False) | st.text()
VALUES = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text().filter(lambda name: name != "$"), inner, max_size=4)
    ),
    max_leaves=25,
)


@given(VALUES)
def test_what_is_unpacked_is_what_was_packed(value: object) -> None:
    many = [value, {"again": value}, [value, value]]
    sent = orjson.loads(orjson.dumps(pack(many)))
    assert unpack(sent) == json.loads(orjson.dumps(many))


def test_a_part_that_stands_at_several_places_is_written_once() -> None:
    axis = {"title": "prefix length", "range": [0.5, 8.25], "words": "as long as a template"}
    made = pack([{"x": axis, "y": [1, 2]}, {"x": axis, "y": [3, 4]}, dict(axis)])
    assert json.dumps(made).count("as long as a template") == 1
    assert made["root"][0]["x"] == made["root"][1]["x"] == made["root"][2] == {"$": 0}
    assert unpack(made)[2] == axis


def test_short_parts_stay_where_they_are() -> None:
    assert pack([[1, 2], [1, 2]]) == {"shared": [], "root": [[1, 2], [1, 2]]}


def test_arrays_are_lists_and_what_is_no_number_is_null() -> None:
    given = {"y": np.array([1.5, np.nan]), "n": np.int64(3), "z": [float("inf"), (1, 2)], "w": float("nan")}
    assert unpack(pack(given)) == {"y": [1.5, None], "n": 3, "z": [None, [1, 2]], "w": None}


def test_a_text_that_looks_like_a_number_of_a_part_stays_a_text() -> None:
    value = [
        "@0",
        "@0",
        {"$$": "@1"},
        "a text that is long enough to be shared",
        "a text that is long enough to be shared",
    ]
    assert unpack(pack(value)) == value


def test_data_that_look_like_a_reference_are_refused() -> None:
    with pytest.raises(ValueError, match="packed"):
        pack({"$": 1})
