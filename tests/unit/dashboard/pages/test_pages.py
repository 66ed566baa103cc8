"""Compare, Sweep, Theory and Glossary without a browser: what a link means, what a panel exports, what snippets draw."""

from __future__ import annotations

import dataclasses
import io
import json
import re
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from flask.testing import FlaskClient

from tests.support.dashboard.answers import LIGHT, texts
from tests.support.dashboard.pages import (
    OWN,
    A,
    B,
    at,  # noqa: F401 - fixtures
)
from workbench import dashboard
from workbench.dashboard import measure_now, router
from workbench.dashboard.app import create_app, serve
from workbench.dashboard.components import sweepbar
from workbench.dashboard.downloads import panels
from workbench.dashboard.pages import compare, compare_many, sweep, theory
from workbench.dashboard.panels import panel_frame, run_panels
from workbench.dashboard.panels.panel_spec import Panel, PanelCursor
from workbench.dashboard.panels.prefetch import Prefetch
from workbench.dashboard.panels.render import STATE, plot
from workbench.dashboard.panels.run_panels import PANELS
from workbench.dashboard.server.context import Context
from workbench.dashboard.server.worker import Job
from workbench.dashboard.state.cursor import Cursor, default_step
from workbench.dashboard.state.run_view import RunView

LINK = f"run={A}&run2={B}&configs={B}&step=1000&len=100&quantity=circuits.hardmax|margin"
HOSTILE = ("../../etc/passwd", "<script>alert(1)</script>", "a|b|c", "%00", "-1", "9" * 400, "\u202e")


@pytest.fixture(scope="module")
def client(small_root: Path) -> Iterator[FlaskClient]:
    app = create_app(small_root)
    yield app.server.test_client()
    app.server.extensions["lengthlens"].close()


@pytest.mark.parametrize("when", [{}, {"step": "1000"}, {"step": "1/2"}])
def test_the_snippet_of_a_phase_diagram_draws_the_same(answers: Context, when: dict[str, str]) -> None:
    asked = {"x": "model.positions.name", "y": "task.name", "len": "100", **when}
    scope: dict[str, Any] = {}
    *lines, last = sweep.PHASE.code(answers, asked).strip().splitlines()
    exec("\n".join([*lines, f"made = {last}"]), scope)
    drawn = sweep.PHASE.figure(answers, asked, "light", 11)
    assert json.loads(scope["made"].to_json())["data"] == json.loads(drawn.to_json())["data"]


@pytest.mark.parametrize("name", [panel.id for panel in OWN] + ["phase"])
def test_csv_and_parquet_hold_the_same_rows(client: FlaskClient, name: str) -> None:
    csv = client.get(f"/data/{name}.csv?{LINK}")
    parquet = client.get(f"/data/{name}.parquet?{LINK}")
    assert (csv.status_code, parquet.status_code) == (200, 200), csv.data[:200]
    first, second = pd.read_csv(io.BytesIO(csv.data)), pd.read_parquet(io.BytesIO(parquet.data))
    assert list(first) == list(second)
    assert len(first) == len(second) > 0
    assert first["value"].tolist() == pytest.approx(second["value"].tolist(), nan_ok=True)


def test_each_side_of_compare_shows_its_own_run(at: PanelCursor) -> None:
    named = {panel.id: set(panel.data(at)["run"]) for panel in compare.PANELS if panel.form == "graph"}
    assert named["cmp-accuracy-a"] == {A}
    assert named["cmp-accuracy-b"] == {B}
    assert named["cmp-accuracy-d"] == {f"{A} \u2212 {B}"}


