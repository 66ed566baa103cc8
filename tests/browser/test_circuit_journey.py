"""The circuit graph in a real browser: it follows the length, and a click on an edge shows that edge over length."""

from __future__ import annotations

from typing import Any

from tests.support.dashboard.browsing import drawn, needs_browser, settled

pytestmark = needs_browser

EDGE = """name => {
  const plot = document.querySelector('#circuit-graph-graph .js-plotly-plot'), full = plot._fullLayout;
  const trace = plot.data.find(one => one.name === name), box = plot.getBoundingClientRect();
  const at = (a, i) => (ArrayBuffer.isView(a) || Array.isArray(a) ? a : plot._fullData.find(one => one.name === name)[i])[12];
  return trace && [box.left + full._size.l + full.xaxis.d2p(at(trace.x, 'x')), box.top + full._size.t + full.yaxis.d2p(at(trace.y, 'y'))];
}"""


def test_edges_follow_the_length_and_open_over_it(page: Any, gallery: str) -> None:
    page.goto(f"{gallery}/run?run=compiled/majority&len=31")
    drawn(page)
    page.locator("#circuit-graph-panel").scroll_into_view_if_needed()
    page.wait_for_selector("#circuit-graph-body.ready")
    settled(page, lambda: "4 of 15 connections shown" in page.inner_text("#circuit-graph-slice"))
    assert "length 31 (1 × N)" in page.inner_text("#circuit-graph-slice")
    assert page.inner_text("#rail-circuit") == "15 connections, each cut alone, at length 31, 63, 125."
    settled(page, lambda: "embedding → L0.0" in page.inner_text("#connection-length-slice"))

    page.focus("#length-slider [role=slider]")
    page.keyboard.press("End")
    settled(page, lambda: "length 125 (4 × N)" in page.inner_text("#circuit-graph-slice"))

    page.mouse.click(*page.evaluate(EDGE, "MLP 0 -> MLP 1"))
    settled(page, lambda: "MLP 0 → MLP 1" in page.inner_text("#connection-length-slice"))
    settled(page, lambda: "connection=MLP" in page.url)
    assert page.input_value("#connection-select") == "MLP 0 → MLP 1"

    page.reload()
    drawn(page)
    page.locator("#circuit-graph-panel").scroll_into_view_if_needed()
    settled(page, lambda: "MLP 0 → MLP 1" in page.inner_text("#connection-length-slice"))

    page.goto(f"{gallery}/run?run=flip_flop_rotary_s0&step=291&connection=L9.0")
    drawn(page)
    assert "names the connection L9.0, which flip_flop_rotary_s0 does not have" in page.inner_text("#banner")
    settled(page, lambda: "Not measured at step 291, only at 1,200." in page.inner_text("#rail-circuit"))
    assert not page.is_visible("#circuit-graph-panel")
    assert not page.is_visible("#connection-select")
    assert page.get_attribute("#rail-circuit [data-measure]", "data-measure-step") == "291"
