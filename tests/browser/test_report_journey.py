"""Pages that need no server, opened from disk in a real browser to which every network is forbidden."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.dashboard.browsing import (
    SIZE,
    console,
    counts,
    drawn,
    mentions,
    needs_browser,
    resting,
    says,
    settled,
)
from workbench.dashboard.report.gallery_site import publish
from workbench.dashboard.report.report_page import report_html, runs_below
from workbench.table import Table

pytestmark = needs_browser

A, B = "majority-nope-s0", "flip_flop-rotary-s0"
SHOWN = """(id) => {
  const graph = document.getElementById(id + "-graph");
  if (!graph || !graph.data) return null;
  const line = graph.data.find((one) => (one.mode || "").includes("markers") && one.line && one.line.width >= 2);
  return line ? Array.from(graph._fullData[line.index ?? graph.data.indexOf(line)].y) : null;
}"""
"""The heights of a plot's main line, as plotly.js has them."""
MARKED = "() => [...document.querySelectorAll('.pan.marked')].map((one) => one.id)"
DARK = "() => document.documentElement.getAttribute('data-mantine-color-scheme')"


@pytest.fixture(scope="module")
def file(small_root: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("handed over") / "page & more.html"
    out.write_text(report_html(runs_below([small_root / A, small_root / B], [])))
    return out


@pytest.fixture(scope="module")
def rows(small_root: Path) -> Any:
    return Table.load(small_root).frame()


@pytest.fixture
def silent(browser: Any) -> Iterator[Any]:
    """A page without any network; after the test its console must be empty and it must have asked for files alone."""
    context = browser.new_context(viewport=SIZE, color_scheme="light", offline=True)
    made = context.new_page()
    said, asked = console(made), []
    made.on("request", lambda request: asked.append(request.url))
    yield made
    context.close()
    assert not said, said
    assert not [url for url in asked if not url.startswith(("file:", "data:", "blob:"))], asked


def told(rows: Any, run: str, step: int) -> list[float]:
    """The accuracies of the table at a step, over length."""
    own = rows[(rows["run"] == run) & (rows["quantity"] == "accuracy") & (rows["law"] == "matched")]
    own = own[(own["step"] == step) & (own["mode"] == "teacher_forced")].sort_values("length")
    return [float(value) for value in own["value"]]


def shows(page: Any, run: str, rows: Any, step: int) -> None:
    """Wait until the plot over length shows the rows of a step."""
    want = told(rows, run, step)
    assert len(want) > 5
    settled(page, lambda: page.evaluate(SHOWN, "accuracy-length") == pytest.approx(want))


def opened(page: Any, address: str) -> None:
    page.goto(address)
    page.wait_for_selector(".matrix .body.ready")
    resting(page, SHOWN, "accuracy-length")


def test_a_page_in_one_file_moves_its_figures_to_the_rows_of_the_table(silent: Any, file: Path, rows: Any) -> None:
    page = silent
    opened(page, file.as_uri())
    says(page, "#step-value", "3,000")
    shows(page, A, rows, 3000)
    mentions(page, "h1", "Scale-robust at step 3,000")

    page.click("#ledger tr:has-text('task state') button")
    assert page.evaluate(MARKED) == ["decodability-length-panel"]
    page.click("#ledger tr:has-text('challenge') button")
    assert page.evaluate(MARKED) == ["accuracy-length-panel"]

    page.focus("#step-slider")
    page.keyboard.press("ArrowLeft")
    says(page, "#step-value", "1,500")
    shows(page, A, rows, 1500)
    page.keyboard.press("Home")
    says(page, "#step-value", "0")
    shows(page, A, rows, 0)
    mentions(page, "h1", "Not fitted at step 0")
    box = page.locator("#step-slider").bounding_box()
    page.mouse.click(box["x"] + box["width"] - 9, box["y"] + box["height"] / 2)
    says(page, "#step-value", "3,000")

    page.focus("#length-slider")
    page.keyboard.press("End")
    says(page, "#length-value", "8 \u00d7 trained")
    longest = rows[(rows["run"] == A) & (rows["quantity"] == "summary_decodability") & (rows["length"] == 400)]
    kept = longest[(longest["mode"] == "transfer") & (longest["control"] == "")]
    last = kept[kept["layer"] == kept["layer"].max()].sort_values("step")
    want = [float(value) for value in last["value"]]
    settled(page, lambda: page.evaluate(SHOWN, "decodability-training") == pytest.approx(want))
    assert page.url.endswith("#run=0&step=3000&len=400")

    page.select_option("#run-select", label=B)
    shows(page, B, rows, 3000)
    mentions(page, "h1", "Length-coupled")
    assert page.locator("[data-run='1']").is_visible()
    assert not page.locator("[data-run='0']").is_visible()

    page.click("#theme-toggle")
    assert page.evaluate(DARK) == "dark"
    page.goto("about:blank")
    opened(page, f"{file.as_uri()}#run=1&step=1000&len=50")
    says(page, "#step-value", "1,000")
    says(page, "#length-where", "length 50")
    shows(page, B, rows, 1000)


def test_a_gallery_is_read_from_disk(silent: Any, small_root: Path, rows: Any, tmp_path: Path) -> None:
    page = silent
    publish([small_root], tmp_path / "site", [])
    page.goto((tmp_path / "site" / "index.html").as_uri())
    counts(page, "tbody tr", 3)
    page.click(f"a:has-text('{A}')")
    page.wait_for_selector(".matrix .body.ready")
    shows(page, A, rows, 3000)
    page.click("text=All runs")
    page.wait_for_selector("tbody tr")
    page.click("a:has-text('majority-learned-s0')")
    page.wait_for_selector(".body.stated")
    mentions(page, "h1", "Not measured")


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", [1440, 1024])
def test_no_accessibility_fault_is_found(
    browser: Any, file: Path, small_root: Path, tmp_path: Path, theme: str, width: int
) -> None:
    """axe-core without a finding of any kind, on the page and on the list."""
    axe = pytest.importorskip(
        "axe_playwright_python.sync_playwright", reason="no axe-core: pip install axe-playwright-python"
    ).Axe()
    publish([small_root / "majority-learned-s0"], tmp_path / "site", [])
    page = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=theme, offline=True).new_page()
    found = []
    for name, address, sign in (
        ("page", file.as_uri(), ".matrix .body.ready"),
        ("list", (tmp_path / "site" / "index.html").as_uri(), "tbody tr"),
    ):
        page.goto(address)
        page.wait_for_selector(sign)
        page.wait_for_timeout(500)
        for fault in axe.run(page).response["violations"]:
            nodes = "; ".join(node["html"][:160] for node in fault["nodes"][:3])
            found.append(f"{name}: {fault['id']} ({fault['impact']}, {fault['help']}): {nodes}")
    page.context.close()
    assert not found, "\n".join(found)


