"""Journeys through Compare, Sweep, Theory, Glossary and what all pages share, and an accessibility scan of each."""

from __future__ import annotations

import math
import shutil
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from tests.support.dashboard import fakes
from tests.support.dashboard.browsing import (
    SIZE,
    TIMEOUT,
    console,
    counts,
    drawn,
    group_by,
    has,
    mentions,
    needs_browser,
    points,
    rested,
    resting,
    says,
    settled,
    visiting,
)
from workbench.dashboard.pages import all_pages
from workbench.dashboard.state.cursor import link

pytestmark = needs_browser

COMPARE = "/compare?run=majority-nope-s0&run2=flip_flop-rotary-s0"
PAGES = {
    "runs": ("/", ".ag-row"),
    "run": ("/run?run=majority-nope-s0", "#head-grid-body.ready"),
    "compare": (COMPARE, "#cmp-heads-d-body.ready"),
    "sweep": ("/sweep", "#phase-body.ready"),
    "theory": ("/theory?run=majority-nope-s0", "#prediction dl"),
    "claims": ("/claims", "#claim-details h2"),
    "glossary": ("/glossary", "#behaviour"),
}
VIEWS = {"configurations": (f"{COMPARE}&configs=flip_flop-rotary-s0", "#many-accuracy-body.ready")}
"""Pages as they are under some links only."""
OTHERS = {
    one.name: (link("majority-nope-s0", one.path), "#page h1")
    for one in all_pages.PAGES
    if one.name.lower() not in PAGES
}


CELLS = """() => [...document.querySelectorAll("#grid .ag-center-cols-container .ag-row")]
  .sort((a, b) => a.getAttribute("row-index") - b.getAttribute("row-index"))
  .map((row) => [...row.querySelectorAll("[col-id]:not([col-id^=ag-Grid])")]
    .map((cell) => cell.getAttribute("col-id") + ": " + cell.innerHTML.replace(/ (id|row-id)="[^"]*"/g, "")))"""


def cells(page: Any, rows: int) -> Any:
    """The markup of every cell, row by row, once the grid has this many rows and theory has answered."""
    settled(page, lambda: page.locator("#grid .ag-center-cols-container .ag-row").count() == rows)
    settled(page, lambda: "asking" not in page.inner_text("#grid"))
    return page.evaluate(CELLS)


def test_every_cell_shows_after_a_toggle_of_seeds_what_it_shows_after_a_reload(page: Any, gallery: str) -> None:
    page.goto(gallery)
    single = cells(page, 12)
    group_by(page, "Seeds together")
    toggled = cells(page, 10)
    flip_flop = page.locator("#grid .ag-center-cols-container .ag-row", has_text="flip_flop_rotary").inner_text()
    texts = ("2 of 2 seeds", "48 at first", "2 seeds", "0.61 to 0.63", "291 to 800")
    assert [text for text in texts if text not in flip_flop] == []
    page.reload()
    assert toggled == cells(page, 10)
    group_by(page, "Single runs")
    assert cells(page, 12) == single


def test_a_mark_that_would_hide_another_stands_beside_it(page: Any, gallery: str) -> None:
    """Summary and position of compiled/majority read nearly the same: both marks are seen."""
    page.goto(f"{gallery}/")
    settled(page, lambda: page.locator("#grid svg.pair circle").count() > 0)
    boxes = """() => [...document.querySelectorAll("#grid svg.pair")].map((svg) => ["circle", "rect"]
      .map((name) => svg.querySelector(name)).map((mark) => mark && mark.getBoundingClientRect().toJSON()))"""
    pairs = [(circle, rect) for circle, rect in page.evaluate(boxes) if circle and rect]
    assert pairs
    for circle, rect in pairs:
        apart = circle["left"] >= rect["right"] or rect["left"] >= circle["right"]
        assert apart or circle["top"] >= rect["bottom"] or rect["top"] >= circle["bottom"], (circle, rect)


