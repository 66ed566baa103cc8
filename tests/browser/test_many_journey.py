"""Many runs at once, in a real browser: configurations compared, every run a dot of its cell, views kept, figures for papers."""

from __future__ import annotations

import json
import re
import struct
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from tests.support.dashboard import fakes
from tests.support.dashboard.browsing import counts, dashboard, drawn, mentions, needs_browser, points, says, settled

pytestmark = needs_browser

STEPS = (0, 1500, 3000)


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two seeds of one configuration, and three of one seed."""
    made = tmp_path_factory.mktemp("runs")
    alibi = replace(fakes.FAKES[0], name="majority-alibi-s0", positions="alibi")
    for fake in (*fakes.FAKES, alibi):
        fakes.write_rows(fakes.write_run(made, fake, STEPS), fakes.all_rows(fake, STEPS))
    return made


@pytest.fixture(scope="module")
def here(root: Path) -> Iterator[str]:
    with dashboard(root) as address:
        yield address


def pick(page: Any, names: Sequence[str], then: str) -> None:
    """Check runs' boxes, at the pace of a person.

    The grid takes a click back that comes while it hands on the one before, and on a busy machine that takes long.
    """
    rows = page.locator(".ag-center-cols-container .ag-row")
    boxes = [rows.filter(has_text=name).locator("input[type=checkbox]") for name in names]

    def picked() -> bool:
        for box in boxes:
            if not box.is_checked():
                box.click()
                page.wait_for_timeout(300)
        return bool(page.inner_text("#compare-picked") == then)

    settled(page, picked)


def test_configurations_picked_among_the_runs_are_compared_and_another_is_added(page: Any, here: str) -> None:
    page.goto(f"{here}/?seeds=1")
    counts(page, ".ag-row", 4)
    said = ("Pick another to compare", "Compare the two", "Compare 3 configurations")
    wanted = ("majority-nope", "flip_flop-rotary-s0", "parity-nope-s0")
    for count, then in enumerate(said, 1):
        pick(page, wanted[:count], then)
    page.click("#compare-picked")
    drawn(page, 4)
    link = f"{here}/compare?run=majority-nope-s0&configs=flip_flop-rotary-s0|parity-nope-s0"
    settled(page, lambda: page.url.replace("%7C", "|") == link)
    names = page.locator(".many-table tbody th")
    settled(page, lambda: names.all_inner_texts() == ["majority-nope", "flip_flop-rotary-s0", "parity-nope-s0"])
    before = points(page, "many-accuracy")

    page.click("#many-select")
    page.get_by_role("option", name="majority-alibi-s0").click()
    settled(page, lambda: names.count() == 4 and "majority-alibi-s0" in page.url)
    drawn(page, 4)
    settled(page, lambda: points(page, "many-accuracy") != before)
    page.get_by_role("slider", name="Prefix length").focus()
    page.keyboard.press("End")
    mentions(page, ".many-table", "Matched, at 8 \u00d7 N")
    page.reload()
    drawn(page, 4)
    settled(page, lambda: names.count() == 4)

    page.click("text=Two runs")
    drawn(page, 9)
    page.click("text=More")
    drawn(page, 4)
    page.goto(f"{link}|of-nowhere")
    drawn(page, 4)
    mentions(page, "#banner", "names the run of-nowhere, which is not in this folder")


def test_a_dot_of_a_cell_names_its_run_and_opens_it_at_any_share_of_training(page: Any, here: str) -> None:
    page.goto(f"{here}/sweep?x=model.positions.name&y=task.name")
    page.wait_for_selector("#phase-body.ready")
    counts(page, "#phase-graph .scatterlayer .point", 5)
    mentions(page, "#phase-slice", "open: not fitted")
    step = page.get_by_role("slider", name="Training step")
    page.locator("#sweep-pace").get_by_text("share", exact=True).click()
    step.focus()
    page.keyboard.press("ArrowLeft")
    settled(page, lambda: "1/2 of training" in page.inner_text("#phase-slice") and "step=1/2" in page.url)
    page.reload()
    page.wait_for_selector("#phase-body.ready")
    mentions(page, "#phase-slice", "1/2 of training")

    box = page.locator("#phase-graph .scatterlayer .point").first.bounding_box()
    place = (box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    page.mouse.move(*place)
    settled(page, lambda: page.locator("#phase-graph .hoverlayer text").count() > 0)
    named = page.locator("#phase-graph .hoverlayer text").first.text_content()
    page.mouse.click(*place)
    settled(page, lambda: "/run?run=" in page.url)
    assert page.url.partition("run=")[2] in named


def test_a_figure_for_a_paper_has_the_size_of_its_column_and_its_fonts_inside(page: Any, here: str) -> None:
    page.goto(f"{here}/run?run=majority-nope-s0")
    page.wait_for_selector("#accuracy-length-body.ready")

    def saved(item: str) -> tuple[str, bytes]:
        page.click("#accuracy-length-panel .menu-button")
        with page.expect_download() as taken:
            page.get_by_role("menuitem", name=item, exact=True).click()
        return taken.value.suggested_filename, Path(taken.value.path()).read_bytes()

    name, svg = saved("SVG, 3.25 in")
    assert name == "majority-nope-s0-accuracy-length-single.svg"
    drawn_here = ElementTree.fromstring(svg)
    lines = svg.count(b'font-size="9"')
    assert (drawn_here.get("width"), drawn_here.get("viewBox")) == ("3.25in", f"0 0 312 {234 + 12 * lines}")
    assert lines
    assert re.search(rb">majority-nope-s0 \xc2\xb7 step [\d,]+ \xc2\xb7 n = ", svg)
    assert svg.count(b"src:url(data:font/woff2;base64,") == 2
    assert b">Accuracy</text>" in svg
    assert b"prefix length, \xc3\x97 trained" in svg
    name, png = saved("PNG, 6.75 in")
    assert struct.unpack(">2I", png[16:24]) == (
        4050,
        2106,
    )  # 600 a printed inch; 307 + 18 + 12 pixels of 96 an inch high
    name, pdf = saved("PDF, 3.25 in")
    assert name == "majority-nope-s0-accuracy-length-single.pdf"
    streams = re.findall(rb"stream\r?\n(.*?)\r?\nendstream", pdf, re.DOTALL)
    text = pdf + b"".join(zlib.decompress(one) for one in streams if one.startswith(b"x"))
    high = 175.5 + 9 * lines
    assert re.search(rb"/MediaBox ?\[0 0 234 %d\.\d+\]" % high, text), "3.25 inches of 72 points"
    assert set(re.findall(rb"\+(Inter-\w+)", text)) == {b"Inter-Regular", b"Inter-SemiBold"}
    assert b"/FontFile2" in text
    assert b"/Type3" not in text, "journals refuse such fonts"
    name, tex = saved("LaTeX")
    assert name.endswith(".tex")
    assert tex.startswith(b"% Accuracy")


def test_a_view_is_saved_under_a_name_opened_and_deleted(page: Any, here: str, root: Path) -> None:
    page.goto(f"{here}/?where=model.positions.name%3Dalibi")
    says(page, "#shown", "1 of 5 runs")
    page.click("#views-open")
    mentions(page, "#views-list", "None yet")
    page.fill("#views-name", "ALiBi alone")
    page.click("text=Save this view")
    settled(page, lambda: page.inner_text("#views-said").startswith("Saved ALiBi alone"))
    (kept,) = (root / "views").iterdir()
    assert json.loads(kept.read_text())["link"].startswith("/?where=model.positions.name%3Dalibi")
    (root / "views" / "odd.json").write_bytes(b"\xff")

    page.goto(f"{here}/sweep")
    page.wait_for_selector("#phase-body.ready")
    page.click("#views-open")
    mentions(page, "#views-list", "odd.json is no saved view")
    page.click("#views-list a")
    says(page, "#shown", "1 of 5 runs")
    page.click("#views-open")
    page.click("#views-list [data-view-delete]")
    settled(page, lambda: page.inner_text("#views-said") == "Deleted ALiBi alone.")
    assert [path.name for path in (root / "views").iterdir()] == ["odd.json"]