def test_the_run_page_saves_the_page_it_shows(page: Any, address: str, browser: Any, tmp_path: Path) -> None:
    page.goto(f"{address}/run?run={A}&step=1000")
    drawn(page)
    page.click("#ledger-said")
    page.click("#ledger tr:has-text('task state') button")
    assert page.evaluate(MARKED) == ["decodability-length-panel"]
    assert page.locator("#ledger tbody tr").count() >= 5
    with page.expect_download() as waiting:
        page.click("text=Save as one file")
    assert waiting.value.suggested_filename == f"{A}-report.html"
    saved = tmp_path / "saved.html"
    waiting.value.save_as(saved)
    other = browser.new_context(offline=True).new_page()
    opened(other, saved.as_uri())
    says(other, "#step-value", "1,000")
    other.context.close()


def test_on_paper_it_is_light_and_has_its_figures(silent: Any, file: Path) -> None:
    page = silent
    page.emulate_media(color_scheme="dark")
    opened(page, file.as_uri())
    assert page.evaluate(DARK) == "dark"
    page.evaluate(
        "() => window.addEventListener('beforeprint', () => { window.onPaper = [document.documentElement.getAttribute("
        "'data-mantine-color-scheme'), document.querySelectorAll('.js-plotly-plot .main-svg').length]; })"
    )
    assert len(page.pdf(prefer_css_page_size=True, print_background=True)) > 50_000
    theme, plots = page.evaluate("() => window.onPaper")
    assert theme == "light"
    assert plots >= 9
    settled(page, lambda: page.evaluate(DARK) == "dark")
