"""The forks of a run on its page: found by their parent's id, drawn if they can be, and never taken for seeds."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.support.dashboard import fakes
from tests.support.dashboard.answers import texts
from tests.support.dashboard.fixtures import SMALL
from workbench.dashboard.pages.run import content
from workbench.dashboard.panels import fork_panels
from workbench.dashboard.panels.panel_frame import READY
from workbench.dashboard.panels.panel_spec import PanelCursor
from workbench.dashboard.panels.render import plot
from workbench.dashboard.report.run_data import Stops, run_data
from workbench.dashboard.server.context import Context
from workbench.dashboard.server.worker import Worker
from workbench.dashboard.state.chosen_configurations import seeds_like
from workbench.dashboard.state.cursor import default_cursor
from workbench.dashboard.state.run_summary import summarise
from workbench.dashboard.state.run_view import RunView
from workbench.dashboard.state.seed_groups import by_configuration
from workbench.dashboard.state.store import Store
from workbench.runs.run import Run
from workbench.storage.seal import sealed_json

PARENT = next(fake for fake in fakes.FAKES if fake.name == "majority-nope-s0")
LOOK = {"theme": "light", "size": 11}
NAMES = ("changed", "partly", "same", "training")


def write_fork(root: Path, name: str, step: int, steps: tuple[int, ...], measured: bool = True, high: int = 0) -> Path:
    """A fork of the invented run, with rows at its checkpoints if it is measured."""
    fake = replace(PARENT, name=name)
    path = fakes.write_run(root, fake, steps)
    config = json.loads((path / "run.json").read_bytes())
    config["id"] = f"fork{len(name)}{step}"
    config["training"]["fork"] = {"run": Run.open(root / PARENT.name).id, "step": step, "sha256": "0"}
    if high:
        own = config["training"]["curriculum"]
        after = own | {"high": high}
        config["training"]["curriculum"] = {
            "law": "switched", "at": step, "low": own["low"], "high": high, "before": own, "after": after,
        }  # fmt: skip
    (path / "run.json").write_bytes(sealed_json(config, indent=1))
    if measured:
        fakes.write_rows(path, fakes.all_rows(fake, steps))
    return path


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = fakes.build(tmp_path_factory.mktemp("forked"), (PARENT,), unmeasured=False, steps=SMALL)
    write_fork(root, "same", 100, SMALL)
    write_fork(root, "partly", 1000, SMALL[-1:])
    write_fork(root, "changed", 1000, SMALL, high=2 * fakes.TRAINED)
    write_fork(root, "training", 1000, (0, 1000), measured=False)
    return root


@pytest.fixture(scope="module")
def context(folder: Path) -> Iterator[Context]:
    made = Context(Store([folder]), Worker())
    yield made
    made.worker.close()


def view(context: Context, name: str = PARENT.name) -> RunView:
    run = context.store.run(name)
    assert run is not None, context.store.problems
    return run


def place(context: Context, run: RunView) -> PanelCursor:
    return PanelCursor(run, default_cursor(run), store=context.store)


def page(context: Context, run: RunView) -> list[Any]:
    return content(context, run, default_cursor(run), {"panels": ""})


def test_a_run_knows_its_forks_and_a_fork_its_run(context: Context) -> None:
    run = view(context)
    assert [fork.name for fork in context.store.forks_of(run)] == ["same", "changed", "partly", "training"]
    assert context.store.parent_of(run) is None
    for name in NAMES:
        fork = view(context, name)
        assert context.store.forks_of(fork) == []
        parent = context.store.parent_of(fork)
        assert parent is not None
        assert parent.name == PARENT.name


def test_the_panels_draw_the_forks_that_have_rows_and_count_the_others(context: Context) -> None:
    run = view(context)
    for panel in fork_panels.PANELS:
        at = place(context, run)
        figure, _, state, words, _, body = plot(panel, at, LOOK, "figure")
        assert (body, state) == (READY, [])
        drawn = {trace["name"] for trace in figure["data"]}
        assert drawn & set(NAMES) == {"same", "partly", "changed"}
        assert "1 of 4 forks without rows here" in words
        assert set(panel.data(at)["series"]) - {"chance", "this run"} == {"same", "partly", "changed"}
        assert "forks={" in panel.snippet(at)


def test_the_row_names_and_links_the_forks_and_says_how_to_measure_them(context: Context) -> None:
    run = view(context)
    (row,) = fork_panels.section(run, context.store.forks_of(run))
    said = texts(row)
    assert "4 forks from steps 100 and 1,000. 1 of them trains on other lengths." in said
    assert f"lengthlens measure {view(context, 'training').typed_path} --only behaviour" in said
    assert all(f"run={name}" in str(row) for name in NAMES)


def test_the_page_of_a_fork_names_its_run(context: Context) -> None:
    run, changed = view(context, "same"), view(context, "changed")
    (line,) = fork_panels.parent_line(context.store, run)
    assert texts(line).split(PARENT.name) == [
        "Fork at step 100 of  ",
        " . From that step on, it has other training sequences.",
    ]
    assert f"/run?run={PARENT.name}" in str(line)
    (line,) = fork_panels.parent_line(context.store, changed)
    assert f"lengths 1 to {2 * fakes.TRAINED}" in texts(line)
    assert texts(line) in texts(page(context, changed))
    assert fork_panels.parent_line(context.store, view(context)) == []


def test_a_run_without_forks_has_no_row_and_its_page_no_sentence(context: Context) -> None:
    assert "forks-training-panel" in str(page(context, view(context)))
    plain = str(page(context, view(context, "same")))
    assert "forks-training-panel" not in plain
    assert fork_panels.section(view(context, "same"), []) == []


def test_a_fork_is_no_seed_of_its_run(context: Context) -> None:
    run = view(context)
    assert [one.name for one in seeds_like(context.store, run)] == [PARENT.name]
    assert all(view(context, name).family != run.family for name in NAMES)
    runs = context.store.comparable_runs()
    lines = by_configuration(runs, [summarise(run) for run in runs.values()])
    assert next(line for line in lines if line["name"] == PARENT.name)["of"] == "1 of 1"


def test_a_report_of_the_run_is_made_and_has_no_forks(context: Context) -> None:
    run = view(context)
    data = run_data(run, Stops.of(run, default_cursor(run)))
    assert not [name for name in data["panels"] if name.startswith("forks")]


def test_damaged_forks_leave_the_page_of_the_run_whole(folder: Path, tmp_path: Path) -> None:
    root = fakes.build(tmp_path, (PARENT,), unmeasured=False, steps=SMALL)
    write_fork(root, "same", 100, SMALL)
    twice = write_fork(root, "twice", 100, SMALL)
    rows = list(fakes.all_rows(replace(PARENT, name="twice"), SMALL))
    doubled = [row | {"setting": '{"another": 1}'} for row in rows]
    fakes.write_rows(twice, [*rows, *doubled])
    odd = write_fork(root, "odd", 100, SMALL)
    config = json.loads((odd / "run.json").read_bytes())
    config["training"]["fork"] = "nothing"
    (odd / "run.json").write_bytes(sealed_json(config, indent=1))
    made = Context(Store([root]), Worker())
    try:
        run = made.store.run(PARENT.name)
        assert run is not None
        assert "odd" not in [fork.name for fork in made.store.forks_of(run)]
        for panel in fork_panels.PANELS:
            figure, *_, body = plot(panel, PanelCursor(run, default_cursor(run), store=made.store), LOOK, "figure")
            assert body == READY
            assert "same" in {trace["name"] for trace in figure["data"]}
        page(made, run)
    finally:
        made.worker.close()
