"""Compare with up to eight configurations: what a link chooses, what it does not hold, and the rows of its lines."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest

from tests.support.dashboard import fakes
from tests.support.dashboard.answers import texts
from workbench.dashboard.pages import compare, compare_many
from workbench.dashboard.panels.panel_spec import PanelCursor
from workbench.dashboard.server.context import Context
from workbench.dashboard.server.worker import Worker
from workbench.dashboard.state.chosen_configurations import choose_configurations, escape_name, measured_configurations
from workbench.dashboard.state.cursor import Cursor
from workbench.dashboard.state.store import Store
from workbench.table import Table

A, SEED, B, ODD = "majority-nope-s0", "majority-nope-s1", "flip_flop-rotary-s0", "50%|odd"
STEPS = (0, 1500, 3000)


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Context]:
    """Two seeds of one configuration, another configuration, and ten more of one seed, one of them oddly named."""
    root = tmp_path_factory.mktemp("runs")
    made = [*fakes.FAKES[:3], replace(fakes.FAKES[3], name=ODD)]
    made += [replace(fakes.FAKES[3], name=f"parity-{k}", positions=f"scheme {k}") for k in range(8)]
    for fake in made:
        fakes.write_rows(fakes.write_run(root, fake, STEPS), fakes.all_rows(fake, STEPS))
    context = Context(Store([root]), Worker())
    yield context
    context.worker.close()


def at(context: Context, configs: str, length: int = 200, **extras: str) -> PanelCursor:
    run = context.store.run(A)
    assert run is not None
    return PanelCursor.from_link(context.store, run, Cursor(A, 3000, length), {"configs": configs, **extras})


def test_a_link_names_one_run_of_each_configuration_and_shows_all_seeds(many: Context) -> None:
    found = at(many, f"{SEED}|{B}|{escape_name(ODD)}").configurations
    assert [one.letter for one in found] == ["A", "B", "C"]
    assert [[run.name for run in one.runs] for one in found] == [[A, SEED], [B], [ODD]]
    run = many.store.runs()[A]
    extras, notices = compare.check(many, run, {"configs": f"{SEED}|{B}|{escape_name(ODD)}"})
    assert (extras["configs"], notices) == (f"{B}|50%25%7Codd", [])
    assert compare.check(many, run, {"configs": SEED})[0]["configs"] == A, "one alone is shown alone"
    assert compare.check(many, run, {})[0]["configs"] == ""
    assert measured_configurations(many.store)[A] == "majority-nope \u00b7 2 seeds"


def test_what_a_link_names_and_the_folder_has_not_is_said(many: Context) -> None:
    run = many.store.runs()[A]
    found, notices = choose_configurations(many.store, run, f"<b>|{B}|../../etc")
    assert [one.runs[0].name for one in found] == [A, B]
    assert [notice.asked for notice in notices] == [
        "This link names the run <b>, which is not in this folder.",
        "This link names the run ../../etc, which is not in this folder.",
    ]
    found, notices = choose_configurations(many.store, run, "|".join(f"parity-{k}" for k in range(8)) + f"|{B}")
    assert len(found) == 8
    assert [notice.asked for notice in notices] == ["This link names 10 configurations; at most 8 can be shown."]


def test_lines_and_table_are_the_rows(many: Context) -> None:
    """The median of two seeds against the table read on its own."""
    place = at(many, B)
    panel = next(one for one in compare_many.PANELS if one.id == "many-challenge")
    data = panel.data(place).set_index(["series", "length"])
    rows = Table.load(many.store.roots[0]).frame(
        measurement="behaviour", quantity="accuracy", law="challenge", step=3000
    )
    rows = rows[rows["mode"] == "teacher_forced"].set_index(["run", "length"])["value"]
    for length in (50, 200, 400):
        own = [rows[name, length] for name in (A, SEED)]
        row = data.loc[("A", length)]
        assert (row["value"], row["low"], row["high"]) == pytest.approx((sum(own) / 2, min(own), max(own)))
        assert data.loc[("B", length), "value"] == pytest.approx(rows[B, length])
    said = texts(compare_many.at_cursor(place))
    assert f"{data.loc[('A', 200), 'value']:.2f} [{data.loc[('A', 200), 'low']:.2f}," in said
    assert "1 scale-robust" in said
    assert "1 undecided" in said
    assert "Task" in said
    assert "rotary" in said
    assert (
        compare_many.at_cursor(at(many, B, length=150, axis="length"))
        .children[1]
        .children.children[-1]
        .children.endswith("at length 150")
    )


def test_configurations_stand_at_the_same_share_of_training(many: Context, monkeypatch: pytest.MonkeyPatch) -> None:
    """Half of 3,000 steps; of a run of 1,500 steps that is its 750, paired by shares, and 1,500 paired by steps."""
    short = replace(many.store.runs()[B], steps=(0, 750, 1500))
    short = replace(short, brief=replace(short.brief, steps=(0, 750, 1500)))
    together = {**many.store.comparable_runs(), B: short}
    monkeypatch.setattr(many.store, "comparable_runs", lambda: together)
    run = many.store.runs()[A]
    for pairing, step in (("", 750), ("step", 1500)):
        extras = {"configs": B, "steps": pairing}
        placed = PanelCursor.from_link(many.store, run, Cursor(A, 1500, 200), extras).configuration_values[
            "configurations"
        ]
        assert placed == {"A": {A: 1500, SEED: 1500}, "B": {B: step}}
