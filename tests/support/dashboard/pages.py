"""What tests of several tiers share. Compare, Sweep, Theory and Glossary without a browser: what a link means, what a panel exports, what snippets draw."""

from __future__ import annotations

import pytest

from workbench.dashboard.pages import compare, compare_many
from workbench.dashboard.pages.run import MORE
from workbench.dashboard.panels.panel_spec import Panel, PanelCursor
from workbench.dashboard.server.context import Context
from workbench.dashboard.state.cursor import Cursor

A, B = "majority-nope-s0", "flip_flop-rotary-s0"


@pytest.fixture(scope="module")
def at(answers: Context) -> PanelCursor:
    run = answers.store.run(A)
    assert run is not None
    return PanelCursor.from_link(
        answers.store,
        run,
        Cursor(A, 1000, 100, 0, 1),
        {"run2": B, "configs": B, "quantity": "circuits.hardmax|margin"},
    )


OWN: list[Panel] = [*compare.PANELS, *compare.SEED_PANELS, *compare_many.PANELS, *MORE]