def test_two_runs_and_their_difference_at_one_cursor(page: Any, address: str) -> None:
    page.goto(f"{address}{COMPARE}&step=1000&len=100")
    drawn(page, 9)
    settled(page, lambda: page.inner_text("#cmp-chip-b") == "Not fitted" or "Length" in page.inner_text("#cmp-chip-b"))
    settled(page, lambda: page.input_value("#run2-select") == "flip_flop-rotary-s0")
    mentions(page, "#cmp-said-d", "A is higher")
    # one colour range for both
    bars = "[...document.querySelectorAll('#cmp-accuracy-%s-graph .cbaxis text')].map(t => t.textContent).join()"
    assert resting(page, f"{bars % 'a'} || null") == resting(page, f"{bars % 'b'} || null")

    before = points(page, "cmp-decodability-d")
    page.get_by_role("slider", name="Training step").focus()
    page.keyboard.press("End")
    settled(page, lambda: points(page, "cmp-decodability-d") != before)
    settled(page, lambda: "step=1000" not in page.url)

    page.click("text=Swap A and B")
    settled(page, lambda: "run=flip_flop-rotary-s0" in page.url and "run2=majority-nope-s0" in page.url)
    settled(page, lambda: page.input_value("#run-select") == "flip_flop-rotary-s0")
    drawn(page, 9)
    mentions(page, "#cmp-said-d", "B is higher")
    page.go_back()
    settled(page, lambda: page.input_value("#run-select") == "majority-nope-s0")


def test_the_select_of_b_shows_the_verdict_that_stands_beside_it(page: Any, tmp_path: Path) -> None:
    """A's last step is 3,000 and B's is 2,000: B has no verdict at A's step."""
    for fake, steps in ((fakes.FAKES[0], (0, 1000, 3000)), (fakes.FAKES[2], (0, 2000))):
        fakes.write_rows(fakes.write_run(tmp_path, fake, steps), fakes.all_rows(fake, steps))

    def marks(side: str) -> list[str]:
        return [str(mark.get_attribute("class")) for mark in page.locator(f".side.{side} .glyph").all()]

    def stands(verdict: str) -> bool:
        return marks("b") == [f"icon glyph {verdict}"] * 2

    with visiting(page, tmp_path) as address:
        page.goto(f"{address}{COMPARE}")
        settled(page, lambda: stands("length-coupled"))
        slider = page.get_by_role("slider", name="Training step")
        slider.focus()
        page.keyboard.press("Home")
        settled(page, lambda: stands("not-fitted"))
        assert marks("a") == ["icon glyph not-fitted"] * 2
        page.keyboard.press("End")
        settled(page, lambda: stands("length-coupled"))


def test_the_line_in_b_stands_at_the_step_that_b_is_paired_at(page: Any, tmp_path: Path) -> None:
    """A's 1,000 of 3,000 is B's 100 of 800, the nearest earlier one; the line in the difference is A's."""
    steps = {"majority-nope-s0": (0, 100, 1000, 3000), "flip_flop-rotary-s0": (0, 100, 800)}
    for fake in fakes.FAKES:
        if fake.name in steps:
            path = fakes.write_run(tmp_path, fake, steps[fake.name])
            fakes.write_rows(path, fakes.all_rows(fake, steps[fake.name]))
    at = "Number(getComputedStyle(document.querySelector('#cmp-accuracy-%s-body > .line-x')).getPropertyValue('--su'))"

    def stands(side: str, step: int) -> bool:
        return abs(page.evaluate(at % side) - math.log2(1 + step)) < 1e-6

    with visiting(page, tmp_path) as address:
        page.goto(f"{address}{COMPARE}&step=1000&len=100")
        drawn(page, 9)
        settled(page, lambda: stands("a", 1000) and stands("b", 100) and stands("d", 1000))
        page.get_by_role("slider", name="Training step").focus()
        page.keyboard.press("End")
        settled(page, lambda: stands("a", 3000) and stands("b", 800) and stands("d", 3000))


