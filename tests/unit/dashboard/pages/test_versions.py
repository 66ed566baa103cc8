"""Rows of two versions of a measurement never stand beside each other; what is left out is named."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.dashboard import fakes
from tests.support.dashboard.answers import LIGHT, texts
from workbench.dashboard.pages import compare
from workbench.dashboard.pages.base import Visit
from workbench.dashboard.pages.runs import lines
from workbench.dashboard.panels.panel_spec import PanelCursor
from workbench.dashboard.panels.panel_updates import redraw_panels
from workbench.dashboard.panels.render import READY, STATE, plot
from workbench.dashboard.server.context import Context
from workbench.dashboard.server.worker import Worker
from workbench.dashboard.state.cursor import Cursor
from workbench.dashboard.state.filters import Filters
from workbench.dashboard.state.store import Store
from workbench.dashboard.state.sweep_query import choices_of, read
from workbench.figures.rows.frame import Frame

OLD, NEW = "majority-nope-s0", "flip_flop-rotary-s0"
AT = Cursor(OLD, 3000, 200)
FIRST = {one.id: one for one in compare.PANELS}


@pytest.fixture
def root(small_root: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(small_root, tmp_path / "runs"))


@pytest.fixture
def mixed(root: Path) -> Iterator[Context]:
    """One run has a newer version of ``behaviour`` than the other."""
    renew(root)
    made = Context(Store([root], patience=0), Worker())
    yield made
    made.close()


def renew(root: Path) -> None:
    fake = next(one for one in fakes.FAKES if one.name == NEW)
    shutil.rmtree(root / NEW / "measurements", ignore_errors=True)
    (root / NEW / "table.parquet").unlink()
    fakes.write_rows(root / NEW, fakes.all_rows(fake, (0, 3000)), {"behaviour": 2})


def test_a_run_on_its_own_shows_the_version_it_has(mixed: Context) -> None:
    run = mixed.store.runs()[OLD]
    assert len(run.frame.where(quantity="accuracy"))
    assert run.brief.last == 3000


def test_beside_others_the_former_version_is_left_out_and_named(mixed: Context) -> None:
    store = mixed.store
    run = store.comparable_runs()[OLD]
    assert run.former == ("behaviour",)
    assert not len(run.frame.where(measurement="behaviour"))
    assert len(run.frame.where(measurement="probes.summary"))
    assert run.brief.last is None
    assert store.comparable_runs()[NEW] is store.runs()[NEW]
    both = [store.comparable_runs()[name] for name in (OLD, NEW)]
    assert set(store.across("behaviour", "accuracy", both)["run"]) == {NEW}
    assert set(store.across("probes.summary", "summary_decodability", both)["run"]) == {OLD, NEW}
    (said,) = store.problems
    assert said.startswith(f"behaviour of {OLD} was measured by a version older than 2, which other runs have")
    assert "lengthlens measure" in said


def test_pages_of_several_runs_show_the_newest_alone(mixed: Context) -> None:
    shown = {row["name"]: row for row in lines(mixed, Filters())["rows"]}
    assert (shown[OLD]["verdict"], shown[NEW]["verdict"]) == ("not measured", "length-coupled")
    assert "longest" not in shown[OLD]
    choices = choices_of(mixed.store)
    found = choices.rows(read({}, choices)[0])
    assert isinstance(found, Frame)
    assert set(found["run"]) == {NEW}


def test_compare_draws_no_difference_of_two_versions(mixed: Context) -> None:
    run = mixed.store.runs()[OLD]
    at = PanelCursor.from_link(mixed.store, run, AT, {"run2": NEW})
    drawn = {side: plot(FIRST[f"cmp-accuracy-{side}"], at, LIGHT, "figure")[-1] for side in "abd"}
    assert drawn == {"a": STATE, "b": READY, "d": STATE}
    assert plot(FIRST["cmp-decodability-d"], at, LIGHT, "figure")[-1] == READY
    page = texts(compare.PAGE.draw(mixed, Visit("/compare", f"?run={OLD}&run2={NEW}")).content)
    assert f"behaviour of {run.path} was made by version 1, that of other runs by version 2" in page


def test_a_newer_version_elsewhere_redraws_what_was_on_screen(root: Path) -> None:
    context = Context(Store([root], patience=0), Worker())
    group, modes = [FIRST["cmp-accuracy-a"]], ["figure"]
    before = PanelCursor.from_link(context.store, context.store.runs()[OLD], AT, {"run2": NEW})
    _, shown = redraw_panels(group, before, LIGHT, modes, {})
    renew(root)
    context.store.refresh(force=True)
    after = PanelCursor.from_link(context.store, context.store.runs()[OLD], AT, {"run2": NEW})
    made, now = redraw_panels(group, after, LIGHT, modes, shown)
    assert STATE in made
    assert now != shown
    context.close()
