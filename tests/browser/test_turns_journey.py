"""Dash's turns over the page: one for what happens at once, none for nothing, and at once for what is typed."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.dashboard.browsing import needs_browser, settled
from workbench.dashboard.components.theme import ASSETS

pytestmark = needs_browser
RUN = "majority_nope_s0"
TURNS = ASSETS / "js" / "turns.js"
STORE = """() => {
  let state = 0;
  const listeners = [];
  window.heard = [];
  const store = {
    getState: () => state,
    subscribe: (listener) => { listeners.push(listener); return () => listeners.splice(listeners.indexOf(listener), 1); },
    go: (next) => { state = next; listeners.forEach((listener) => listener()); },
  };
  store.subscribe(() => window.heard.push("before " + state));
  window.dash_stores.push(store);
  window.leave = store.subscribe(() => window.heard.push(state));
  window.go = store.go;
}"""
FIELDS = {
    "/": ["#filter", "#where"],
    f"/run?run={RUN}": ["#more-quantity"],
    f"/try?run={RUN}": ["#try-text"],
    "/sweep": ["#sweep-fix"],
}


def test_what_happens_at_once_is_told_once_and_nothing_is_not_told(page: Any) -> None:
    page.goto("about:blank")
    page.add_script_tag(path=str(TURNS))
    page.evaluate(STORE)
    page.evaluate("() => { go(1); go(2); go(2); heard.push('end of the turn'); }")
    before = ["before 1", "before 2", "before 2", "end of the turn"]
    assert page.evaluate("heard") == [*before, 2]
    page.evaluate("() => { heard.length = 0; go(2); }")
    assert page.evaluate("heard") == ["before 2"], "the same state is no news"
    page.evaluate("() => { heard.length = 0; go(3); go(2); }")
    assert page.evaluate("heard") == ["before 3", "before 2"], "nor is one that has come back"
    page.evaluate("() => { heard.length = 0; leave(); go(4); }")
    assert page.evaluate("heard") == ["before 4"]
    assert page.evaluate("dash_stores.length") == 1


def test_while_somebody_types_it_is_told_at_once(page: Any) -> None:
    page.goto("about:blank")
    page.add_script_tag(path=str(TURNS))
    page.evaluate(STORE)
    page.evaluate("() => { document.body.innerHTML = '<input oninput=\"go(this.value); heard.push(\\'end\\')\">'; }")
    page.click("input")
    page.keyboard.press("x")
    assert page.evaluate("heard") == ["before x", "x", "end"]
    page.wait_for_timeout(50)
    page.evaluate("() => { heard.length = 0; go(5); heard.push('end'); }")
    assert page.evaluate("heard") == ["before 5", "end", 5]


@pytest.mark.parametrize("path", FIELDS)
def test_what_is_typed_stands_where_it_was_typed(page: Any, gallery: str, path: str) -> None:
    page.goto(gallery + path)
    settled(page, lambda: page.evaluate("window.dash_stores.length > 0 && !document.title.startsWith('Updating')"))
    for field in FIELDS[path]:
        page.wait_for_selector(field)
        page.click(field)
        page.keyboard.press("Control+a")
        page.keyboard.type("abef")
        page.keyboard.press("ArrowLeft")
        page.keyboard.press("ArrowLeft")
        page.keyboard.type("cd")
        assert page.input_value(field) == "abcdef", field
        page.keyboard.press("Escape")