def test_seeds_are_a_view_of_their_own(page: Any, address: str) -> None:
    page.goto(f"{address}{COMPARE}")
    drawn(page, 9)
    page.click("text=Seeds")
    settled(page, lambda: "seeds=1" in page.url)
    page.wait_for_selector("#cmp-seeds-accuracy-d-body.ready")
    mentions(page, "#cmp-seeds-accuracy-a-slice", "1 seed")
    has(page, "[data-seeds]", "aria-pressed", "true")


def test_a_phase_diagram_of_any_quantity_over_any_two_axes(page: Any, address: str) -> None:
    page.goto(f"{address}/sweep")
    page.wait_for_selector("#phase-body.ready")
    says(page, "#phase-title", "Accuracy")
    first = resting(page, "document.querySelector('#phase-slice').innerText || null")
    page.click("#sweep-quantity")
    page.get_by_role("option", name="hardmax distance").click()
    settled(page, lambda: page.inner_text("#phase-title") == "Hardmax distance")
    step, length = (page.get_by_role("slider", name=name) for name in ("Training step", "Prefix length"))
    settled(page, lambda: step.get_attribute("aria-valuetext") == "each run\u2019s last, step 3,000")
    step.focus()
    for _ in range(3):  # from the end over 3,000 and 1,500
        page.keyboard.press("ArrowLeft")
    settled(page, lambda: page.inner_text("#phase-slice") not in (first, "") and "step=1000" in page.url)
    says(page, "#sweep-step-value", "1,000")
    settled(page, lambda: step.get_attribute("aria-valuetext") == "1,000, measured step 3 of 5")
    length.focus()
    page.keyboard.press("Home")
    settled(page, lambda: "1/8 \u00d7 N" in page.inner_text("#phase-slice") and page.url.endswith("len=0.125x"))
    page.get_by_text("tokens", exact=True).click()
    settled(page, lambda: "length " in page.inner_text("#phase-slice") and "x" not in page.url.rpartition("len=")[2])
    length.focus()
    page.keyboard.press("Home")
    settled(page, lambda: "length 5 " in page.inner_text("#phase-slice") and page.url.endswith("len=5"))
    says(page, "#sweep-length-where", "inside training")
    shown = page.inner_text("#phase-slice")
    page.reload()
    page.wait_for_selector("#phase-body.ready")
    says(page, "#phase-slice", shown)
    says(page, "#sweep-step-value", "1,000")
    with page.expect_download() as taken:
        page.click("#phase-panel .menu-button")
        page.get_by_role("menuitem", name="Parquet").click()
    assert set(pd.read_parquet(taken.value.path())["runs"]) == {1}


def test_a_sweep_link_to_what_is_not_there_says_so(page: Any, address: str) -> None:
    page.goto(f"{address}/sweep?x=<script>alert(1)</script>&quantity=a|b&over=all&len=7&step=1200")
    page.wait_for_selector("#phase-body.ready")
    for part in (
        "names the axis <script>alert(1)</script>, which no run here has",
        "names the quantity a|b",
        "names step 1,200, which no run here has. The page shows step 1,000, the nearest earlier one.",
    ):
        mentions(page, "#banner", part)
    settled(page, lambda: page.inner_text("#sweep-step-value") == "1,000")


def test_a_sweep_link_with_a_key_that_the_page_does_not_have_says_so(page: Any, address: str) -> None:
    page.goto(f"{address}/sweep?q=nonsense")
    page.wait_for_selector("#phase-body.ready")
    rested(page)
    mentions(page, "#banner", "This link contains \u201cq\u201d, which the page Sweep does not know.")


def test_theory_says_program_prediction_and_what_is_observed(page: Any, address: str) -> None:
    page.goto(f"{address}/theory?run=majority-nope-s0")
    mentions(page, "#prediction", "guaranteed")
    mentions(page, "#prediction", "as predicted")
    mentions(page, "#prediction", "Huang et al.")
    page.wait_for_selector("#program table")
    page.click("#theory-select")
    page.get_by_role("option", name="flip_flop-rotary-s0").click()
    mentions(page, "#prediction", "no theorem is about rotary positions")


