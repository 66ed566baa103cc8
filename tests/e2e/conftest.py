"""In which order these tests begin."""

from __future__ import annotations

import pytest

LONGEST = ("test_campaign", "test_every_task", "test_tutorials", "test_road", "test_gallery")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """What takes longest begins first: begun last, it would run alone while the other workers have nothing to do."""
    items.sort(key=lambda item: LONGEST.index(item.path.stem) if item.path.stem in LONGEST else len(LONGEST))
