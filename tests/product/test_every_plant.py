"""Blind repairs on the planted models that tests/science leaves out."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.diagnosis.planted import KEYS, POSITION, assert_keys, assert_position, ids


@pytest.mark.parametrize(("numbers", "length"), POSITION[1:-1], ids=ids)
def test_ids_inside_training_restore_what_positions_broke(numbers: dict[str, Any], length: int) -> None:
    assert_position(numbers, length)


@pytest.mark.parametrize(("numbers", "length", "family"), [KEYS[0], KEYS[2], *KEYS[4:]], ids=ids)
def test_what_holds_the_weight_of_keys_restores_what_their_number_broke(
    numbers: dict[str, Any], length: int, family: str
) -> None:
    assert_keys(numbers, length, family)
