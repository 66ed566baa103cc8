"""Every task with every position scheme: the whole product, for `make test-all`."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.short_road import TASKS, schemes, travel


@pytest.mark.parametrize(("name", "positions", "ids"), [(n, *s) for n, task in TASKS.items() for s in schemes(task)])
def test_the_product(tmp_path: Path, name: str, positions: str, ids: str) -> None:
    travel(tmp_path / "run", name, positions, ids)