def test_b_stands_where_a_does_by_one_rule(answers: Context) -> None:
    """Last against last; else the same share or step, or the nearest earlier one; equal lengths, never a shorter one."""
    a, b = answers.store.run(A), answers.store.run(B)
    assert a is not None
    assert b is not None
    short = dataclasses.replace(b, steps=(0, 100, 800), brief=dataclasses.replace(b.brief, steps=(0, 100, 800)))

    def beside(step: int, length: int, pairing: str = "step") -> tuple[int, int]:
        cursor = PanelCursor(a, Cursor(A, step, length), short, extras={"steps": pairing}).other_side.cursor
        return cursor.step, cursor.length

    last = default_step(a)
    assert last == 3000
    assert [beside(last, 400, pairing) for pairing in ("step", "")] == [(800, 400)] * 2
    assert beside(1000, 100) == (800, 100)
    assert beside(100, 100) == (100, 100)
    whole = dataclasses.replace(a, brief=dataclasses.replace(a.brief, steps=(0, 384, 1500, 3000)))
    where = [PanelCursor(whole, Cursor(A, step, 100), short) for step in (0, 384, 1500)]
    # 384 of 3,000 is .128, beside .125, 100 of 800; B has nothing near .5, so its nearest earlier step stands there, and is told
    assert [one.other_side.cursor.step for one in where] == [0, 100, 100]
    said = [compare.other_step(one, one.other_side) for one in where[1:]]
    assert said[0] == " Same share of training, within a quarter: A at step 384 (0.13), B at step 100 (0.12)."
    assert said[1].startswith(" B has no checkpoint near this share of training: A at step 1,500 (0.50)")
    sparse = dataclasses.replace(short, brief=dataclasses.replace(short.brief, lengths=(25, 50, 64, 200)))
    at = PanelCursor(a, Cursor(A, last, 100), sparse)
    assert at.other_side.cursor.length == 100  # B has nothing there, and says so; 64 does not stand in for it
    assert at.values["length_b"] == 100
    assert where[1].lines_beside == {"step": 100, "length": 100}


def test_the_run_offered_beside_another_is_another_seed_or_else_the_opposite_verdict(answers: Context) -> None:
    robust = answers.store.runs()[A]
    assert robust.brief.verdicts[default_step(robust)] == "scale-robust"

    def like(name: str, verdict: str = "", d_model: int = 0, task: str = "") -> RunView:
        config = json.loads(json.dumps(robust.config))
        config["model"]["d_model"] += d_model
        config["task"]["name"] = task or config["task"]["name"]
        verdicts = {**robust.brief.verdicts, default_step(robust): verdict or "scale-robust"}
        run = dataclasses.replace(robust.run, name=name, config=config)
        return dataclasses.replace(robust, run=run, brief=dataclasses.replace(robust.brief, verdicts=verdicts))

    seed, alike, apart = like("seed"), like("alike", d_model=1), like("apart", "length-coupled", 2)
    other = like("other", "length-coupled", task="parity")
    assert (seed.family, seed.task) == (robust.family, robust.task)
    assert alike.family != robust.family
    offered = [compare.likeliest(robust, given).name for given in (
        [other, alike, apart, seed], [other, alike, apart], [other, alike], [other], [],
    )]  # fmt: skip
    assert offered == ["seed", "apart", "alike", "other", A]


def test_both_accuracies_have_one_colour_range(at: PanelCursor) -> None:
    panels_ = {panel.id: panel for panel in compare.PANELS}
    ranges = set()
    for side in "ab":
        cells = next(t for t in panels_[f"cmp-accuracy-{side}"].draw(at, "light", 11).data if t.name == "cells")
        ranges.add((cells.zmin, cells.zmax))
    assert len(ranges) == 1


def test_the_second_run_of_a_stale_link_is_replaced_and_said(answers: Context) -> None:
    content, _, _ = router.page(answers, "/compare", f"?run={A}&run2=nothing")
    assert "names the second run nothing, which is not in this folder" in texts(content)
    extras, notices = compare.check(answers, answers.store.runs()[A], {"run2": "", "seeds": ""})
    assert extras["run2"] == B
    assert notices == []
    extras, notices = compare.check(answers, answers.store.runs()[A], {"run2": B, "steps": "moons"})
    assert extras["steps"] == ""
    assert "pairs checkpoints by \u201cmoons\u201d" in notices[0].asked


@pytest.mark.parametrize("value", HOSTILE)
@pytest.mark.parametrize(
    "link",
    [
        "/compare?run={0}",
        f"/compare?run={A}&run2={{0}}&seeds={{0}}&steps={{0}}",
        f"/run?run={A}&step={{0}}&len={{0}}&layer={{0}}&head={{0}}&quantity={{0}}&view={{0}}",
        "/sweep?quantity={0}&x={0}&y={0}&step={0}&len={0}&over={0}",
        "/theory?run={0}",
        "/glossary?quantity={0}",
        "/?task={0}&verdict={0}",
        "/{0}",
    ],
)
def test_no_link_makes_a_page_fail(answers: Context, link: str, value: str) -> None:
    path, _, search = link.format(value).partition("?")
    content, nav, here = router.page(answers, path, f"?{search}")
    assert content
    assert nav
    assert here["title"].endswith("LengthLens")


