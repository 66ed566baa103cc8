"""What every journey in a browser needs: the browser, a page that must stay silent, and ways to wait."""

from __future__ import annotations

import multiprocessing
import operator
import re
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.support.places import GALLERY
from workbench.dashboard.screenshots import ARGUMENTS, find_browser, served
from workbench.dashboard.server import worker

TIMEOUT = 180_000
"""Milliseconds for which anything is waited: on a busy machine a worker that imports torch takes more than a minute."""
SIZE = {"width": 1440, "height": 900}

needs_browser = pytest.mark.skipif(
    find_browser() is None, reason="no Chromium found; name one in the variable CHROMIUM"
)


@pytest.fixture(scope="session")
def address(small_root: Path) -> Iterator[str]:
    """The dashboard over the small data root."""
    with served(small_root) as made:
        yield made


@pytest.fixture(scope="session")
def gallery() -> Iterator[str]:
    """The dashboard over the shipped runs, for what needs weights."""
    with served(GALLERY) as made:
        yield made


PRELOADED = ["torch", "workbench.theory.prediction.as_data", "workbench.dashboard.server.worker"]
"""What the worker of nearly every journey imports, in some seconds."""


@contextmanager
def dashboard(root: Path) -> Iterator[str]:
    """A dashboard whose worker is forked from a process that has imported what it needs.

    Those of the dashboards that all journeys share are started as users' are.
    """
    multiprocessing.set_forkserver_preload(PRELOADED)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(worker, "START", multiprocessing.get_context("forkserver"))
        with served(root) as made:
            yield made


@contextmanager
def visiting(page: Any, root: Path) -> Iterator[str]:
    """A dashboard of its own for one journey. The page leaves it before it stops: else what it polls would be refused."""
    with dashboard(root) as made:
        try:
            yield made
        finally:
            page.goto("about:blank")


@pytest.fixture(scope="session")
def playwright() -> Iterator[Any]:
    api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed: pip install playwright")
    with api.sync_playwright() as made:
        yield made


@pytest.fixture(scope="session")
def browser(playwright: Any) -> Iterator[Any]:
    """A Chromium for journeys with a window of their own."""
    made = playwright.chromium.launch(executable_path=find_browser(), args=ARGUMENTS)
    yield made
    made.close()


@pytest.fixture(scope="session")
def profile(playwright: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """A Chromium that keeps what it has fetched and compiled: four megabytes of scripts take half of a page's time."""
    made = playwright.chromium.launch_persistent_context(
        tmp_path_factory.mktemp("profile"),
        executable_path=find_browser(),
        args=ARGUMENTS,
        viewport=SIZE,
        color_scheme="light",
        reduced_motion="reduce",  # what moves by itself is drawn anew sixty times a second
        permissions=["clipboard-read", "clipboard-write"],
        accept_downloads=True,
    )
    yield made
    made.close()


@pytest.fixture
def page(profile: Any) -> Iterator[Any]:
    """A page that knows nothing; after the test its console must be empty and every request must have stayed here."""
    made = profile.new_page()
    made.set_default_timeout(TIMEOUT)
    said = console(made)
    local = re.compile(r"^(http://127\.0\.0\.1[:/]|data:|blob:)")
    asked: list[str] = []
    made.on("request", lambda request: asked.append(request.url))
    yield made
    for server in {match[0] for url in asked if (match := re.match(r"http://[^/]*", url))}:
        kept = {"origin": server, "storageTypes": "cookies,local_storage,indexeddb"}
        profile.new_cdp_session(made).send("Storage.clearDataForOrigin", kept)
    made.close()
    assert not said, said
    foreign = [url for url in asked if not local.match(url)]
    assert not foreign, foreign


def console(page: Any) -> list[str]:
    """All that a page will say in its console, of what its policy keeps it from too."""
    said: list[str] = []
    page.on("console", lambda message: said.append(f"{message.type}: {message.text}"))
    page.on("pageerror", lambda error: said.append(str(error)))
    return said


def drawn(page: Any, panels: int = 10) -> None:
    """Wait until so many panels show their data."""
    settled(page, lambda: page.locator(".matrix .body.ready").count() >= panels)


QUIET = """() => ["requested", "prioritized", "blocked", "executing", "watched", "executed", "stored"].every(
  (state) => !dash_stores[0].getState().callbacks[state].length)"""


def rested(page: Any) -> None:
    """Wait until no callback waits or runs, at three looks in a row. Dash writes into the console when one of a page's
    callbacks begins just as the page is left."""
    looks: list[bool] = []

    def quiet() -> bool:
        looks.append(page.evaluate(QUIET))
        return looks[-3:] == [True] * 3

    settled(page, quiet)


def settled(page: Any, condition: Callable[[], object]) -> None:
    """Wait until something is so."""
    end = time.monotonic() + TIMEOUT / 1000
    while not condition():
        assert time.monotonic() < end, "it did not happen"
        page.wait_for_timeout(50)


def says(page: Any, selector: str, text: str) -> None:
    """Wait until a part of the page says exactly this."""
    reads(page, selector, text, operator.eq)


def mentions(page: Any, selector: str, text: str) -> None:
    """Wait until a part of the page says this among other things."""
    reads(page, selector, text, operator.contains)


def reads(page: Any, selector: str, text: str, so: Callable[[str, str], bool]) -> None:
    """Wait until what a part of the page says is so, against a text."""
    said: list[str] = []

    def now() -> bool:
        said.append(page.inner_text(selector))
        return so(said[-1], text)

    try:
        settled(page, now)
    except AssertionError:
        raise AssertionError(f"{selector} says {said[-1]!r}; expected: {text!r}") from None


def counts(page: Any, selector: str, number: int) -> None:
    """Wait until the page has exactly so many of these."""
    settled(page, lambda: page.locator(selector).count() == number)


def has(page: Any, selector: str, name: str, value: str) -> None:
    """Wait until an attribute has exactly this value."""
    settled(page, lambda: page.get_attribute(selector, name) == value)


LINES = """(id) => {
  const graph = document.getElementById(id + "-graph"), plot = graph && graph.querySelector(".main-svg");
  if (!plot || Math.abs(plot.getBoundingClientRect().width - graph.getBoundingClientRect().width) > 2) return null;
  const lines = [...graph.querySelectorAll("path.js-line")].map((line) => line.getAttribute("d"));
  return lines.length ? JSON.stringify(lines) : null;
}"""
"""The lines of a plot that fills its place; null until it does. A panel is ready before Plotly has drawn it."""


def points(page: Any, panel: str) -> str:
    """The numbers that a panel's plot shows, as text, once they are drawn and stay."""
    return str(resting(page, LINES, panel))


def resting(page: Any, script: str, given: Any = None) -> Any:
    """What a script gives once it is something, and the same at two looks in a row."""
    reads: list[Any] = [None]

    def stays() -> bool:
        reads.append(page.evaluate(script, given))
        return reads[-1] is not None and reads[-1] == reads[-2]

    settled(page, stays)
    return reads[-1]
