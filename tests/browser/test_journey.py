"""Journeys through both pages in a real browser: what a reader does, with an empty console and no foreign request."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.support.dashboard import fakes
from tests.support.dashboard.browsing import (
    counts,
    drawn,
    group_by,
    has,
    mentions,
    needs_browser,
    points,
    resting,
    says,
    settled,
    visiting,
)

pytestmark = needs_browser


def test_all_runs_then_one_verdict_then_its_run(page: Any, address: str) -> None:
    page.goto(f"{address}/")
    page.wait_for_selector(".ag-row")
    counts(page, ".ag-row", 3)
    page.wait_for_load_state("networkidle")  # the first look at the folder may still be telling what it has read
    mentions(page, "h1", "Does a model keep working")

    page.click("button.card[data-verdict=length-coupled]")
    counts(page, ".ag-row", 1)
    settled(page, lambda: page.url.endswith("/?verdict=length-coupled"))
    has(page, "button.card[data-verdict=length-coupled]", "aria-pressed", "true")
    says(page, "#shown", "1 of 3 runs")

    page.keyboard.press("/")
    page.keyboard.type("nothing like this")
    mentions(page, "#grid", "No run passes these filters.")
    page.fill("#filter", "")
    counts(page, ".ag-row", 1)

    page.click(".ag-row .chip")
    page.wait_for_selector("#cursorbar")
    settled(page, lambda: page.url.endswith("/run?run=flip_flop-rotary-s0"))
    drawn(page)
    settled(page, lambda: page.inner_text("#verdict-line").startswith("Length-coupled at step 3,000"))
    settled(page, lambda: page.title() == "flip_flop-rotary-s0 · LengthLens")

    page.go_back()
    page.wait_for_selector("#grid")
    counts(page, ".ag-row", 1)


def test_seeds_stand_together_and_theory_beside_what_is_observed(page: Any, address: str) -> None:
    page.goto(f"{address}/")
    page.wait_for_selector(".ag-row")
    group_by(page, "Seeds together")
    settled(page, lambda: page.url.endswith("/?seeds=1"))
    page.reload()
    page.wait_for_selector(".ag-row")
    settled(page, lambda: page.input_value("#group") == "Seeds together")
    cell = ".ag-row[row-id=majority-nope-s0] [col-id=expects]"
    settled(page, lambda: "as observed" in page.inner_text(cell))
    page.goto(f"{address}/run?run=majority-nope-s0")
    mentions(page, "#theory-says", "can generalise in length with this position encoding, as observed")


ENDS = """() => document.querySelector("#grid .ag-header-cell[col-id=steps]").getBoundingClientRect().right
  - document.querySelector(".grid-frame").getBoundingClientRect().right"""
"""Pixels by which the last column of the runs leaves its frame."""


def test_every_column_of_the_runs_is_on_screen_at_1440(page: Any, address: str) -> None:
    page.goto(address)
    page.wait_for_selector("#grid .ag-header-cell[col-id=steps]")
    settled(page, lambda: page.evaluate(ENDS) <= 1)
    cut = page.evaluate(
        "() => [...document.querySelectorAll('#grid .ag-header-cell-text')].filter((one) => one.scrollWidth > "
        "one.clientWidth + 1).map((one) => one.textContent)"
    )
    assert cut == []
    name = page.locator("#grid a.middle").first
    assert name.get_attribute("title") == name.inner_text().replace("\n", "")


def test_strips_show_accuracies_and_sort_by_the_first_failing_length(page: Any, gallery: str) -> None:
    page.goto(gallery)
    cells = ".ag-row[row-id=flip_flop_rotary_s0] .gel-line"
    settled(page, lambda: page.locator(f"{cells} i").count() == 20)
    matched, challenge = (page.locator(cells).nth(line).locator("i") for line in (0, 1))
    said = "length 48 (1.5 \u00d7 N), matched test set: 0.84 [0.81, 0.87], n = 512"
    assert matched.nth(4).get_attribute("title") == said
    assert challenge.nth(4).get_attribute("title").endswith("n = 512. The verdict does not use this cell")
    assert challenge.nth(4).get_attribute("class") == "untested"
    assert matched.nth(0).evaluate("(cell) => getComputedStyle(cell).backgroundColor") == "rgb(225, 204, 85)", (
        "1 is gold"
    )
    assert page.locator(".ag-row[row-id=small_model] .gel-line").first.locator(".unmeasured").count() == 5
    page.click(".ag-header-cell[col-id=strip]")
    first = "() => document.querySelector('#grid .ag-row[row-index=\"0\"]').getAttribute('row-id')"
    settled(page, lambda: page.evaluate(first) == "flip_flop_rotary_s0")


def test_runs_are_grouped_by_a_setting_and_a_line_leads_to_its_runs(page: Any, gallery: str) -> None:
    page.goto(gallery)
    page.wait_for_selector(".ag-row")
    group_by(page, "By positions (model)")
    settled(page, lambda: page.url.endswith("/?group=model.positions.name"))
    counts(page, "#grid .ag-center-cols-container .ag-row", 4)
    page.get_by_role("link", name="learned", exact=True).click()
    settled(page, lambda: page.url.endswith("/?where=model.positions.name%3Dlearned"))
    counts(page, "#grid .ag-center-cols-container .ag-row", 2)


def test_enter_on_a_row_opens_its_run(page: Any, address: str) -> None:
    page.goto(f"{address}/")
    page.wait_for_selector(".ag-row")
    page.click(".ag-header-cell[col-id=verdict]")
    has(page, ".ag-header-cell[col-id=verdict]", "aria-sort", "ascending")
    page.focus(".ag-row[row-id=majority-nope-s0] [col-id=verdict]")
    page.keyboard.press("Enter")
    page.wait_for_selector("#cursorbar")
    settled(page, lambda: "run=majority-nope-s0" in page.url)


def test_sliders_move_by_keyboard_and_redraw_only_what_depends_on_them(run_page: Any) -> None:
    page = run_page
    training, length = points(page, "decodability-training"), points(page, "decodability-length")

    thumb = page.get_by_role("slider", name="Training step")
    settled(page, lambda: thumb.get_attribute("aria-valuetext") == "3,000, checkpoint 5 of 5")
    thumb.focus()
    page.keyboard.press("ArrowLeft")
    settled(page, lambda: "step=1500" in page.url)
    says(page, "#step-value", "1,500")
    settled(page, lambda: thumb.get_attribute("aria-valuetext") == "1,500, checkpoint 4 of 5")
    settled(page, lambda: points(page, "decodability-length") != length)
    assert points(page, "decodability-training") == training
    mentions(page, "#verdict-line", "at step 1,500")

    length = points(page, "decodability-length")
    page.get_by_role("slider", name="Prefix length").focus()
    page.keyboard.press("Home")
    settled(page, lambda: "len=5" in page.url)
    says(page, "#length-where", "length 5")
    settled(page, lambda: points(page, "decodability-training") != training)
    assert points(page, "decodability-length") == length


def test_arrows_anywhere_move_the_cursor_and_its_lines(run_page: Any) -> None:
    page = run_page
    page.locator("body").click(position={"x": 5, "y": 880})
    points(page, "decodability-training")
    line = "document.querySelector('#decodability-training-body .line-x').getBoundingClientRect().x"
    before = resting(page, line)
    page.keyboard.press("Shift+ArrowLeft")
    says(page, "#step-value", "0")
    settled(page, lambda: page.evaluate(line) < before - 100)
    page.keyboard.press("ArrowUp")
    says(page, "#length-value", "6 × trained")


def test_the_cursor_line_stands_on_its_tick(run_page: Any) -> None:
    """The line is placed by CSS from margins and ranges, the tick by Plotly: they must agree."""
    page = run_page
    points(page, "decodability-training")
    apart = """() => {
      const middle = (e) => { const box = e.getBoundingClientRect(); return box.x + box.width / 2; };
      const ticks = [...document.querySelectorAll("#decodability-training-graph .xtick text")];
      const tick = ticks.find((one) => one.textContent === "3k");
      const line = document.querySelector("#decodability-training-body .line-x");
      return tick && line ? middle(line) - middle(tick) : null;
    }"""
    assert abs(resting(page, apart)) < 1.5


def test_a_click_in_a_plot_sets_the_cursor(run_page: Any) -> None:
    page = run_page
    # A click says what lies under the pointer, which Plotly finds out after the pointer has come to rest.
    page.wait_for_selector("#accuracy-training-graph .nsewdrag")
    box = page.locator("#accuracy-training-graph").bounding_box()
    at = box["x"] + 60, box["y"] + box["height"] - 44
    page.mouse.move(*at)
    under = "document.querySelector('#accuracy-training-graph .js-plotly-plot')._hoverdata?.length > 0"
    settled(page, lambda: page.evaluate(under))
    page.mouse.click(*at)
    settled(page, lambda: page.inner_text("#step-value") == "0" and page.inner_text("#length-where") == "length 5")


def test_a_head_is_chosen_in_the_grid_and_everywhere_else(run_page: Any) -> None:
    page = run_page
    page.get_by_role("button", name="L1H2:").click()
    settled(page, lambda: "layer=1&head=2" in page.url)
    settled(page, lambda: page.input_value("#head-select") == "L1H2")
    mentions(page, "#rail-mechanism", "L1H2")
    mentions(page, "#heads-length-graph", "L1H2")
    page.keyboard.press("Escape")
    page.locator("body").click(position={"x": 5, "y": 880})
    page.keyboard.press("]")
    settled(page, lambda: "layer=1&head=3" in page.url)


def test_a_deep_link_restores_the_view(page: Any, address: str) -> None:
    page.goto(f"{address}/run?run=flip_flop-rotary-s0&step=1000&len=100&layer=1&head=3")
    drawn(page)
    says(page, "#step-value", "1,000")
    says(page, "#length-value", "2 × trained")
    says(page, "#length-where", "length 100")
    settled(page, lambda: page.input_value("#head-select") == "L1H3")
    has(page, ".heads button.on", "data-pick-head", "1.3")
    assert page.locator("#banner .banner").count() == 0


def test_a_stale_link_says_what_it_asked_and_what_is_shown(page: Any, address: str) -> None:
    page.goto(f"{address}/run?run=majority-nope-s0&step=1700")
    drawn(page)
    page.wait_for_timeout(500)  # a banner that goes by itself would be gone by then
    banner = page.inner_text("#banner")
    assert "This link names step 1,700, which majority-nope-s0 does not have." in banner
    assert "The page shows 1,500, the nearest earlier checkpoint." in banner
    page.click("text=Keep 1,500")
    counts(page, "#banner .banner", 0)
    settled(page, lambda: "step=1500" in page.url)


def test_another_run_is_another_page_and_back_leads_back(run_page: Any) -> None:
    page = run_page
    page.get_by_role("slider", name="Training step").focus()
    page.keyboard.press("ArrowLeft")
    settled(page, lambda: "step=1500" in page.url)
    page.click("#run-select")
    page.get_by_role("option", name="flip_flop-rotary-s0").click()
    settled(page, lambda: page.inner_text(".meta .mono") == "flip_flop-rotary-s0")
    drawn(page)
    says(page, "#step-value", "1,500")
    page.go_back()
    says(page, ".meta .mono", "majority-nope-s0")
    says(page, "#step-value", "1,500")


def test_themes_redraw_figures_and_are_remembered(run_page: Any) -> None:
    page = run_page
    colour = "document.querySelector('#decodability-length-graph .ytick text')?.style.fill"
    light = resting(page, colour)
    page.keyboard.press("d")
    settled(page, lambda: page.evaluate("document.documentElement.dataset.mantineColorScheme") == "dark")
    settled(page, lambda: page.evaluate(colour) not in (None, light))
    page.reload()
    drawn(page)
    assert page.evaluate("document.documentElement.dataset.mantineColorScheme") == "dark"
    page.keyboard.press("d")
    settled(page, lambda: page.evaluate(colour) == light)


def test_what_a_panel_shows_can_be_taken_away(run_page: Any) -> None:
    page = run_page

    def choose(text: str) -> None:
        page.click("#accuracy-length-panel .menu-button")
        page.get_by_role("menuitem", name=text, exact=True).click()

    with page.expect_download() as taken:
        choose("CSV")
    rows = Path(taken.value.path()).read_text().splitlines()
    assert taken.value.suggested_filename == "majority-nope-s0-accuracy-length.csv"
    assert len(rows) == 1 + 4 * len(fakes.LENGTHS)

    with page.expect_download() as taken:
        choose("SVG")
    svg = Path(taken.value.path()).read_text()
    assert "font/woff2;base64" in svg
    assert "majority-nope-s0" in svg
    with page.expect_download() as taken:
        choose("PNG, 2\u00d7")
    assert Path(taken.value.path()).read_bytes()[:4] == b"\x89PNG"

    choose("Python snippet")
    settled(page, lambda: "accuracy_over_length(frame" in page.evaluate("navigator.clipboard.readText()"))
    page.click("#copy-link")
    settled(page, lambda: page.evaluate("navigator.clipboard.readText()") == page.url)


def test_what_stands_below_follows_once_the_cursor_rests(run_page: Any, address: str) -> None:
    page, shown = run_page, "#more-length-figure"
    page.wait_for_selector("#more-length-body.ready", state="attached")
    assert page.locator(shown).bounding_box()["y"] > page.viewport_size["height"]
    first = resting(page, f"document.querySelector('{shown}').getAttribute('aria-label') || null")
    page.keyboard.press("ArrowLeft")
    settled(page, lambda: "step=1500" in page.url)
    settled(page, lambda: page.get_attribute(shown, "aria-label") != first)
    moved = page.get_attribute(shown, "aria-label")
    page.goto(f"{address}/run?run=majority-nope-s0&step=1500")
    drawn(page)
    has(page, shown, "aria-label", moved)
    page.locator(shown).scroll_into_view_if_needed()  # in view, it follows at once
    page.keyboard.press("ArrowRight")
    settled(page, lambda: page.get_attribute(shown, "aria-label") == first)


def test_the_menu_of_a_panel_by_keyboard(run_page: Any) -> None:
    page = run_page
    button = page.locator("#accuracy-length-panel .menu-button")
    focused = "document.activeElement.textContent"
    button.focus()
    page.keyboard.press("Enter")
    assert button.get_attribute("aria-expanded") == "true"
    assert page.get_by_role("menu", name="Menu of Accuracy, over prefix length").count() == 1
    assert page.evaluate(focused).startswith("Data as table")
    page.keyboard.press("ArrowUp")
    assert page.evaluate(focused) == "Link to these data"
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Escape")
    assert page.get_by_role("menu").count() == 0
    assert page.evaluate("document.activeElement.dataset.menu") == "accuracy-length"
    assert button.get_attribute("aria-expanded") == "false"
    page.keyboard.press("Enter")
    page.keyboard.press("Enter")
    page.wait_for_selector("#accuracy-length-body.tabled table")
    assert page.get_by_role("menu").count() == 0
    button.click()
    page.click("h1")
    assert page.get_by_role("menu").count() == 0
    page.focus("#accuracy-length-panel")
    page.keyboard.press("t")
    page.wait_for_selector("#accuracy-length-body.ready")


def test_what_a_panel_means_is_said_on_hover_and_on_focus(run_page: Any) -> None:
    page = run_page
    button = page.get_by_role("button", name="What Accuracy, over prefix length means")
    button.hover()
    page.wait_for_selector("[role=tooltip]")
    mentions(page, "[role=tooltip]", "accuracy:")
    assert button.get_attribute("aria-describedby") == page.get_attribute("[role=tooltip]", "id")
    page.hover("[role=tooltip]")  # it can be read at leisure
    page.wait_for_timeout(400)  # longer than it stays once the pointer has left
    counts(page, "[role=tooltip]", 1)
    page.hover("h1")
    counts(page, "[role=tooltip]", 0)
    button.focus()
    counts(page, "[role=tooltip]", 1)
    page.keyboard.press("Escape")
    counts(page, "[role=tooltip]", 0)


def test_a_panel_by_keyboard_as_table_and_maximised(run_page: Any) -> None:
    page = run_page
    page.keyboard.press("2")
    page.keyboard.press("t")
    page.wait_for_selector("#accuracy-length-body.tabled table")
    settled(page, lambda: page.locator("#accuracy-length-table tbody tr").count() == 4 * len(fakes.LENGTHS))
    page.keyboard.press("t")
    page.wait_for_selector("#accuracy-length-body.ready")
    page.keyboard.press("m")
    settled(page, lambda: page.locator("#accuracy-length-panel").bounding_box()["width"] > 1300)
    has(page, "#accuracy-length-panel .expand", "aria-label", "Restore panel")
    page.keyboard.press("Escape")
    settled(page, lambda: page.locator("#accuracy-length-panel").bounding_box()["width"] < 700)
    has(page, "#accuracy-length-panel .expand", "aria-label", "Maximise panel")


def test_an_empty_folder_shows_commands_until_a_run_appears(page: Any, tmp_path: Path) -> None:
    with visiting(page, tmp_path) as address:
        page.goto(f"{address}/")
        page.wait_for_selector(".empty")
        mentions(page, ".empty", "lengthlens gallery")
        counts(page, ".nav a", 1)
        fakes.build(tmp_path, fakes.FAKES[:1], unmeasured=False, steps=(0, 3000))
        page.wait_for_selector(".ag-row")


def test_a_checkpoint_that_appears_while_one_looks_is_there(page: Any, tmp_path: Path) -> None:
    fakes.build(tmp_path, fakes.FAKES[:1], unmeasured=False, steps=(0, 1000))
    with visiting(page, tmp_path) as address:
        page.goto(f"{address}/run?run=majority-nope-s0")
        drawn(page)
        says(page, "#step-where", "checkpoint 2 of 2")
        fakes.write_run(tmp_path, fakes.FAKES[0], (0, 1000, 3000))
        settled(page, lambda: page.inner_text("#step-where") == "checkpoint 2 of 3")
        page.get_by_role("slider", name="Training step").focus()
        page.keyboard.press("ArrowRight")
        page.wait_for_selector("#accuracy-length-body.stated")
        mentions(page, "#accuracy-length-state", "--only behaviour")
        fakes.write_rows(tmp_path / "majority-nope-s0", fakes.all_rows(fakes.FAKES[0], (3000,)))
        page.wait_for_selector("#accuracy-length-body.ready")
        settled(page, lambda: page.inner_text("#verdict-line").startswith("Scale-robust at step 3,000"))


def test_a_run_that_is_being_trained_is_seen_to_grow(page: Any, tmp_path: Path) -> None:
    fake = fakes.UNMEASURED
    path = fakes.write_run(tmp_path, fake, steps=(0, 10))
    fakes.go_on_training(path, fake, (12, 14))
    with visiting(page, tmp_path) as address:
        page.goto(f"{address}/run?run={path.name}")
        page.wait_for_selector("#rail-training")
        fakes.go_on_training(path, fake, (12, 14))  # what was written long ago is no longer training
        mentions(page, "#rail-training", "Step 14 of 3,000, training now")
        page.wait_for_selector("#loss-body.ready")
        first = points(page, "loss")
        fakes.go_on_training(path, fake, (12, 14, 40, 90))
        mentions(page, "#rail-training", "Step 90 of 3,000")
        settled(page, lambda: points(page, "loss") != first)
        mentions(page, "#status", "1 training")


def test_the_cursor_of_a_growing_run_follows_its_last_checkpoint_until_it_is_moved(page: Any, tmp_path: Path) -> None:
    fake = fakes.UNMEASURED
    path = fakes.write_run(tmp_path, fake, steps=())
    fakes.go_on_training(path, fake, (1, 2))
    with visiting(page, tmp_path) as address:
        page.goto(f"{address}/run?run={path.name}")
        settled(page, lambda: page.inner_text("#unmeasured-count") == "0 checkpoints")
        fakes.write_run(tmp_path, fake, steps=(0, 10, 100))
        settled(page, lambda: page.inner_text("#unmeasured-count") == "3 checkpoints")
        settled(page, lambda: page.inner_text("#step-value") == "100")
        says(page, "#step-where", "checkpoint 3 of 3")
        page.keyboard.press("ArrowLeft")
        settled(page, lambda: page.inner_text("#step-value") == "10" and "step=10" in page.url)
        fakes.write_run(tmp_path, fake, steps=(0, 10, 100, 1000))
        settled(page, lambda: page.inner_text("#step-where") == "checkpoint 2 of 4")
        says(page, "#step-value", "10")


def test_help_opens_and_closes(run_page: Any) -> None:
    page = run_page
    page.keyboard.press("?")
    page.wait_for_selector("text=focus a panel")
    page.keyboard.press("Escape")
    page.wait_for_selector("text=focus a panel", state="hidden")
