"""A page of runs without a server: it holds what the table holds, and nothing in it runs that came with data."""

from __future__ import annotations

import base64
import hashlib
import json
import math
import re
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from plotly.offline import get_plotlyjs_version

from tests.support.cited import said
from tests.support.dashboard import fakes
from tests.support.dashboard.report import PageReader, at, data_of_page, numbers
from workbench.cli.main import app
from workbench.dashboard.app import create_app
from workbench.dashboard.components import plotly_bundle
from workbench.dashboard.panels import run_panels
from workbench.dashboard.panels.panel_spec import Panel, PanelCursor
from workbench.dashboard.panels.panel_words import why_empty
from workbench.dashboard.panels.run_panels import PANELS
from workbench.dashboard.report import report_page, run_data
from workbench.dashboard.report.page_parts import thinning_notes
from workbench.dashboard.report.report_page import MOST_BYTES, ReportError, report_html, runs_below
from workbench.dashboard.report.run_data import Stops, panels_of, spread
from workbench.dashboard.server.context import Context
from workbench.dashboard.state.cursor import Cursor, default_cursor
from workbench.dashboard.state.run_view import RunView
from workbench.figures import NotMeasured, why_sentence
from workbench.figures.look import Theme
from workbench.figures.style.template import u_step
from workbench.figures.text.evidence import evidence, tally
from workbench.figures.text.headline import headline
from workbench.table import Table

A, B, UNMEASURED = "majority-nope-s0", "flip_flop-rotary-s0", "majority-learned-s0"


@pytest.fixture(scope="module")
def runs(answers: Context) -> list[RunView]:
    found = [answers.store.run(name) for name in (A, B, UNMEASURED)]
    return [run for run in found if run is not None]


@pytest.fixture(scope="module")
def page(runs: list[RunView]) -> str:
    return report_html(runs)


@pytest.fixture(scope="module")
def held(page: str) -> dict[str, Any]:
    return data_of_page(page)


@pytest.fixture(scope="module")
def rows(small_root: Path) -> Any:
    return Table.load(small_root).frame()


# ---- what it holds --------------------------------------------------------------------------------------
def expected(panel: Panel, there: PanelCursor, theme: Theme) -> Any:
    """A panel's figure as JSON, or the words in its place."""
    try:
        drawn = panel.plain(there, theme, 11).to_plotly_json()
    except NotMeasured as missing:
        return list(why_empty(missing))
    return json.loads(json.dumps(drawn, default=lambda one: one.tolist()))


def test_every_figure_is_the_panel_s_at_every_step_and_length(runs: list[RunView], held: dict[str, Any]) -> None:
    for run, given in zip(runs[:2], held["runs"], strict=False):
        start = default_cursor(run)
        assert (given["steps"], given["lengths"]) == (list(run.steps), list(run.lengths))
        assert (given["checkpoints"], given["measured"]) == (len(run.steps), len(run.lengths))
        assert set(given["panels"]) == {one.id for one in panels_of(run)}
        for panel in panels_of(run):
            slot = given["panels"][panel.id]
            assert set(slot["needs"]) == {"step", "length"} & set(panel.needs)
            for step, length in ((run.steps[0], run.lengths[0]), (run.steps[2], run.lengths[-1]), (start.step, 200)):
                there = PanelCursor(run, replace(start, step=step, length=length))
                shown = at(given, slot, step, length)
                for theme in ("light", "dark"):
                    assert shown.get(theme, shown.get("state")) == expected(panel, there, theme)


def test_the_curves_are_the_rows_of_the_table(held: dict[str, Any], rows: Any) -> None:
    run = held["runs"][0]
    own = rows[rows["run"] == A]
    seen = 0
    for step in run["steps"]:
        figure = at(run, run["panels"]["accuracy-length"], step, 0)["light"]
        line = next(one for one in figure["data"] if one.get("name") == "matched" and "markers" in one.get("mode", ""))
        told = own[(own["quantity"] == "accuracy") & (own["law"] == "matched") & (own["step"] == step)]
        told = told[told["mode"] == "teacher_forced"].sort_values("length")
        assert numbers(line["x"]) == pytest.approx([math.log2(n) for n in told["length"]])
        assert numbers(line["y"]) == pytest.approx(told["value"].tolist())
        seen += len(told)
    assert seen == len(run["steps"]) * len(run["lengths"])