@pytest.mark.parametrize("value", HOSTILE)
def test_no_export_reads_outside_the_folder_or_fails(client: FlaskClient, value: str) -> None:
    for name in [*panels(), value]:
        answer = client.get(
            f"/data/{name}.csv", query_string={"run": value, "run2": value, "quantity": value, "x": value}
        )
        assert answer.status_code in (200, 308, 404)
        assert b"Traceback" not in answer.data
        assert b"root:" not in answer.data


def test_what_a_sweep_link_names_and_no_run_has_is_said(answers: Context) -> None:
    content, _, _ = router.page(answers, "/sweep", "?x=model.wings&len=7&over=sum&quantity=a|b|c|d|e")
    said = texts(content)
    for part in ("the axis model.wings", "length 7", "\u201csum\u201d over layers and heads", "the quantity a|b|c|d|e"):
        assert f"This link names {part}, which no run here has." in said


def test_a_sweep_is_restored_from_its_own_link(answers: Context) -> None:
    choices = sweep.Choices(answers.store)
    asked = {
        "quantity": "circuits.hardmax|margin|matched||",
        "x": "task.name",
        "y": "model.positions.name",
        "step": "1000",
    }
    made, notices = sweep.read(asked | {"len": "100", "over": "max"}, choices)
    assert notices == []
    assert sweep.read(made.address_parts(), choices) == (made, [])


@pytest.mark.parametrize(
    ("asked", "said", "step"),
    [
        ({"step": "1200"}, "step 1,200", 1000),
        ({"step": "-3"}, "step \u22123", 0),
        ({"step": "soon"}, "step \u201csoon\u201d", None),
        ({"len": "far"}, "length \u201cfar\u201d", None),
    ],
)
def test_a_stop_that_no_slider_has_becomes_a_notice(
    answers: Context, asked: dict[str, str], said: str, step: int | None
) -> None:
    made, notices = sweep.read(asked, sweep.Choices(answers.store))
    assert [notice.asked for notice in notices] == [f"This link names {said}, which no run here has."]
    assert made.step == step


def test_the_step_slider_ends_at_each_runs_last(answers: Context) -> None:
    choices = sweep.Choices(answers.store)
    scale = sweepbar.step_scale(choices.steps, choices.last)
    assert scale["values"] == [*choices.steps, None]
    assert scale["places"] == sorted(scale["places"])
    assert (scale["texts"][-1], scale["where"][-1]) == ("each run\u2019s last", "step 3,000")
    assert sweepbar.step_scale([0, 100], (0, 100))["where"][-1] == "steps 0 to 100"


def test_the_step_slider_stops_at_shares_of_each_runs_training(answers: Context) -> None:
    """Checkpoints at 0, 100, 1,000, 1,500 and 3,000: near 1/32 (100) and 1/2; 1,000 is no quarter and no half."""
    choices = sweep.Choices(answers.store)
    assert choices.step_stops(True) == ["1/32", "1/2"]
    scale = sweepbar.step_scale(choices.step_stops(True), choices.last)
    assert (scale["values"], scale["places"]) == (["1/32", "1/2", None], [-5.0, -1.0, 0.0])
    assert scale["texts"][1:] == ["1/2", "each run\u2019s last"]
    made, notices = sweep.read({"step": "1/2"}, choices)
    assert (made.step, made.share, made.step_stop, notices) == (None, 0.5, "1/2", [])
    assert made.address_parts()["step"] == "1/2"
    half, step = (sweep.PHASE.rows(answers, {"step": at, "x": "task.name"}) for at in ("1/2", "1500"))
    assert half["members"].tolist() == step["members"].tolist()
    assert "step 1,500" in half["members"][0]
    assert [n.asked for n in sweep.read({"step": "1/3"}, choices)[1]] == [
        "This link names step \u201c1/3\u201d, which no run here has."
    ]


