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
from workbench.dashboard.screenshots import ARGUMENTS, find_browser, serve_dashboard
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
    with serve_dashboard(small_root) as made:
        yield made


@pytest.fixture(scope="session")
def gallery() -> Iterator[str]:
    """The dashboard over the shipped runs, for what needs weights."""
    with serve_dashboard(GALLERY) as made:
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
        with serve_dashboard(root) as made:
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
    made = Watched(profile)
    yield made.page
    made.forget()
    made.page.close()
    made.was_silent()


LOCAL = re.compile(r"^(http://127\.0\.0\.1[:/]|data:|blob:)")


class Watched:
    """A new page, all that it says in its console and all that it asks for."""

    def __init__(self, profile: Any) -> None:
        self.page = profile.new_page()
        self.page.set_default_timeout(TIMEOUT)
        self.said = console(self.page)
        self.asked: list[str] = []
        self.page.on("request", lambda request: self.asked.append(request.url))

    def forget(self) -> None:
        """Have the browser forget what was kept in it for the servers that were asked."""
        for server in {match[0] for url in self.asked if (match := re.match(r"http://[^/]*", url))}:
            kept = {"origin": server, "storageTypes": "cookies,local_storage,indexeddb"}
            self.page.context.new_cdp_session(self.page).send("Storage.clearDataForOrigin", kept)

    def was_silent(self) -> None:
        """Assert that the console is empty and that every request stayed here."""
        assert not self.said, self.said
        foreign = [url for url in self.asked if not LOCAL.match(url)]
        assert not foreign, foreign


AS_IT_IS = """() => {
  const all = (selector, what) => [...document.querySelectorAll(selector)].map(what);
  return {
    address: location.href, title: document.title, scrolled: scrollY,
    theme: document.documentElement.dataset.mantineColorScheme,
    focused: document.activeElement.id || document.activeElement.tagName,
    open: all("dialog, [role=dialog], [role=menu], [role=tooltip], [role=listbox], [aria-expanded=true]",
      (one) => one.getClientRects().length && one.checkVisibility() ? one.innerText : "").filter((one) => one),
    marked: all(".pan.max, .pan.marked, .tabled, .playing, .toured, .heads .on, .maximised, .banner", (one) => one.id + " " + one.className),
    sliders: all("[role=slider]", (one) => one.getAttribute("aria-valuetext")),
    chosen: all("input, textarea, select", (one) => one.type === "checkbox" || one.type === "radio" ? one.checked : one.value),
    said: all("#cursorbar, #verdict-line, .rail", (one) => one.innerText).slice(0, 5),
    figures: all(".matrix .body:not(.lazy .body)", (one) => one.id + " " + one.className),
    labels: all(".matrix [role=img]:not(.lazy [role=img])", (one) => one.id + " " + one.getAttribute("aria-label")),
  };
}"""
"""What one journey could leave behind for the next on the same page."""
SETTLES = 60
"""Seconds in which a page must come back to what it was."""


def unlike(now: str, was: str) -> tuple[str, str]:
    """The parts of two texts from where they differ."""
    at = next((i for i, (a, b) in enumerate(zip(now, was, strict=False)) if a != b), min(len(now), len(was)))
    return now[max(at - 60, 0) : at + 100], was[max(at - 60, 0) : at + 100]


class Kept:
    """A page that several journeys begin from. To open one takes most of the time of many journeys.

    Each finds it as it was opened. One that does not leave it so, or that fails on the way, leaves no page to the next,
    which opens its own.
    """

    def __init__(self, profile: Any, url: str) -> None:
        self.profile, self.url = profile, url
        self._watched: Watched | None = None
        self._first: dict[str, Any] = {}

    def begin(self) -> Any:
        """The page, everything drawn."""
        if self._watched is None:
            self._watched = Watched(self.profile)
            self._watched.page.goto(self.url)
            drawn(self._watched.page)
            rested(self._watched.page)
            self._first = self._watched.page.evaluate(AS_IT_IS)
        self._watched.page.bring_to_front()
        return self._watched.page

    def end(self) -> None:
        """Lead the page back, as its keys and links do, and assert that it is as it was and has said nothing."""
        watched, self._watched = self._watched, None
        assert watched is not None
        page = watched.page
        try:
            page.mouse.move(0, 0)
            page.evaluate("document.activeElement.blur()")
            rested(page)  # what the journey began is ended: its answers would lead the page away again
            if page.evaluate("document.documentElement.dataset.mantineColorScheme") != self._first["theme"]:
                page.keyboard.press("d")
            if page.url != self.url:
                page.evaluate("(url) => lens.go(url)", self.url.removeprefix(re.match(r"http://[^/]*", self.url)[0]))
            page.evaluate("window.scrollTo(0, 0)")
            other: list[dict[str, tuple[str, str]]] = [{}]

            def same() -> bool:
                now = page.evaluate(AS_IT_IS)
                first = {name: str(was) for name, was in self._first.items()}
                other[0] = {name: unlike(str(now[name]), was) for name, was in first.items() if str(now[name]) != was}
                return not other[0]

            rested(page)
            try:
                settled(page, same, SETTLES)
            except AssertionError:
                raise AssertionError(f"what is left, and what was: {other[0]}") from None
            watched.forget()
            watched.was_silent()
        except BaseException:
            page.close()
            raise
        watched.asked.clear()
        self._watched = watched

    def close(self) -> None:
        if self._watched is not None:
            self._watched.page.close()


@pytest.fixture(scope="session")
def kept(profile: Any) -> Iterator[Callable[[str], Kept]]:
    """The page that journeys from an address share."""
    all_kept: dict[str, Kept] = {}
    yield lambda url: all_kept.setdefault(url, Kept(profile, url))
    for one in all_kept.values():
        one.close()


@pytest.fixture
def run_page(kept: Callable[[str], Kept], address: str) -> Iterator[Any]:
    """The Run page of the robust run, everything drawn, as if nobody had been there before."""
    made = kept(f"{address}/run?run=majority-nope-s0")
    yield made.begin()
    made.end()


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


def settled(page: Any, condition: Callable[[], object], seconds: float = TIMEOUT / 1000) -> None:
    """Wait until something is so."""
    end = time.monotonic() + seconds
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


def group_by(page: Any, name: str) -> None:
    """Choose what the lines of the Runs page are."""
    page.click("#group")
    page.get_by_role("option", name=name, exact=True).click()


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
