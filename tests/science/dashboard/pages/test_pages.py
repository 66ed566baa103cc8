"""Compare, Sweep, Theory and Glossary without a browser: what a link means, what a panel exports, what snippets draw."""

from __future__ import annotations

import json
import threading
import time
from typing import Any

import pytest

from tests.support.dashboard.answers import LIGHT
from tests.support.dashboard.pages import (
    OWN,
    at,  # noqa: F401 - fixtures
)
from workbench.dashboard.panels.panel_spec import Panel, PanelCursor
from workbench.dashboard.panels.prefetch import Prefetch
from workbench.dashboard.panels.render import READY, render_panel
from workbench.dashboard.panels.run_panels import PANELS
from workbench.dashboard.server.context import Context


@pytest.mark.parametrize("panel", OWN, ids=lambda p: p.id)
def test_every_panel_draws_and_its_snippet_draws_the_same(answers: Context, at: PanelCursor, panel: Panel) -> None:
    made = render_panel(panel, at, LIGHT, "figure")
    assert made[-1] == READY
    scope: dict[str, Any] = {}
    *lines, last = panel.snippet(at).strip().splitlines()
    exec("\n".join([*lines, f"made = {last}"]), scope)
    drawn = panel.draw(at, "light", 11, line=True)
    assert json.loads(scope["made"].to_json())["data"] == json.loads(drawn.to_json())["data"]


def test_nothing_is_drawn_ahead_while_somebody_asks(
    answers: Context, at: PanelCursor, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = [100.0]
    monkeypatch.setattr("workbench.dashboard.panels.prefetch.time.monotonic", lambda: now[0])
    drawn: list[str] = []
    ahead = Prefetch(lambda panel, place, look: drawn.append(panel.id))
    ahead.disturb()
    ahead.ask(at, PANELS, LIGHT)
    threading.Event().wait(0.2)
    assert not drawn
    now[0] += 1
    end = time.time() + 20
    while not drawn and time.time() < end:
        threading.Event().wait(0.02)
    ahead.close()
    assert drawn
