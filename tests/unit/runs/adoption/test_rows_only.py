"""A run whose weights are not here: everywhere what its rows give, and what wants the model."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from tests.support.dashboard.answers import LIGHT, texts
from tests.support.dashboard.report import PageReader, at, data_of_page
from tests.support.models.pretrained_folders import save_folder
from workbench.cli.main import app
from workbench.cli.options import assignments
from workbench.cli.run_config import build
from workbench.cli.train_request import TrainRequest
from workbench.dashboard import router
from workbench.dashboard.pages.all_pages import PAGES
from workbench.dashboard.pages.run import PAGE
from workbench.dashboard.panels import head_tables
from workbench.dashboard.panels.panel_frame import not_measured
from workbench.dashboard.panels.panel_spec import Panel, PanelCursor
from workbench.dashboard.panels.render import heads, plot
from workbench.dashboard.report.gallery_site import publish
from workbench.dashboard.report.report_page import report_html
from workbench.dashboard.server.context import Context
from workbench.dashboard.server.worker import Worker
from workbench.dashboard.state.cursor import default_cursor
from workbench.dashboard.state.run_kinds import PROMPTED
from workbench.dashboard.state.store import Store
from workbench.measure.registry import measurements
from workbench.measure.request import MeasureRequest
from workbench.measure.running.plan import execute, plan
from workbench.runs import Run, RunError
from workbench.runs.adoption.open_pretrained import Opened, open_pretrained
from workbench.runs.adoption.rows_only import write_rows_only
from workbench.runs.integrity import run_problems
from workbench.table import Table
from workbench.tasks import make_task
from workbench.tasks.presented.presentation import presentation
from workbench.training.trainer import Trainer

SAID = "results only, as the weights of Tiny-1 are not stored here"


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Run:
    root = tmp_path_factory.mktemp("whole")
    folder = save_folder("llama", root / "weights", tokenizer=True)
    run = open_pretrained(Opened({1: folder}, make_task("uf", symbols=12), presentation("bare"), (4, 8)), root / "run")
    only = ["behaviour.in_context", "circuits.heads"]
    assert execute(plan(MeasureRequest([run.path], only=only, sequences=20, executor="serial"))) == []
    return run


@pytest.fixture(scope="module")
def rows(whole: Run, tmp_path_factory: pytest.TempPathFactory) -> Run:
    return write_rows_only(whole, "Tiny-1", tmp_path_factory.mktemp("gallery") / "copy")


@pytest.fixture(scope="module")
def context(rows: Run) -> Iterator[Context]:
    made = Context(Store([rows.path.parent]), Worker())
    yield made
    made.close()


def test_it_is_the_same_run_with_the_same_rows_and_no_place_of_any_machine(whole: Run, rows: Run) -> None:
    assert (rows.id, rows.steps, rows.verify(1)) == (whole.id, whole.steps, whole.verify(1))
    one, other = (Table.load(run.path).frame().drop(columns="run") for run in (whole, rows))
    assert one.equals(other)
    files = [file for file in rows.path.rglob("*") if file.is_file()]
    assert {file.name for file in files} == {"run.json", "meta.json", "table.parquet"}
    assert not [file for file in files if str(whole.folder(1).parent).encode() in file.read_bytes()]
    assert write_rows_only(whole, "Tiny-1", rows.path).id == whole.id, "what is there of it gives way"


def test_what_needs_the_weights_says_so_and_how_to_say_where_they_are(whole: Run, rows: Run) -> None:
    with pytest.raises(RunError, match="--relink"):
        rows.load(1)
    todo = plan(MeasureRequest([rows.path]))
    assert (todo.jobs, todo.problems, todo.notices) == ([], [], [f"nothing more is measured of copy: {SAID}"])
    with pytest.raises(RunError, match="folder"):
        write_rows_only(Run(rows.path, "x", {"training": {}, "id": "another"}), "x", rows.path)


def test_a_run_of_its_own_weights_is_handed_on_without_them(tmp_path: Path) -> None:
    options = {"lengths": "1-9", "layers": 1, "d_model": 8, "heads": 2, "batch_size": 8, "steps": 4}
    trained = Trainer(
        build(TrainRequest("majority", options, assignments(["training.checkpoints.log=0"]))), tmp_path / "run"
    ).run()
    assert execute(plan(MeasureRequest([trained.path], only=["behaviour"], sequences=8, executor="serial"))) == []
    held = write_rows_only(trained, "Small-1", tmp_path / "gallery" / "own")
    assert (held.id, held.steps) == (trained.id, trained.steps)
    assert [held.verify(s) for s in held.steps] == [trained.verify(s) for s in trained.steps]
    files = {file.name for file in held.path.rglob("*") if file.is_file()}
    assert files == {"run.json", "meta.json", "log.parquet", "table.parquet"}
    one, other = (Table.load(run.path).frame().drop(columns="run") for run in (trained, held))
    assert one.equals(other)
    assert run_problems(held) == []
    said = "results only, as the weights of Small-1 are not stored here"
    with pytest.raises(RunError, match=f"{said}$"):
        held.load(held.steps[-1])
    assert plan(MeasureRequest([held.path])).notices == [f"nothing more is measured of own: {said}"]
    made = Context(Store([held.path.parent]), Worker())
    for page in PAGES:
        told = texts(router.page(made, page.path, "?run=own")[0])
        assert "cannot be" not in told, page.path
        assert "Measure now" not in told, page.path
        assert "--relink" not in told, "there is no folder of others that would hold its weights"
    assert "Small-1, its weights not here, trained on lengths 1 to 9" in texts(router.page(made, "/run", "?run=own")[0])
    made.close()


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("check", [f"copy: 1 checkpoint, no problems; {SAID}"]),
        ("show", [SAID, "Not capable, presented as bare at step 1"]),
        ("measure", ["Nothing was measured in 1 run"]),
    ],
)
def test_commands_go_on(rows: Run, command: str, expected: list[str]) -> None:
    found = CliRunner(env={"COLUMNS": "200"}).invoke(app, [command, str(rows.path)])
    assert found.exit_code == 0
    assert not [text for text in expected if text not in found.output], found.output


def test_nothing_is_prescribed_to_what_has_no_training_here(rows: Run) -> None:
    found = CliRunner().invoke(app, ["prescribe", str(rows.path)])
    assert str(found.exception) == (
        f"{rows.path} contains a model that was prompted with its task ({SAID}), so there is no training to change; name a run of lengthlens train"
    )


def test_a_damaged_hash_is_found_without_the_files(rows: Run, tmp_path: Path) -> None:
    run = Run.open(shutil.copytree(rows.path, tmp_path / "copy"))
    (run.step_path(1) / "meta.json").write_bytes((run.step_path(1) / "meta.json").read_bytes().replace(b"llama", b"x"))
    config = run.step_path(1) / "meta.json"
    config.write_bytes(config.read_bytes().replace(b'"config.json": "', b'"config.json": "0'))
    found = CliRunner().invoke(app, ["check", str(run.path)])
    assert found.exit_code == 1
    assert "meta.json" in found.output


def test_relinked_it_is_whole_again(whole: Run, rows: Run, tmp_path: Path) -> None:
    run = shutil.copytree(rows.path, tmp_path / "copy")
    other = save_folder("llama", tmp_path / "other", tokenizer=True, seed=1)
    said = CliRunner().invoke(app, ["open", str(other), "--relink", str(run)])
    assert said.exit_code != 0, "other weights"
    said = CliRunner().invoke(app, ["open", str(whole.folder(1)), "--relink", str(run)])
    assert said.exit_code == 0, said.output
    again = Run.open(run)
    assert (again.id, again.rows_only) == (rows.id, "")
    assert again.load(1).cfg.n_layers == 2


def test_every_page_opens_offers_no_measuring(context: Context) -> None:
    for page in PAGES:
        content, _, _ = router.page(context, page.path, "?run=copy")
        told = texts(content)
        assert "cannot be" not in told, page.path
        assert "Measure now" not in told, page.path
        if page.path in ("/checkpoint", "/try"):
            assert SAID[1:] in told
            assert "lengthlens open DIR --relink" in told
    assert "Tiny-1, its weights not here, trained by others" in texts(router.page(context, "/run", "?run=copy")[0])
    run = context.store.runs()["copy"]
    place = PanelCursor(run, default_cursor(run), extras={"quantity": "behaviour.in_context|answer_accuracy"})
    for panel in (one for one in PAGE.panels if isinstance(one, Panel)):
        drawn = texts(list((heads if panel.form == "heads" else plot)(panel, place, LIGHT, "figure")))
        assert "cannot be drawn" not in drawn, panel.id
        assert "Measure now" not in drawn, panel.id
    assert SAID[1:] in texts(not_measured("circuits.hardmax", "No rows.", run))
    assert "evaluated in a prompt" in texts(not_measured("probes.summary", "No rows.", run))


def test_the_pages_know_which_measurements_are_made_of_such_models() -> None:
    made = {name for name, cls in measurements().items() if cls.presented != "no"}
    assert PROMPTED.measurements is not None
    assert {*PROMPTED.measurements} == made


def test_its_report_is_over_items_and_says_what_its_page_says(context: Context, tmp_path: Path) -> None:
    run: Any = context.store.runs()["copy"]
    page = report_html([run])
    (held,) = data_of_page(page)["runs"]
    assert set(held["panels"]) == {"in-context", "in-context-heads", "in-context-hardmax", "in-context-grid"}
    assert "layout" in at(held, held["panels"]["in-context"], 1, 8)["light"]
    assert at(held, held["tokens"], 1, 8) == {"4": 8, "8": 16}
    assert [one["label"] for one in held["sliders"]["length"]["marks"]] == ["4", "8"]
    line = "".join(text for text, _ in at(held, held["texts"]["verdict-line"], 1, 8))
    assert line.startswith("Not capable, presented as bare at step 1")
    rail = "".join(text for text, _ in at(held, held["texts"]["rail-items-behaviour"], 1, 8))
    assert "at 4 items" in rail
    assert "at 8 items" in rail
    headings = PageReader(page).texts["h2"]
    assert headings[:2] == ["Behaviour", "Mechanism"], "no row of what training is wanted for"
    problems: list[str] = []
    (entry,) = publish([run.path], tmp_path / "site", problems)
    assert (problems, entry.problem) == ([], "")


def test_of_many_heads_the_first_are_listed_and_the_chosen_one(
    context: Context, monkeypatch: pytest.MonkeyPatch
) -> None:
    run: Any = context.store.runs()["copy"]
    cursor = default_cursor(run)
    whole_table, said = head_tables.head_rows(run, cursor)
    every = [str(line.children[0].children.children) for line in whole_table.children[1].children]
    assert len(every) == 8
    assert "of 8 heads" not in said
    monkeypatch.setattr(head_tables, "MOST_HEADS", 3)
    layer, head = map(int, every[-1].removeprefix("L").split("H"))
    table, said = head_tables.head_rows(run, replace(cursor, layer=layer, head=head))
    assert [str(line.children[0].children.children) for line in table.children[1].children] == [*every[:3], every[-1]]
    assert said.endswith("4 of 8 heads, all as table (T)")