def test_the_glossary_leads_to_a_quantity(page: Any, address: str) -> None:
    page.goto(f"{address}/glossary")
    page.click("dt a:has-text('hardmax distance')")
    settled(page, lambda: page.url.endswith("/glossary?quantity=hardmax_distance"))
    mentions(page, ".asked", "Total variation")


def test_the_navigation_carries_the_cursor_along(page: Any, address: str) -> None:
    page.goto(f"{address}/run?run=majority-nope-s0&step=1000&len=100")
    drawn(page)
    page.click("nav.nav >> text=Compare")
    settled(page, lambda: page.url.startswith(f"{address}/compare?run=majority-nope-s0"))
    settled(page, lambda: page.inner_text("#step-value") == "1,000")
    settled(page, lambda: page.inner_text("#length-value") == "2 × trained")


def test_any_quantity_of_the_table_has_its_panels(run_page: Any) -> None:
    page = run_page
    page.wait_for_selector("#more-length-body.ready")
    page.click("#more-quantity")
    page.get_by_role("option", name="margin").first.click()
    settled(page, lambda: "quantity=circuits.hardmax%7Cmargin" in page.url)
    page.reload()
    page.wait_for_selector("#more-length-body.ready")
    settled(page, lambda: page.input_value("#more-quantity") == "margin")


def test_play_moves_through_training_and_stops_at_its_end(run_page: Any) -> None:
    page = run_page
    page.click("#play")
    settled(page, lambda: page.inner_text("#step-value") != "3,000")
    settled(page, lambda: page.inner_text("#step-value") == "3,000")
    counts(page, "#play.playing", 0)


def test_a_run_that_goes_while_one_looks_is_said_to_be_gone(page: Any, tmp_path: Path) -> None:
    fakes.build(tmp_path, fakes.FAKES[:2], unmeasured=False, steps=(0, 3000))
    with visiting(page, tmp_path) as address:
        page.goto(f"{address}/run?run=majority-nope-s0")
        drawn(page)
        shutil.rmtree(tmp_path / "majority-nope-s0")
        mentions(page, "#problems", "majority-nope-s0 is no longer here")
        assert page.locator("#accuracy-length-body.ready").count() == 1
        (tmp_path / "majority-nope-s1" / "run.json").write_text("{")

        def opened() -> bool:
            """Whether the link leads to the list: a run is shown as it was until folders are read again."""
            page.goto(f"{address}/run?run=majority-nope-s1")
            page.wait_for_timeout(1500)
            return bool(page.locator("#grid, .empty").count())

        settled(page, opened)
        mentions(page, "#banner", "is not in this folder")


def test_what_is_missing_can_be_measured_from_the_page_and_stopped(page: Any, tmp_path: Path) -> None:
    """The made-up checkpoints hold no weights, so that measuring them fails: in one sentence, in its place."""
    fakes.write_run(tmp_path, fakes.UNMEASURED, (0, 10))
    with visiting(page, tmp_path) as address:
        page.goto(f"{address}/run?run=majority-learned-s0")
        page.click("text=Measure now")
        page.wait_for_selector("#measure-strip [data-measure-close]")
        mentions(page, "#measure-strip", "Nothing was measured of majority-learned-s0.")
        mentions(page, "#measure-strip", "model.safetensors is damaged: its sha256 differs from meta.json.")
        page.click("#measure-strip [data-measure-close]")
        settled(page, lambda: page.inner_text("#measure-strip") == "")


WINDOWS = ((1440, 900), (1024, 768), (720, 450))
"""A desk, a tablet, and the desk at 200 % zoom."""
BEGINS = {"CSV": b"", "Parquet": b"PAR1", "SVG": b"<svg", "PNG, 2\u00d7": b"\x89PNG"}
"""How what is saved of a panel begins."""
PANELS = {"run": "accuracy-training", "compare": "cmp-decodability-d", "sweep": "phase"}


