"""The grid of heads at any size: every head is a button with its words; numbers and curves only where they have room."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.support.dashboard import fakes
from workbench.dashboard.panels import head_grid
from workbench.dashboard.panels.panel_spec import PanelCursor
from workbench.dashboard.panels.run_panels import BY_ID
from workbench.dashboard.state.cursor import Cursor
from workbench.dashboard.state.store import Store

FAKE, STEP = fakes.FAKES[0], 3000


@pytest.fixture
def grid(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Any]:
    """Makes the grid of a run of so many layers and heads."""

    def make(layers: int, heads: int) -> tuple[list[Any], dict[str, str]]:
        monkeypatch.setattr(fakes, "LAYERS", layers)
        monkeypatch.setattr(fakes, "HEADS", heads)
        root = tmp_path / f"{layers}-{heads}"
        path = fakes.write_run(root, FAKE, (STEP,))
        rng = np.random.default_rng(0)
        fakes.write_rows(path, [*fakes.behaviour(FAKE, STEP, rng), *fakes.hardmax(FAKE, STEP, rng)])
        store = Store([root])
        run = store.runs()[FAKE.name]
        at = PanelCursor.from_link(store, run, Cursor(run.name, STEP, 200, layers - 1, heads - 1), {})
        children, style, _ = head_grid.cells(BY_ID["head-grid"], at, "light")
        return children, style

    return make


@pytest.mark.parametrize(
    ("layers", "heads", "numbers", "curves"),
    [(2, 4, True, True), (4, 6, True, True), (6, 8, True, False), (7, 8, True, False), (30, 16, False, False)],
)
def test_every_head_is_there_at_any_size(grid: Any, layers: int, heads: int, numbers: bool, curves: bool) -> None:
    children, style = grid(layers, heads)
    buttons = [one for one in children if getattr(one, "type", "") == "button"]
    assert [getattr(one, "data-pick-head") for one in buttons] == [
        f"{layer}.{head}" for layer in range(layers) for head in range(heads)
    ]
    assert all("hardmax distance 0." in getattr(one, "aria-label") for one in buttons)
    shown = [{child.className for child in one.children} for one in buttons]
    assert shown == [_parts(numbers, curves)] * len(buttons)
    assert [one for one in buttons if "on" in one.className.split()] == [buttons[-1]]
    # no row has a least height: the last ones would leave the panel
    assert style["gridTemplateRows"] == f"max-content repeat({layers}, minmax(0, 1fr))"
    assert style["gridTemplateColumns"] == f"max-content repeat({heads}, minmax(0, 1fr))"


def _parts(numbers: bool, curves: bool) -> set[str]:
    return {name for name, shown in (("num", numbers), ("curve", curves)) if shown}


def test_names_of_a_large_grid_are_numbers_that_have_room(grid: Any) -> None:
    children, _ = grid(30, 16)
    spans = [one for one in children if getattr(one, "className", "") and one.className.endswith("-name num")]
    layers = [one.children for one in spans if one.className.startswith("layer")]
    heads = [one.children for one in spans if one.className.startswith("head")]
    assert [text for text in layers if text] == ["0", "4", "8", "12", "16", "20", "24", "28"]
    assert [text for text in heads if text] == ["0", "2", "4", "6", "8", "10", "12", "14"]
    small, _ = grid(2, 4)
    assert [one.children for one in small if getattr(one, "className", "") == "layer-name num"] == [
        "layer 0",
        "layer 1",
    ]
