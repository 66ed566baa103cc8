"""No number that stored rows and drawn strings hang on changes by itself: constants, defaults and bounds of fields."""

from __future__ import annotations

import json

import pytest

from tests.support import freeze_constants

HELD = json.loads(freeze_constants.FILE.read_text())
NOW = freeze_constants.table()


def test_every_module_with_constants_is_frozen() -> None:
    assert sorted(NOW) == sorted(HELD)
    assert sum(map(len, NOW.values())) > 600


@pytest.mark.parametrize("module", HELD)
def test_no_constant_has_changed(module: str) -> None:
    """If one was meant to: does the measurement have a new version, or the law another name? Then write them anew."""
    assert NOW[module] == HELD[module]
