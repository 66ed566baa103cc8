"""A model that others trained, on every page: its verdict and curve, no panel broken."""

from __future__ import annotations

from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from tests.support.dashboard.answers import LIGHT, texts
from tests.support.models.pretrained_folders import save_folder
from workbench.dashboard import router
from workbench.dashboard.components import prose
from workbench.dashboard.components.cursorbar import bar
from workbench.dashboard.pages import compare
from workbench.dashboard.pages.all_pages import PAGES
from workbench.dashboard.pages.checkpoint import headline
from workbench.dashboard.pages.run import PAGE
from workbench.dashboard.panels.head_tables import fact_rows, head_rows
from workbench.dashboard.panels.panel_spec import Panel, PanelCursor
from workbench.dashboard.panels.render import heads, plot
from workbench.dashboard.panels.run_panels import IN_CONTEXT, IN_CONTEXT_DEEPER, MORE
from workbench.dashboard.server.context import Context
from workbench.dashboard.server.worker import Worker
from workbench.dashboard.state.cursor import default_cursor
from workbench.dashboard.state.run_kinds import TRAINED
from workbench.dashboard.state.run_summary import summarise
from workbench.dashboard.state.store import Store
from workbench.figures.labels import MISSING
from workbench.measure.request import MeasureRequest
from workbench.measure.running.plan import execute, plan
from workbench.runs.adoption.open_pretrained import Opened, open_pretrained
from workbench.tasks import make_task
from workbench.tasks.presented.presentation import presentation


@pytest.fixture(scope="module")
def context(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Context]:
    root = tmp_path_factory.mktemp("presented")
    folder = save_folder("llama", root / "weights", tokenizer=True)
    opened = Opened({1: folder}, make_task("uf", symbols=12), presentation("bare"), (4, 8))
    run = open_pretrained(opened, root / "runs" / "copy")
    only = ["behaviour.in_context", "circuits.heads", "circuits.hardmax", "circuits.in_context", "probes.in_context"]
    assert execute(plan(MeasureRequest([run.path], only=only, sequences=40, executor="serial"))) == []
    for side in ("ur", "ul"):
        opened = Opened({1: folder}, make_task(side, symbols=12), presentation("bare"), (4, 8))
        run = open_pretrained(opened, root / "runs" / side)
        only = ["behaviour.in_context", "behaviour.asymmetry"] if side == "ul" else ["behaviour.in_context"]
        assert execute(plan(MeasureRequest([run.path], only=only, sequences=40, executor="serial"))) == []
    made = Context(Store([root / "runs"]), Worker())
    yield made
    made.close()


def test_its_line_says_what_was_shown(context: Context) -> None:
    line: Any = summarise(context.store.runs()["copy"])
    assert (line["verdict"], line["slug"], line["task"]) == ("not capable", "not-capable", "uf")
    assert (line["shortestLength"], line["longestLength"]) == (4, 8)
    assert line["longest"] < 0.9
    assert line["longestTitle"] == f"{line['longestText']} {line['longestInterval']} of all answer tokens"
    assert "inside" not in line, "others trained it: there is no trained length to stand at"
    assert line["failsText"] == MISSING, "it was not capable to begin with"


def test_its_page_is_over_items_with_tokens_beside_and_nothing_about_training(context: Context) -> None:
    run = context.store.runs()["copy"]
    told = texts(router.page(context, "/run", "?run=copy")[0])
    assert "Does the model keep answering?" in told
    assert "Items" in told
    assert "Did it learn?" not in told
    assert "What causes the accuracy drop" not in told
    assert run.prompt_tokens(1) == {"4": 8, "8": 16}
    at = PanelCursor(run, default_cursor(run), extras={"axis": "times"})
    assert at.axis == "length", "items are multiples of nothing that was trained"
    for panel in IN_CONTEXT:
        drawn = panel.plain(at, "light", 11)
        assert panel.form == "heads" or "items" in drawn.layout.xaxis.title.text, panel.id
        assert ("in_items(" in panel.snippet(at)) is (panel.form != "heads"), panel.id
    behaviour, mechanism = (texts(prose.rail(run, row, at.cursor)) for row in ("behaviour", "mechanism"))
    assert "at 4 items" in behaviour
    assert "at 8 items" in behaviour
    assert f"L{at.cursor.layer}H{at.cursor.head}" in mechanism
    assert "Which heads matter, and what recovers accuracy?" in told


def test_what_a_model_was_not_asked_has_no_row(context: Context) -> None:
    told = texts(router.page(context, "/run", "?run=ur")[0])
    assert "Does the model keep answering?" in told
    assert "Which heads matter" not in told


def test_it_is_held_against_one_of_its_kind_unless_a_link_says_otherwise(context: Context) -> None:
    run, trained = (
        context.store.runs()["copy"],
        SimpleNamespace(kind=TRAINED, task="other", family="copy", name="t"),
    )
    own = context.store.runs()["ur"]
    assert compare.likeliest(run, [trained, own]) is own, "of another task, and of its kind"
    assert compare.likeliest(run, [trained]) is trained, "there is none of its kind"


