"""The circuit graph in a real browser: it follows the length, and a click on an edge shows that edge over length."""

from __future__ import annotations

from typing import Any

from tests.support.dashboard.browsing import drawn, has, mentions, needs_browser, says, settled

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
    mentions(page, "#circuit-graph-graph", "11 of 15 at N")
    mentions(page, "#circuit-graph-graph", "N: length 31 · accuracy 1.00")
    mentions(page, "#circuit-graph-graph", "4 N: length 125 · accuracy 1.00")
    says(page, "#rail-circuit", "15 connections, each cut separately, at length 31, 63, 125.")
    mentions(page, "#connection-length-slice", "embedding → L0.0")

    page.locator("#circuit-effect").get_by_text("Loss").click()
    settled(page, lambda: "effect=loss" in page.url)
    mentions(page, "#circuit-graph-slice", "rise of the loss in nats")
    page.locator("#circuit-effect").get_by_text("Accuracy").click()
    settled(page, lambda: "effect=" not in page.url)
    mentions(page, "#circuit-graph-slice", "accuracy drop")

    page.mouse.click(*page.evaluate(EDGE, "MLP 0 -> MLP 1"))
    mentions(page, "#connection-length-slice", "MLP 0 → MLP 1")
    settled(page, lambda: "connection=MLP" in page.url)
    settled(page, lambda: page.input_value("#connection-select") == "MLP 0 → MLP 1")

    page.evaluate("() => dash_clientside.set_props('circuit-pin', {data: {node: 'L0.0', at: 1}})")
    settled(page, lambda: "pins=L0.0" in page.url)
    mentions(page, "#circuit-pins", "L0.0")

    page.reload()
    drawn(page)
    page.locator("#circuit-graph-panel").scroll_into_view_if_needed()
    mentions(page, "#connection-length-slice", "MLP 0 → MLP 1")
    mentions(page, "#circuit-pins", "L0.0")
    page.click("#circuit-pins [data-pin='L0.0']")
    settled(page, lambda: "pins=" not in page.url)

    page.goto(f"{gallery}/run?run=flip_flop_rotary_s0&step=291&connection=L9.0")
    drawn(page)
    mentions(page, "#banner", "names the connection L9.0, which flip_flop_rotary_s0 does not have")
    mentions(page, "#rail-circuit", "Not measured at step 291, only at 1,200.")
    settled(page, lambda: not page.is_visible("#circuit-graph-panel"))
    settled(page, lambda: not page.is_visible("#connection-select"))
    has(page, "#rail-circuit [data-measure]", "data-measure-step", "291")
