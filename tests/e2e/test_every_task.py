"""Every task with one scheme, and every scheme with one task of each family: trained, saved, loaded, measured."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.short_road import FAMILIES, TASKS, few, travel

SCHEMES = [(name, *scheme) for name in FAMILIES.values() for scheme in few(TASKS[name]) if scheme != ("none", "arange")]


# Two classes: tests of one class stay on one worker, so that both have something to do.
class TestTasks:
    @pytest.mark.parametrize("name", TASKS)
    def test_every_task_without_positions(self, tmp_path: Path, name: str) -> None:
        travel(tmp_path / "run", name, "none", "arange")


class TestSchemes:
    @pytest.mark.parametrize(("name", "positions", "ids"), SCHEMES)
    def test_every_scheme_with_a_task_of_each_family(self, tmp_path: Path, name: str, positions: str, ids: str) -> None:
        travel(tmp_path / "run", name, positions, ids)
