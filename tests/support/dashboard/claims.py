"""What tests of several tiers share. Every number that the pages of the gallery name stands in the row that it claims to come from.

The table is read here with :class:`workbench.table.Table`, the pages read it through the dashboard's store: two ways
to the same rows.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pandas as pd
import pytest

from tests.support.cited import Rows
from tests.support.dashboard.answers import LIGHT
from tests.support.hovers import texts_of
from tests.support.places import GALLERY
from workbench.dashboard.panels.panel_spec import Panel, PanelCursor
from workbench.dashboard.panels.render import READY, plot
from workbench.dashboard.server.context import Context
from workbench.dashboard.server.worker import Worker
from workbench.dashboard.state.cursor import default_cursor
from workbench.dashboard.state.run_view import RunView
from workbench.dashboard.state.store import Store
from workbench.table import Table

ALL = sorted(file.parent.relative_to(GALLERY).as_posix() for file in GALLERY.rglob("run.json"))
NAMES = [name for name in ALL if not name.startswith("pretrained/")]
"""Runs of models that were trained on their task."""
IN_PART = {"small_model"}
"""Those of which a few measurements were asked, by name: no probe, no bound."""
IN_CONTEXT_NAMES = [name for name in ALL if name not in NAMES]
"""Runs of models that were given their task in their prompt: pages of their own, over items."""


@pytest.fixture(scope="module")
def gallery() -> Iterator[Context]:
    made = Context(Store([GALLERY]), Worker())
    made.store.refresh(force=True)  # all runs, however busy the machine
    yield made
    made.close()


@pytest.fixture(scope="module")
def rows() -> pd.DataFrame:
    """All rows of the gallery."""
    return Table.load(GALLERY).frame()


def view_of(gallery: Context, name: str) -> RunView:
    run = gallery.store.run(name)
    assert run is not None
    return run


@pytest.fixture(scope="module")
def of_run(rows: pd.DataFrame) -> dict[str, Rows]:
    """Rows by run."""
    return {str(name): Rows(part) for name, part in rows.groupby("run", observed=True)}


# ---- hovers ---------------------------------------------------------------------------------------------
BESIDE = {"flip_flop_rotary_s0": "majority_nope_s0"}


def place_of(gallery: Context, name: str, **moved: Any) -> PanelCursor:
    run = view_of(gallery, name)
    cursor = default_cursor(run)
    other = BESIDE.get(name, "flip_flop_rotary_s0")
    return PanelCursor.from_link(gallery.store, run, replace(cursor, **moved), {"run2": other})


def drawn(gallery: Context, panel: Panel, at: PanelCursor) -> list[str]:
    """The hover texts of a panel; none where it says why it is empty."""
    figure, *_, state = plot(panel, at, LIGHT, "figure")
    return list(texts_of(figure)) if state == READY else []