def test_no_panel_counts_its_items_as_a_length(context: Context) -> None:
    run = context.store.runs()["copy"]
    at = PanelCursor(run, default_cursor(run), extras={"quantity": "behaviour.in_context|answer_accuracy"})
    said = []
    for panel in (one for one in (*IN_CONTEXT, *IN_CONTEXT_DEEPER, *MORE) if one.form != "heads"):
        meta = panel.plain(at, "light", 11).layout.meta
        said += [meta["slice"], meta["alt"]]
    assert any("at 8 items" in one for one in said), "over training, at the chosen number"
    assert not [one for one in said if "at length" in one]


def test_the_checkpoint_page_counts_items(context: Context) -> None:
    run = context.store.runs()["copy"]
    at = default_cursor(run)
    told = [texts(list(part)) for part in headline(run, at)] + [head_rows(run, at)[1], fact_rows(run, at)[1]]
    assert all(" 8 items" in one for one in told), "the sentence, the numbers behind it, the table, the facts"
    assert not [one for one in told if "length" in one]


def test_measured_with_everything_it_stands_at_the_same_items(context: Context) -> None:
    def said(store: Store) -> tuple[Any, ...]:
        run, line = store.runs()["copy"], summarise(store.runs()["copy"])
        return run.lengths, run.brief.accuracy, run.brief.failure, line["failsText"], line["shortestLength"]

    run, before = context.store.runs()["copy"], said(context.store)
    assert before[0] == (4, 8)
    assert execute(plan(MeasureRequest([run.path], only=["behaviour", "bound"], sequences=40, executor="serial"))) == []
    after = Store([run.root])
    assert after.runs()["copy"].brief.rows > run.brief.rows, "rows that say why nothing about training applies"
    assert said(after) == before
    scale = next(one for one in bar(run, default_cursor(run), ["copy"]) if getattr(one, "id", "") == "scale")
    assert scale.data["items"], "so that no number of items is said to be inside training"
    assert scale.data["lengths"] == [4, 8]


def test_every_page_opens_and_no_panel_is_broken(context: Context) -> None:
    for page in PAGES:
        content, _, _ = router.page(context, page.path, "?run=copy")
        assert "cannot be" not in texts(content), page.path
    run = context.store.runs()["copy"]
    at = PanelCursor(run, default_cursor(run), extras={"quantity": "behaviour.in_context|answer_accuracy"})
    assert "Not capable" in texts(prose.verdict(run, at.cursor))
    verdict, further = prose.headline(run, at.cursor)
    assert "Not capable" in texts(verdict)
    assert texts(further) if len(run.lengths) > 1 else not further
    prose.training(run)
    for panel in (one for one in PAGE.panels if isinstance(one, Panel)):
        draw = heads if panel.form == "heads" else plot
        for mode in ("figure", "table"):
            assert "cannot be drawn" not in texts(list(draw(panel, at, LIGHT, mode))), panel.id


def components(part: Any) -> set[str]:
    """The ids of what a page holds."""
    if isinstance(part, list | tuple):
        return set().union(*map(components, part))
    if not hasattr(part, "to_plotly_json"):
        return set()
    own = {part.id} if isinstance(getattr(part, "id", None), str) else set()
    return own | components(getattr(part, "children", None))


def test_two_of_them_are_compared_over_items_and_both_neighbours_by_pairs(context: Context) -> None:
    told = texts(router.page(context, "/compare", "?run=ur&run2=ul")[0])
    assert "Accuracy in context" in told
    assert "Decodability" not in told, "nothing that training is wanted for"
    run = context.store.runs()["ur"]
    for other, beginning in (
        ("ul", "Right minus left neighbour, pairs of sequences: "),
        ("copy", "The tasks differ: A is right neighbour, unique symbols (ur), B is copy"),
    ):
        at = PanelCursor.from_link(context.store, run, default_cursor(run), {"run2": other})
        said = texts(compare.heads_of(at, seeds=False)[-1])
        assert said.strip().startswith(beginning)
        ends = ("A is higher", "B is higher", "Equal") if other == "copy" else (" at 8 items",)
        assert any(end in said for end in ends)
        for panel in compare.IN_CONTEXT:
            draw = heads if panel.form == "heads" else plot
            assert "cannot be drawn" not in texts(list(draw(panel, at, LIGHT, "figure"))), panel.id
    for name, group in (("ul", compare.IN_CONTEXT), ("copy", compare.IN_CONTEXT)):
        drawn = components(router.page(context, "/compare", f"?run=ur&run2={name}")[0])
        assert {f"{panel.id}-mode" for panel in group} <= drawn, "panels of a group are drawn together"
        assert not {f"{panel.id}-mode" for panel in compare.PANELS} & drawn
