"""Rows that were stored are found again: no name, version, setting or shard key changes by itself."""

from __future__ import annotations

import json

import pytest

from tests.support.measure import freeze_specs

HELD = {(one["name"], one["settings"]): one for one in json.loads(freeze_specs.FILE.read_text())}
NOW = {(one["name"], one["settings"]): one for one in freeze_specs.table()}


def test_every_measurement_is_frozen_in_its_order_with_the_same_settings() -> None:
    assert list(NOW) == list(HELD)


@pytest.mark.parametrize("key", HELD, ids=lambda key: " ".join(key)[:60])
def test_nothing_that_stored_rows_hang_on_has_changed(key: tuple[str, str]) -> None:
    assert NOW[key] == HELD[key]
    assert list(NOW[key]["quantities"]) == list(HELD[key]["quantities"])
