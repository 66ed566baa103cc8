"""Run folders for the tests of the table."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.support.table.making import CONFIG, RunMaker


@pytest.fixture
def make_run(tmp_path: Path) -> Callable[..., RunMaker]:
    """Makes run folders below ``tmp_path / "data"``."""

    def make(name: str = "one", **config: Any) -> RunMaker:
        return RunMaker(tmp_path / "data" / name, {**CONFIG, **config})

    return make