AXE = None
with suppress(ImportError):
    from axe_playwright_python import sync_playwright as AXE
SCAN = "axe.run({resultTypes: ['violations']}).then((found) => found.violations)"


@dataclass
class Seen:
    """What a look at every page in one theme has found: each is opened once, and asked all there is to ask."""

    said: list[str] = field(default_factory=list)
    policies: dict[str, str] = field(default_factory=dict)
    saved: dict[tuple[str, str], bytes] = field(default_factory=dict)
    scanned: list[tuple[str, int]] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)


def saved(page: Any, panel: str, kind: str) -> bytes:
    """What the menu of a panel saves."""
    page.wait_for_selector(f"#{panel}-body.ready")
    page.click(f"#{panel}-panel .menu-button")
    with page.expect_download() as taken:
        page.get_by_role("menuitem", name=kind, exact=True).click()
    return Path(taken.value.path()).read_bytes()


def faults(page: Any, name: str, width: int, height: int) -> list[str]:
    """What axe-core finds on a page in a window of this size, with the list of pages open where there is one."""
    page.set_viewport_size({"width": width, "height": height})
    if width < 1180 and name == "runs":
        page.click("#nav-toggle")
    return [
        f"{name}, {width} wide: {fault['id']} ({fault['help']}): "
        f"{'; '.join(node['html'][:160] for node in fault['nodes'][:3])}"
        for fault in page.evaluate(SCAN)
    ]


@pytest.fixture(scope="module", params=["light", "dark"])
def seen(request: pytest.FixtureRequest, profile: Any, address: str) -> Iterator[Seen]:
    made, page = Seen(), profile.new_page()
    page.emulate_media(color_scheme=request.param, reduced_motion="no-preference")
    page.set_default_timeout(TIMEOUT)
    made.said = console(page)
    for name, (path, sign) in (PAGES | OTHERS).items():
        page.set_viewport_size(SIZE)
        answer = page.goto(f"{address}{path}")
        made.policies[name] = answer.headers["content-security-policy"]
        page.wait_for_selector(sign)
        page.wait_for_timeout(300)
        assert page.get_attribute("html", "data-mantine-color-scheme") == request.param
        if name in PANELS:
            made.saved |= {(name, kind): saved(page, PANELS[name], kind) for kind in BEGINS}
        if AXE:
            page.mouse.move(0, 0)
            # Half faded, the message about a saved file has half of its contrast.
            settled(page, lambda: page.evaluate("getComputedStyle(document.getElementById('toast')).opacity") == "0")
            page.evaluate(AXE.Axe().axe_script)
            for width, height in WINDOWS:
                made.faults += faults(page, name, width, height)
                made.scanned.append((name, width))
        rested(page)
    yield made
    page.close()


def test_no_page_says_anything_in_the_console_and_all_that_is_offered_is_saved(seen: Seen) -> None:
    """Under the policy that forbids a page to run text: grids, plots, and pictures made in the browser."""
    assert len(seen.policies) == len(PAGES | OTHERS) == len(all_pages.PAGES)
    for name, policy in seen.policies.items():
        assert "script-src 'self' 'sha256-" in policy, name
    assert seen.saved.keys() == {(name, kind) for name in PANELS for kind in BEGINS}
    for (name, kind), data in seen.saved.items():
        assert len(data) > 100, (name, kind)
        assert data.startswith(BEGINS[kind]), (name, kind)
    assert not seen.said, seen.said


def test_no_page_has_an_accessibility_fault_at_any_size(seen: Seen) -> None:
    """axe-core over every page, and over the list of pages where their links do not fit."""
    if AXE is None:
        pytest.skip("no axe-core: pip install axe-playwright-python")
    assert seen.scanned == [(name, width) for name in PAGES | OTHERS for width, _ in WINDOWS]
    assert not seen.faults, "\n".join(seen.faults)