def test_lengths_are_held_against_what_all_runs_and_what_some_were_trained_on() -> None:
    said = [sweepbar.beyond(n, (50, 160)) for n in (50, 64, 400, 4000)]
    wanted = ["inside training", "inside training of some", "2.5 to 8 \u00d7 trained", "25 to 80 \u00d7 trained"]
    assert said == wanted
    assert sweepbar.beyond(400, (50, 50)) == "8 \u00d7 trained"


def test_a_quantity_without_lengths_has_a_slider_that_stands_still() -> None:
    still = sweepbar.length_scale([], (50, 50))
    assert still["slider"]["disabled"]
    assert still["where"] == ["this quantity has no length"]
    assert still["tint"] == {"display": "none"}


def test_both_scales_of_a_slider_stand_in_the_page_with_their_stops() -> None:
    """Lengths 8 and 16 of runs trained up to 8: the lower half of the axis, up to 8, has no width."""
    scale = sweepbar.length_scale([4, 8, 16], (8, 8))
    assert [stop["value"] for stop in scale["slider"]["marks"]] == scale["places"]
    assert (scale["slider"]["min"], scale["slider"]["max"]) == (scale["places"][0], scale["places"][-1])
    assert scale["tint"] == {"width": "50.000%"}
    steps = {"share": sweepbar.step_scale(["1/2"], (100, 100)), "step": sweepbar.step_scale([0, 100], (100, 100))}
    lengths = {"times": sweepbar.length_scale(["1x", "2x"], (8, 8)), "tokens": scale}
    bar = sweepbar.bar(steps, "1/2", lengths, 8)
    made = {part.id: part for part in bar._traverse() if getattr(part, "id", None)}
    assert (made["sweep-step-scales"].data, made["sweep-length-scales"].data) == (steps, lengths)
    assert (made["sweep-pace"].value, made["sweep-unit"].value) == ("share", "tokens")
    assert (made["sweep-step"].value, made["sweep-length"].value) == (-1.0, scale["places"][1])


def test_theory_is_held_against_what_is_observed(answers: Context) -> None:
    run = answers.store.runs()[A]
    assert "as predicted" in texts(theory.verdict_of_run(run, "guaranteed"))
    assert "\u2260 predicted" in texts(theory.verdict_of_run(run, "not expressible"))
    assert "no claim" in texts(theory.verdict_of_run(run, "open"))
    assert "decision procedures" in texts(theory.prediction_state(run, Job(state="running"))[0])
    assert "it broke" in texts(theory.prediction_state(run, Job(state="failed", error="it broke"))[0])


def test_a_trace_is_shown_symbol_by_symbol() -> None:
    line = {"name": "more", "text": "#a > #b", "values": [1, 0], "boolean": True}
    program = {"alphabet": ["a", "b"], "outputs": ["more"], "string": ["a", "b"], "lines": [line]}
    said = texts(theory.programs({"programs": [{**program, "string_source": "one string of the task"}]}))
    assert "each line at every prefix of one string of the task." in said
    assert "#a > #b \u25cf \u25cb" in said
    assert "none to trace" in texts(theory.programs({"programs": []}))


def test_the_glossary_says_each_quantity_as_its_spec_does(answers: Context) -> None:
    content, _, _ = router.page(answers, "/glossary", "?quantity=nothing")
    said = texts(content)
    assert "Total variation to the nearest uniform distribution on a set." in said
    assert "share, 0 to 1 \u00b7 2 runs" in said
    assert "names the quantity nothing, which no run here has" in said


def test_measuring_is_asked_for_runs_and_names_that_exist(answers: Context, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Any] = []
    monkeypatch.setattr(answers.measurer, "submit", lambda *given, **more: asked.append(given) or "key")
    assert measure_now.ask(answers, {"run": "../elsewhere", "only": "behaviour"}) is None
    assert measure_now.ask(answers, {"run": A, "only": "os; rm"}) is None
    assert measure_now.ask(answers, {"run": A, "only": "probes."}) == {"key": "key", "run": A, "what": "probes."}
    (function, arguments), *_ = asked
    assert function == "workbench.measure.running.on_demand:measure_run"
    assert (arguments["only"], Path(arguments["run_path"]).name) == (["probes."], A)
    assert "deepen_at" not in arguments


