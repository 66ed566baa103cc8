"""A slow or broken connection: what a first page sends, what it says while it loads, and what it tries again."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.dashboard.browsing import SIZE, TIMEOUT, console, needs_browser
from workbench.dashboard.screenshots import wait_until

pytestmark = needs_browser
RUN = "/run?run=flip_flop_rotary_s0"
PAGE_BYTES = 1_600_000
PLOTS = "document.querySelectorAll('.js-plotly-plot .main-svg').length > 8"
ROWS = "document.querySelectorAll('.ag-row').length > 3"
NOTE = "document.getElementById('library-note')"
CHARTS = "**/plotly-cartesian-*.js"


@pytest.fixture
def fresh(browser: Any) -> Any:
    """A page of a browser that has nothing in its cache."""
    context = browser.new_context(viewport=SIZE)
    page = context.new_page()
    page.set_default_timeout(TIMEOUT)
    yield page
    context.close()


@pytest.mark.parametrize(("path", "complete"), [("/", ROWS), (RUN, PLOTS)])
def test_a_first_page_sends_at_most_its_bytes(fresh: Any, gallery: str, path: str, complete: str) -> None:
    errors = console(fresh)
    wire = fresh.context.new_cdp_session(fresh)
    wire.send("Network.enable")
    sent: list[int] = []
    wire.on("Network.loadingFinished", lambda event: sent.append(event["encodedDataLength"]))
    fresh.goto(gallery + path)
    wait_until(fresh, complete)
    assert 500_000 < sum(sent) <= PAGE_BYTES
    assert not errors


def test_while_scripts_load_the_page_says_so(fresh: Any, gallery: str) -> None:
    waiting: list[Any] = []
    fresh.route("**/dash_mantine_components*", lambda route: waiting.append(route))
    fresh.goto(gallery, wait_until="commit")
    wait_until(fresh, "(document.querySelector('.first-load') || {}).innerText")
    assert "loading about 1 MB of scripts" in fresh.inner_text(".first-load:not(.failed)")
    assert not fresh.is_visible(".first-load.failed")
    waiting[0].continue_()
    wait_until(fresh, ROWS)
    assert not fresh.is_visible(".first-load")


def test_the_chart_library_is_waited_for_and_tried_again(fresh: Any, gallery: str) -> None:
    requests: list[str] = []

    def answer(route: Any) -> None:
        requests.append(route.request.url)
        route.abort() if len(requests) <= 2 else route.continue_()

    fresh.route(CHARTS, answer)
    fresh.goto(gallery + RUN)
    wait_until(fresh, f"{NOTE} && !{NOTE}.hidden")
    assert "Loading the chart library" in fresh.inner_text("#library-note")
    wait_until(fresh, PLOTS)
    wait_until(fresh, f"{NOTE}.hidden")
    assert len(requests) == 3


def test_a_chart_library_that_never_comes_is_named_with_the_way_out(fresh: Any, gallery: str) -> None:
    fresh.route(CHARTS, lambda route: route.abort())
    fresh.goto(gallery + RUN)
    wait_until(fresh, f"{NOTE} && {NOTE}.innerText.includes('could not be loaded')")
    assert fresh.is_visible("#library-note .button")


def test_a_script_that_never_comes_is_asked_for_again_and_then_named(fresh: Any, gallery: str) -> None:
    requests: list[str] = []
    fresh.route("**/dash_core_components.*", lambda route: (requests.append(route.request.url), route.abort()))
    fresh.goto(gallery, wait_until="commit")
    fresh.wait_for_selector("html[data-load=failed]", state="attached")  # also while the page is left for itself
    assert "reload the page" in fresh.inner_text(".first-load.failed")
    assert not fresh.is_visible(".first-load:not(.failed)")
    assert len(requests) == 4
