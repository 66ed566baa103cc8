"""What the server answers, asked directly: pages, rows, panels, words."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import plotly.graph_objects as go
import pytest
from dash import no_update

from tests.support.dashboard.answers import LIGHT, texts
from workbench.dashboard import router
from workbench.dashboard.components import prose
from workbench.dashboard.components.cursorbar import bar
from workbench.dashboard.components.slider_curves import ribbon, verdict_at
from workbench.dashboard.pages.all_pages import PAGES
from workbench.dashboard.pages.base import FreePage
from workbench.dashboard.pages.cursor_page import CursorPage, run_version
from workbench.dashboard.pages.runs import lines, summary
from workbench.dashboard.panels.callbacks import cursor_of
from workbench.dashboard.panels.panel_spec import PanelCursor
from workbench.dashboard.panels.panel_updates import drawing
from workbench.dashboard.panels.render import READY, STATE, TABLE, heads, plot, render_panel
from workbench.dashboard.panels.run_panels import BY_ID, PANELS
from workbench.dashboard.server.context import Context
from workbench.dashboard.server.worker import Worker
from workbench.dashboard.state.cursor import Cursor, parse
from workbench.dashboard.state.filters import FILTER_KEYS, Filters, write_filters
from workbench.dashboard.state.run_summary import matches
from workbench.dashboard.state.run_view import RunView
from workbench.dashboard.state.store import Store
from workbench.dashboard.state.sweep_query import SWEEP_KEYS, SweepQuery
from workbench.dashboard.state.theory_match import subject
from workbench.figures.style.template import u_length, u_step


def ids(component: Any) -> list[str]:
    """All component ids of a tree, in order."""
    if isinstance(component, (list, tuple)):
        return [i for child in component for i in ids(child)]
    if component is None or isinstance(component, str):
        return []
    own = [component.id] if getattr(component, "id", None) else []
    return own + ids(getattr(component, "children", None))


# ---- pages ---------------------------------------------------------------------------------------
def test_the_run_page_has_every_panel_once(answers: Context) -> None:
    content, nav, here = router.page(answers, "/run", "?run=majority-nope-s0&step=1000")
    found = ids(content)
    assert len(found) == len(set(found))
    assert {f"{panel.id}-panel" for panel in PANELS} | {"cursorbar"} <= set(found)
    assert [link.children for link in nav] == [page.name for page in PAGES]
    assert [link.children for link in nav if getattr(link, "aria-current", "")] == ["Run"]
    assert here == {"run": "majority-nope-s0", "title": "majority-nope-s0 · LengthLens", "waits": False}


def test_a_stale_link_is_said_on_the_page(answers: Context) -> None:
    content, _, _ = router.page(answers, "/run", "?run=majority-nope-s0&step=1700")
    assert "This link names step 1,700, which majority-nope-s0 does not have." in texts(content)


@pytest.mark.parametrize(
    ("path", "search", "said"),
    [
        ("/run", "?run=nothing", "names the run nothing"),
        ("/run", "", "names no run"),
        ("/nowhere", "", "names the page /nowhere"),
    ],
)
def test_a_link_to_nowhere_shows_all_runs_and_says_so(answers: Context, path: str, search: str, said: str) -> None:
    content, _, here = router.page(answers, path, search)
    assert said in texts(content)
    assert "grid" in ids(content)
    assert here["run"] == ""


def test_an_unmeasured_run_says_what_would_measure_it(answers: Context) -> None:
    content, _, here = router.page(answers, "/run", "?run=majority-learned-s0")
    assert "lengthlens measure" in texts(content)
    assert {f"{panel.id}-panel" for panel in PANELS} & set(ids(content)) == {"loss-panel"}
    assert here["waits"]
    assert not router.has_arrived(answers, here)


def test_an_empty_folder_shows_the_commands_and_only_one_page(tmp_path: Path) -> None:
    answers = Context(Store([tmp_path]), Worker())
    content, nav, here = router.page(answers, "/", "")
    assert "lengthlens gallery" in texts(content)
    assert "lengthlens train majority --out" in texts(content)
    assert "lengthlens app FOLDER" in texts(content)
    assert "Does a model keep working on" in texts(content)
    assert [link.children for link in nav] == ["Runs"]
    assert here["waits"]


def test_polling_says_nothing_new_until_something_is(answers: Context) -> None:
    version, status, _ = router.poll(answers, None)
    assert status == "3 runs · "
    assert router.poll(answers, version)[0] is no_update
    known = answers.store.version("majority-nope-s0")
    assert run_version(answers, "majority-nope-s0", *known) == (no_update, no_update)
    assert run_version(answers, "majority-nope-s0", "old", known[1]) == (known[0], no_update)


# ---- Runs ----------------------------------------------------------------------------------------
def test_lines_hold_the_last_verdict_and_its_evidence(answers: Context) -> None:
    rows = {row["name"]: row for row in lines(answers, Filters())["rows"]}
    robust, coupled, bare = (rows[n] for n in ("majority-nope-s0", "flip_flop-rotary-s0", "majority-learned-s0"))
    assert (robust["verdict"], robust["failsText"], robust["since"]) == ("scale-robust", "> 400", 1000)
    assert (coupled["verdict"], coupled["failed"]) == ("length-coupled", True)
    assert coupled["longest"] < 0.6 < 0.9 < coupled["inside"]
    assert robust["longestText"] == "1.00"
    assert robust["summary"] > 0.9 > 0.3 > robust["position"]
    assert (bare["verdict"], "strip" in bare) == ("not measured", False)
    assert bare["command"].startswith("lengthlens measure ")


def test_filters_keep_what_they_name(answers: Context) -> None:
    def names(**chosen: str) -> set[str]:
        return {row["name"] for row in lines(answers, Filters(**chosen))["rows"]}

    assert names(verdict="length-coupled") == {"flip_flop-rotary-s0"}
    assert names(task="majority") == {"majority-nope-s0", "majority-learned-s0"}
    assert names(positions="rotary") == {"flip_flop-rotary-s0"}
    assert names(text="MORE 1s no") == {"majority-nope-s0", "majority-learned-s0"}
    assert names(text="more no positions") == {"majority-nope-s0"}
    assert names(text="nothing of the kind") == set()


def test_cards_count_under_the_other_filters(answers: Context) -> None:
    made = lines(answers, Filters(verdict="scale-robust", task="flip_flop"))
    assert made["rows"] == []
    counts = {card.to_plotly_json()["props"]["data-verdict"]: texts(card) for card in made["cards"]}
    assert counts["length-coupled"].split()[0] == "1"
    assert counts["scale-robust"].split()[0] == "0"
    assert made["shown"] == "0 of 3 runs"
    assert made["link"]["href"] == "/?verdict=scale-robust&task=flip_flop"


def test_counts_ignore_the_verdict_filter_only() -> None:
    row = {
        "name": "a",
        "question": "",
        "task": "t",
        "taskLabel": "t",
        "verdict": "undecided",
        "positions": "p",
        "order": "p",
    }
    row |= {"note": "", "tags": []}
    assert matches(row, Filters(verdict="not fitted"), verdict=False)
    assert not matches(row, Filters(verdict="not fitted"))


# ---- Run -----------------------------------------------------------------------------------------
@pytest.mark.parametrize("panel", [one for one in PANELS if one.form == "graph"], ids=lambda p: p.id)
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_every_panel_draws(answers: Context, robust: RunView, cursor: Cursor, panel: Any, theme: str) -> None:
    figure, table, state, said, alt, body = plot(
        panel, PanelCursor(robust, cursor), {"theme": theme, "size": 12}, "figure"
    )
    assert isinstance(go.Figure(figure), go.Figure)
    assert (table, state, body) == ([], [], READY)
    assert said
    assert len(alt) > 20


@pytest.mark.parametrize("panel", PANELS, ids=lambda p: p.id)
def test_every_panel_has_a_table(answers: Context, robust: RunView, cursor: Cursor, panel: Any) -> None:
    made = render_panel(panel, PanelCursor(robust, cursor), LIGHT, "table")
    assert TABLE in made
    assert f"{len(panel.data(PanelCursor(robust, cursor))):,} rows" in texts(made[2 if panel.id == "head-grid" else 1])


@pytest.mark.parametrize("panel", PANELS, ids=lambda p: p.id)
def test_a_snippet_draws_the_same_figure(robust: RunView, cursor: Cursor, panel: Any) -> None:
    scope: dict[str, Any] = {}
    *lines, last = panel.snippet(PanelCursor(robust, cursor)).strip().splitlines()
    exec("\n".join([*lines, f"made = {last}"]), scope)
    drawn = panel.draw(PanelCursor(robust, cursor), "light", 11, line=True)
    # a run opened on its own is called by its folder, inside a root by its path below it: here the same
    assert json.loads(scope["made"].to_json())["data"] == json.loads(drawn.to_json())["data"]


def test_a_panel_without_rows_names_the_folder_and_the_command(answers: Context, cursor: Cursor) -> None:
    bare = answers.store.run("majority-learned-s0")
    assert bare is not None
    _, _, state, _, _, body = plot(BY_ID["accuracy-training"], PanelCursor(bare, cursor), LIGHT, "figure")
    assert body == STATE
    assert "measurements/" in texts(state)
    assert "--only behaviour" in texts(state)


def test_a_panel_is_drawn_once_per_place(answers: Context, robust: RunView, cursor: Cursor) -> None:
    panel = BY_ID["accuracy-length"]
    first = drawing(panel, PanelCursor(robust, cursor), LIGHT)
    moved = Cursor(cursor.run, cursor.step, 5, 1, 2)
    assert drawing(panel, PanelCursor(robust, moved), LIGHT) is first
    other = drawing(panel, PanelCursor(robust, Cursor(cursor.run, 3000, 5)), LIGHT)
    assert other.values[0].json != first.values[0].json


def test_a_step_move_leaves_the_first_column_alone() -> None:
    assert all("step" not in panel.needs for panel in PANELS if panel.column == "training")
    assert all("length" not in panel.needs for panel in PANELS if panel.column == "length")
    assert all("step" in panel.needs for panel in PANELS if panel.column == "cursor")


def test_the_head_grid_marks_the_chosen_head(answers: Context, robust: RunView, cursor: Cursor) -> None:
    cells, style, _, _, said, body = heads(BY_ID["head-grid"], PanelCursor(robust, cursor), LIGHT, "figure")
    buttons = [c.to_plotly_json()["props"] for c in cells if type(c).__name__ == "Button"]
    assert [b["data-pick-head"] for b in buttons if b["aria-pressed"] == "true"] == ["0.1"]
    assert len(buttons) == 8
    assert "repeat(4," in style["gridTemplateColumns"]
    assert (said, body) == ("line: length", READY)


def test_the_sentence_speaks_of_the_cursor(robust: RunView) -> None:
    at = Cursor(robust.name, 3000, 200)
    assert texts(prose.verdict(robust, at)).startswith("Scale-robust  at step 3,000")
    assert texts(prose.verdict(robust, Cursor(robust.name, 0, 200))).startswith("Not fitted")
    assert "transformer 2 layers, 4 heads, no positions" in texts(prose.meta(robust))
    assert prose.rail(robust, "mechanism", at) != prose.rail(robust, "mechanism", Cursor(robust.name, 0, 200))


def test_an_unmeasured_checkpoint_has_a_stretch_of_its_own(robust: RunView) -> None:
    run = replace(robust, steps=(*robust.steps, 2000))
    before, after = (ribbon(one, 0.0, 11.55) for one in (robust, run))
    assert "--sunken" not in before
    (stretch,) = re.findall(r"var\(--sunken\) ([\d.]+)% ([\d.]+)%", after)
    u = [u_step(step) / 11.55 * 100 for step in (1500, 2000, 3000)]
    assert [float(edge) for edge in stretch] == pytest.approx([(u[0] + u[1]) / 2, (u[1] + u[2]) / 2], abs=0.02)


def test_while_theory_is_asked_that_does_not_look_like_no_claim(answers: Context, robust: RunView) -> None:
    known: dict[str, Any] = {}
    asked = replace_known(answers, known)
    said = json.dumps(subject(robust), sort_keys=True)
    assert summary(asked, robust)["expects"] == "asking \u2026"
    assert "theory" not in summary(asked, robust)
    for verdict, reason, expects, theory in (
        ("open", "", "no claim", "open"),
        ("guaranteed", "", "as observed", "guaranteed"),
        ("", "", "not known", ""),
        ("", "not run: a file", "not run", "a file"),
    ):
        known[said] = {"verdict": verdict, "reason": reason}
        line = summary(asked, robust)
        assert (line["expects"], line["theory"]) == (expects, theory)
    known[said] = {"verdict": ""}  # the worker failed
    assert summary(asked, robust)["expects"] == "not known"


def replace_known(answers: Context, known: dict[str, Any]) -> Context:
    """The same answers, knowing of theory what is given."""
    made = Context(answers.store, answers.worker)
    made.expectations._known = known
    return made


def test_the_ribbon_changes_where_the_verdict_does(robust: RunView) -> None:
    gradient = ribbon(robust, 0.0, 11.55)
    assert gradient.index("--ribbon-unfitted") < gradient.index("--summary")
    assert verdict_at(robust, 0) == "not fitted"
    assert verdict_at(robust, 12345) == "not measured"


def test_the_bar_offers_every_head_and_marks_every_checkpoint(robust: RunView, cursor: Cursor) -> None:
    parts = {c.id: c for c in _walk(bar(robust, cursor, ["majority-nope-s0"])) if getattr(c, "id", None)}
    assert [option["value"] for option in parts["head-select"].data][-1] == "1.3"
    assert len(parts["step-slider"].marks) == len(robust.steps)
    assert parts["scale"].data["at"] == {"step": 1000, "length": 200, "head": "0.1"}
    trained = [mark for mark in parts["length-slider"].marks if mark.get("label") == "1"]
    assert [mark["value"] for mark in trained] == [u_length(50)]
    assert [mark["label"] for mark in parts["length-slider"].marks if "label" in mark][-1] == "8"
    tokens = bar(robust, cursor, ["majority-nope-s0"], axis="length")
    (slider,) = [c for c in _walk(tokens) if getattr(c, "id", None) == "length-slider"]
    assert {"50", "400"} <= {mark["label"] for mark in slider.marks if "label" in mark}


def _walk(component: Any) -> Any:
    if isinstance(component, (list, tuple)):
        for child in component:
            yield from _walk(child)
    elif component is not None and not isinstance(component, str):
        yield component
        yield from _walk(getattr(component, "children", None))


def test_stores_become_a_cursor() -> None:
    assert cursor_of("r", 100, 50, "1.3", "score", 2) == Cursor("r", 100, 50, 1, 3, "score", 2)


@pytest.mark.parametrize("path", [page.path for page in PAGES if isinstance(page, CursorPage)])
def test_what_a_page_does_not_know_of_its_link_is_said(answers: Context, path: str) -> None:
    run = "?run=majority-nope-s0&step=1000&len=100&axis=length&view=score&sample=2"
    assert "This link" not in texts(router.page(answers, path, run)[0])
    told = texts(router.page(answers, path, f"{run}&colour=red&{'x' * 50}=1&sample=-1")[0])
    assert f"This link contains \u201ccolour\u201d, \u201c{'x' * 40}\u201d, which the page " in told
    assert "names the sample \u201c-1\u201d, which is not a whole number of 0 or more." in told


OWN_LINKS = {
    "/": write_filters(
        Filters("length-coupled", "majority", "none", "s0", "1", "hold", "", (("model.n_layers", "2"),))
    ).lstrip("/"),
    "/sweep": "?quantity=behaviour|accuracy|matched||teacher_forced&x=task.name&y=seeds.init&step=1/2&len=2x&fix=&over=max",
    "/theory": "?run=majority-nope-s0&step=1000&len=100&layer=0&head=1&axis=length",
    "/claims": "?suite=text&verdict=holds&paper=Huang+et+al.+2024&filter=tomita&claim=HF04",
    "/glossary": "?quantity=accuracy",
}
"""A link to each page that is not under the bar, with every word that the page itself writes."""


@pytest.mark.parametrize("path", [page.path for page in PAGES if isinstance(page, FreePage)])
def test_what_a_free_page_does_not_know_of_its_link_is_said(answers: Context, path: str) -> None:
    own = OWN_LINKS[path]
    assert "does not know" not in texts(router.page(answers, path, own)[0])
    told = texts(router.page(answers, path, f"{own}&colour=red")[0])
    assert told.count("This link contains \u201ccolour\u201d, which the page ") == 1


def test_a_link_that_led_astray_is_told_by_one_notice(answers: Context) -> None:
    told = texts(router.page(answers, "/theory", "?run=nothing&colour=red")[0])
    assert "names the run nothing" in told
    assert "does not know" not in told


def test_pages_know_every_word_that_they_write() -> None:
    """The words of links are named once for reading and once for writing."""
    every = Filters("v", "t", "p", "x", "1", "hold", "g", (("a", "b"),), "s")
    assert set(parse(write_filters(every)[1:])) == set(FILTER_KEYS)
    asked = SweepQuery(("m", "q", "", "", ""), "x", "y", 7, 8, fixed=(("a", "b"),), over="max")
    assert set(asked.address_parts()) == set(SWEEP_KEYS)