@pytest.mark.parametrize(
    ("job", "said"),
    [
        (Job(state="running", done=3, total=9, started=0.0), "3 of 9 checkpoints"),
        (Job(state="cancelled"), "that were measured before are kept"),
        (Job(state="failed", error="no room"), "no room"),
        (Job(state="done", result={"rows": 0, "problems": []}), "Nothing was missing."),
        (
            Job(state="done", result={"rows": 0, "problems": ["a notice", "its code was not run"], "failed": True}),
            f"Nothing was measured of {A}. its code was not run.",
        ),
        (Job(state="done", result={"rows": 1200, "problems": ["step 3 is damaged"]}), "1,200 rows are new."),
    ],
)
def test_the_strip_says_how_measuring_stands(job: Job, said: str) -> None:
    assert said in texts(measure_now.status_line(job, {"run": A, "what": "probes."}))


def test_a_missing_quantity_offers_to_measure_it(answers: Context, at: PanelCursor) -> None:
    made = plot(theory.PARTS, at, LIGHT, "figure")
    assert made[-1] == STATE
    assert "Measure now" in texts(made[2])


def test_a_host_that_others_reach_is_warned_of(
    small_root: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    class Ended:
        def run(self) -> None:
            raise KeyboardInterrupt

    monkeypatch.setattr("workbench.dashboard.app.quiet_server", lambda *given: Ended())
    for host, warned in (("127.0.0.1", False), ("0.0.0.0", True)):
        serve(small_root, host=host, port=0)
        assert ("everybody who reaches" in capsys.readouterr().out) is warned


def test_what_sliders_ask_for_next_is_drawn_ahead(answers: Context, at: PanelCursor) -> None:
    drawn: list[tuple[str, int, int]] = []
    ahead = Prefetch(lambda panel, place, look: drawn.append((panel.id, place.cursor.step, place.cursor.length)))
    ahead.ask(at, PANELS, LIGHT)
    end = time.monotonic() + 20
    wanted = {(p.id, step, 100) for p in PANELS if "step" in p.needs for step in at.run.measured_steps}
    wanted |= {(p.id, 1000, length) for p in PANELS if "length" in p.needs for length in at.run.lengths}
    while set(drawn) != wanted and time.monotonic() < end:
        time.sleep(0.02)
    assert set(drawn) == wanted
    count = len(drawn)
    ahead.ask(at, PANELS, LIGHT)  # nothing has changed: nothing is drawn again
    ahead.close()
    assert len(drawn) == count
    # the nearest first: what the next key press asks for is there soonest
    assert drawn[0][1] == at.cursor.step


# ---- rows of panels -----------------------------------------------------------------------------------
AREAS = re.compile(r"\.matrix-row(?:\.(\w+))?[^{}]*\{[^{}]*grid-template-areas:([^;}]*)")


def areas(sheet: str) -> dict[str, set[str]]:
    """Kind of row -> the areas that it has in every width of the window."""
    text = (Path(dashboard.__file__).parent / "assets" / "css" / sheet).read_text()
    found: dict[str, set[str]] = {}
    for kind, template in AREAS.findall(text):
        named = set(template.replace('"', " ").split())
        found[kind] = found[kind] & named if kind in found else named
    return found


@pytest.mark.parametrize(
    ("sheet", "kind", "group"),
    [
        ("run.css", "", run_panels.PANELS[:9]),
        ("run.css", "one", (run_panels.BY_ID["loss"],)),
        ("run.css", "two", run_panels.WHY + run_panels.DEEPER + run_panels.CIRCUIT + run_panels.MORE),
        ("compare.css", "", compare.PANELS + compare.SEED_PANELS),
        ("compare_many.css", "halves", compare_many.PANELS),
    ],
)
def test_every_panel_of_a_row_has_an_area_in_every_width(sheet: str, kind: str, group: Sequence[Panel]) -> None:
    assert {"rail"} | {one.column for one in group} == areas(sheet)[kind]


def test_a_panel_stands_in_the_area_of_its_column() -> None:
    row = panel_frame.matrix_row([], run_panels.PANELS[:3], {})
    assert [one.style["gridArea"] for one in row.children[1:]] == ["training", "length", "cursor"]
    assert row.children[0].className == "rail"