def test_every_cell_of_the_heads_is_a_row_of_the_table(held: dict[str, Any], rows: Any) -> None:
    run = held["runs"][0]
    own = rows[(rows["run"] == A) & (rows["quantity"] == "hardmax_distance") & (rows["control"] == "")]
    for step in run["steps"]:
        for length in run["lengths"]:
            figure = at(run, run["panels"]["head-grid"], step, length)["dark"]
            told = own[(own["step"] == step) & (own["length"] == length) & (own["law"] == "matched")]
            told = told.sort_values(["layer", "head"])
            texts = [note["text"] for note in figure["layout"]["annotations"]]
            assert texts == [f"{value:.2f}" for value in told["value"]], (step, length)


def test_the_words_are_those_of_the_rows(runs: list[RunView], held: dict[str, Any]) -> None:
    run, given = runs[0], held["runs"][0]
    start = default_cursor(run)
    for step in run.measured_steps:
        told = headline(run.frame, step=step, trained=run.trained)
        assert said(at(given, given["texts"]["verdict-line"], step, 0)) == said(told.verdict)
        assert said(at(given, given["texts"]["further"], step, 0)) == said(told.further)
        for length in run.lengths:
            why = why_sentence(
                run.frame, step=step, trained=run.trained, layer=start.layer, head=start.head, length=length
            )
            assert at(given, given["texts"]["why"], step, length) == [list(piece) for piece in why]


def test_the_ledger_is_the_evidence_of_the_rows(runs: list[RunView], held: dict[str, Any]) -> None:
    run, given = runs[0], held["runs"][0]
    start = default_cursor(run)
    for step in run.measured_steps:
        told = evidence(run.frame, step=step, trained=run.trained, length=200, layer=start.layer, head=start.head)
        shown = at(given, given["ledger"], step, 200)
        assert [one["standing"] for one in shown["rows"]] == [one.standing for one in told]
        assert {one["label"] for one in shown["rows"] if one["standing"] == "neutral"} <= {"inconclusive"}
        assert [said(one["clause"]) for one in shown["rows"]] == [said(one.clause) for one in told]
        assert [tuple(one["cells"]) for one in shown["rows"]] == [one.cells for one in told]
        assert {one["panel"] for one in shown["rows"]} <= set(given["panels"])
        counts = [int(n) if n != "no" else 0 for n in re.findall(r"(\d+|no) clauses?", shown["said"])]
        assert counts == list(tally(told).values())
    assert held["runs"][2]["ledger"]["made"][0] == {"said": "none at this step", "rows": []}


def test_the_verdict_can_be_read_without_the_script(page: str, runs: list[RunView]) -> None:
    reader = PageReader(page)
    told = headline(runs[0].frame, step=default_cursor(runs[0]).step, trained=runs[0].trained)
    text = "".join(reader.texts["h1"] + reader.texts["span"] + reader.texts["p"])
    assert all(part.strip() in text for part, _ in (*told.verdict, *told.further))


def test_a_run_that_is_not_measured_says_so_and_the_others_stay(held: dict[str, Any]) -> None:
    given = held["runs"][2]
    assert "Not measured" in said(given["texts"]["verdict-line"]["made"][0])
    states = [one["state"] for slot in given["panels"].values() for one in slot["made"] if "state" in one]
    assert len(states) >= 9
    assert {head for head, _ in states} <= {"Not measured yet", "Not measured here"}


def test_a_panel_whose_rows_are_damaged_harms_itself_alone(
    runs: list[RunView], monkeypatch: pytest.MonkeyPatch
) -> None:
    broken = replace(PANELS[1], without=("step",))
    monkeypatch.setitem(run_panels.SECTION_PANELS, "evidence", (PANELS[0], broken, *PANELS[2:]))
    given = data_of_page(report_html(runs[:1]))["runs"][0]
    shown = given["panels"][broken.id]["made"]
    assert {one["state"][0] for one in shown} == {"This cannot be drawn"}
    assert all("light" in one for one in given["panels"]["accuracy-training"]["made"])


# ---- where it opens -------------------------------------------------------------------------------------
def test_it_opens_where_it_was_asked_to(runs: list[RunView]) -> None:
    run = runs[0]
    given = data_of_page(report_html([run], starts={A: Cursor(A, 100, 50, 1, 2)}))["runs"][0]
    assert (given["steps"][given["start"]["step"]], given["lengths"][given["start"]["length"]]) == (100, 50)
    assert "L1H2" in given["panels"]["heads-length"]["made"][0]["light"]["layout"]["meta"]["alt"]


def test_of_many_checkpoints_some_are_held_and_the_start_is_one_of_them() -> None:
    steps = tuple(range(0, 20_000, 50))
    kept = spread(steps, 40, 7_350, u_step)
    assert len(kept) == 40
    assert {0, 19_950, 7_350} <= set(kept) <= set(steps)
    assert list(kept) == sorted(kept)
    assert spread((1, 2, 3), 40, 2, u_step) == (1, 2, 3)


