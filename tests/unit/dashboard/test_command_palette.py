"""What the command palette finds: every page, run, measured quantity and term, each leading to something that is there."""

from __future__ import annotations

from pathlib import Path

from tests.support.dashboard.answers import texts
from workbench.dashboard import router
from workbench.dashboard.app import create_app
from workbench.dashboard.command_palette import entries
from workbench.dashboard.components.terms import JARGON, TERMS, anchor, explain_terms
from workbench.dashboard.pages.all_pages import PAGES
from workbench.dashboard.panels.run_panels import BY_ID
from workbench.dashboard.server.context import Context
from workbench.dashboard.server.worker import Worker
from workbench.dashboard.state.store import Store
from workbench.table.wording import quantity_label


def test_pages_runs_quantities_and_terms_are_found_and_lead_somewhere(answers: Context) -> None:
    found = entries(answers)
    names = {kind: [one.name for one in found if one.kind == kind] for kind in ("Page", "Run", "Quantity", "Term")}
    assert names["Page"] == [page.name for page in PAGES]
    assert names["Run"] == list(answers.store.runs())
    assert names["Term"] == list(TERMS)
    measured = {quantity for run in answers.store.runs().values() for _, quantity in run.brief.quantities}
    known = {one["name"] for spec in answers.store.specs.values() for one in spec["quantities"]}
    assert set(names["Quantity"]) == {quantity_label(name) for name in measured & known}
    robust = next(one for one in found if one.name == "majority-nope-s0")
    assert (robust.does, robust.what) == ("go", "/run?run=majority-nope-s0")
    assert robust.hint.startswith("Scale-robust · majority of two symbols (majority) · ")
    for one in found:
        if one.does == "panel":
            panel, measurement, quantity = one.what.split("|")
            assert panel == "more-training" or quantity in BY_ID[panel].quantities
            assert any((measurement, quantity) in run.brief.quantities for run in answers.store.runs().values())
        else:
            path, _, query = one.what.partition("#")[0].partition("?")
            content, _, _ = router.page(answers, path, f"?{query}")
            assert "does not exist" not in texts(content), one


def test_a_dashboard_without_runs_finds_its_pages_and_terms(tmp_path: Path) -> None:
    context = Context(Store([tmp_path]), Worker())
    found = entries(context)
    assert {one.kind for one in found} == {"Page", "Term"}
    assert all(page.needs_run is False for page in PAGES if page.name in {one.name for one in found})


def test_the_address_gives_them(small_root: Path) -> None:
    app = create_app(small_root)
    try:
        given = app.server.test_client().get("/commands.json", headers={"Host": "127.0.0.1"})
        assert ["Run", "majority-nope-s0"] in [one[:2] for one in given.get_json()["entries"]]
    finally:
        app.server.extensions["lengthlens"].close()


def test_words_are_defined_once_and_explain_themselves_where_they_stand() -> None:
    made = explain_terms("Matched and challenge strings, refitted; nothing said of mismatched ones.")
    buttons = [one for one in made if not isinstance(one, str)]
    assert [one.children for one in buttons] == ["Matched", "challenge", "refitted"]
    assert TERMS["refit"] in getattr(buttons[2], "data-about")
    assert texts(made).replace(" ", "") == "Matchedandchallengestrings,refitted;nothingsaidofmismatchedones."
    assert set(JARGON) <= set(TERMS)
    assert len({anchor(term) for term in TERMS}) == len(TERMS)