def test_a_page_that_holds_less_than_was_measured_says_so(
    runs: list[RunView], held: dict[str, Any], page: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "The sliders stop at" not in "".join(PageReader(page).texts["p"])
    run, steps = runs[0], held["runs"][0]["steps"]
    monkeypatch.setattr(run_data, "MOST_STEPS", 3)
    stops = [Stops.of(one, default_cursor(one)) for one in runs]
    monkeypatch.setattr(run_data, "MOST_LENGTHS", 4)
    both = Stops.of(run, default_cursor(run))
    told = [one.text for one in thinning_notes([run, *runs], [both, *stops])]
    assert told[0] == (
        f"The sliders stop at 3 of {len(steps)} checkpoints and 4 of {len(run.lengths)} prefix lengths only. "
        "Curves and maps over steps or lengths show all of them."
    )
    assert told[1].startswith(f"The sliders stop at 3 of {len(steps)} checkpoints only.")
    accuracy = next(one for one in panels_of(run) if one.id == "accuracy-training")
    drawn = accuracy.data(PanelCursor(run, both.start))
    assert set(drawn["step"]) == set(run.measured_steps)
    assert set(drawn["length"]) == set(run.lengths)


def test_stops_are_those_of_the_run(runs: list[RunView]) -> None:
    stops = Stops.of(runs[0], default_cursor(runs[0]))
    slot = stops.over(["length", "head", "step"], lambda place: [place.step, place.length])
    assert slot["needs"] == ["step", "length"]
    assert slot["made"][: len(stops.lengths)] == [[stops.steps[0], n] for n in stops.lengths]


# ---- one file, and nothing else -------------------------------------------------------------------------
def test_one_file_loads_nothing_and_can_be_sent(page: str) -> None:
    assert len(page.encode()) < MOST_BYTES
    reader = PageReader(page)
    for tag, given in reader.tags:
        for name in ("src", "href"):
            assert (given.get(name) or "#").startswith(("#", "data:")), (tag, given)
    assert not re.search(r"url\((?!data:)", "".join(reader.texts["style"]).replace('url("data:', "url(data:"))
    policy = next(given["content"] for tag, given in reader.tags if given.get("http-equiv"))
    assert policy is not None
    assert policy.startswith("default-src 'none'; script-src 'sha256-")
    for tag, given in reader.tags:
        assert not [name for name in given if name.startswith("on")], (tag, given)


def test_every_script_is_named_in_the_policy_and_no_other_runs(page: str) -> None:
    reader = PageReader(page)
    policy = str(next(given["content"] for _, given in reader.tags if given.get("http-equiv")))
    scripts = [text for text in reader.texts["script"] if not text.strip().startswith("eN")]
    hashes = [f"'sha256-{base64.b64encode(hashlib.sha256(one.encode()).digest()).decode()}'" for one in scripts]
    assert policy.partition("script-src ")[2].partition(";")[0].split() == hashes
    assert len(hashes) == 3


def test_the_bundle_is_the_version_that_plotly_speaks() -> None:
    assert get_plotlyjs_version() == plotly_bundle.VERSION
    assert f"v{plotly_bundle.VERSION}" in plotly_bundle.plotly_js()[:400]
    assert "MIT" in report_page.licence()


def test_a_bundle_that_was_changed_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    other = tmp_path / "plotly.js"
    other.write_text("alert(1)")
    monkeypatch.setattr(plotly_bundle, "FILE", other)
    with pytest.raises(plotly_bundle.BundleError, match="lengthlens"):
        plotly_bundle.plotly_js.__wrapped__()


def test_a_page_too_large_to_send_is_refused_with_the_way_out(
    runs: list[RunView], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(report_page, "MOST_BYTES", 1_000_000)
    with pytest.raises(ReportError, match="publish"):
        report_html(runs[:1])


# ---- what came with the data ----------------------------------------------------------------------------
HOSTILE = ("a<", "script><script>alert(1)<", "script><img src=x onerror=alert(2)>")


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory, small_root: Path) -> RunView:
    """A run whose name is HTML: a name is a path below the data root."""
    root = tmp_path_factory.mktemp("hostile")
    shutil.copytree(small_root / A, root.joinpath(*HOSTILE))
    config = root.joinpath(*HOSTILE, "run.json")
    content = json.loads(config.read_text())
    content.pop("seal")
    content["facts"]["question"] = "</script><script>alert(3)</script> or &amp; <b>?"
    config.write_text(fakes.sealed_json(content).decode())
    [run] = runs_below([root], [])
    assert run.name == "a</script><script>alert(1)</script><img src=x onerror=alert(2)>"
    return run


def test_names_and_questions_are_text_whatever_they_say(hostile: RunView, page: str) -> None:
    made = report_html([hostile])
    reader, plain = PageReader(made), PageReader(page)
    assert {tag for tag, _ in reader.tags} <= {tag for tag, _ in plain.tags}
    assert sum(tag == "script" for tag, _ in reader.tags) == 4
    assert "<script>alert" not in made
    assert hostile.name in "".join(reader.texts["strong"])
    assert data_of_page(made)["runs"][0]["name"] == hostile.name


# ---- where it comes from --------------------------------------------------------------------------------
def test_the_page_tells_the_hashes_of_weights_and_rows_and_how_to_make_it_again(
    page: str, small_root: Path, runs: list[RunView]
) -> None:
    reader = PageReader(page)
    codes = reader.texts["code"]
    table = small_root / A / "table.parquet"
    assert hashlib.sha256(table.read_bytes()).hexdigest() in codes
    for step in runs[0].steps:
        meta = json.loads((small_root / A / "steps" / f"{step:08d}" / "meta.json").read_text())
        assert meta["sha256"] in codes
    assert str(runs[0].config["id"]) in reader.texts["dd"]
    shown = " ".join(run.typed_path for run in runs)
    assert f"lengthlens report {shown} -o page.html" in codes
    config = next(json.loads(text) for text in codes if text.startswith("{"))
    assert config["training"] == runs[0].config["training"]


# ---- the command ----------------------------------------------------------------------------------------
def ran(capsys: pytest.CaptureFixture[str], *given: str) -> tuple[int, str]:
    from workbench.cli.errors import exit_status

    status = exit_status(lambda: app(list(given)))
    out = capsys.readouterr()
    return status, out.out + out.err


def test_the_command_writes_the_page(capsys: pytest.CaptureFixture[str], small_root: Path, tmp_path: Path) -> None:
    out = tmp_path / "new" / "page.html"
    status, told = ran(capsys, "report", str(small_root / A), "-o", str(out))
    assert (status, told) == (0, f"{out}: 1 run, {out.stat().st_size / 1e6:.1f} MB\n")
    assert [one["name"] for one in data_of_page(out.read_text())["runs"]] == [A]


def test_one_bad_run_is_named_and_the_others_are_in_the_page(
    capsys: pytest.CaptureFixture[str], small_root: Path, tmp_path: Path
) -> None:
    bad, out = tmp_path / "runs" / "bad", tmp_path / "page.html"
    bad.mkdir(parents=True)
    (bad / "run.json").write_text("{")
    status, told = ran(capsys, "report", str(small_root / A), str(bad), "-o", str(out))
    assert status == 1
    assert re.search(r"problem: .*bad.*run\.json", told)
    assert [one["name"] for one in data_of_page(out.read_text())["runs"]] == [A]


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        (["report", "{}/nowhere"], "error: there is no folder {}/nowhere\n"),
        (["report", "{}/empty"], "error: {}/empty holds no run; lengthlens train TASK --out {}/empty/NAME makes one\n"),
        (["report", "{}/empty", "-o", "{}"], "error: {} is a folder; name a file in it: -o {}/page.html\n"),
    ],
)
def test_bad_input_gets_one_sentence(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, given: list[str], sentence: str
) -> None:
    (tmp_path / "empty").mkdir()
    status, told = ran(capsys, *(part.replace("{}", str(tmp_path)) for part in given))
    assert (status, told) == (2, sentence.replace("{}", str(tmp_path)))


# ---- the address ----------------------------------------------------------------------------------------
def test_the_dashboard_gives_the_page_at_the_cursor_of_the_link(small_root: Path) -> None:
    made = create_app(small_root)
    client = made.server.test_client()
    answer = client.get(f"/report.html?run={A}&step=1000&len=50&layer=1&head=2")
    assert answer.status_code == 200
    assert answer.headers["Content-Disposition"] == f'attachment; filename="{A}-report.html"'
    given = data_of_page(answer.get_data(as_text=True))["runs"][0]
    assert (given["steps"][given["start"]["step"]], given["lengths"][given["start"]["length"]]) == (1000, 50)
    assert client.get("/report.html?run=nobody").status_code == 404
    assert client.get("/report.html").status_code == 404
    made.server.extensions["lengthlens"].close()
