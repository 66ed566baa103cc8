"""What is kept of every run agrees with its rows, read another way; and memory does not grow with the folder."""

from __future__ import annotations

import shutil
from pathlib import Path

import pyarrow.compute as pc
import pytest

from tests.support.places import GALLERY
from workbench.dashboard.state.run_brief import READ, SERIES, BriefRows, make_brief
from workbench.dashboard.state.run_kinds import TRAINED
from workbench.dashboard.state.run_view import FRAMES, Cache
from workbench.dashboard.state.series_rows import FIRST, SeriesRows
from workbench.dashboard.state.store import Store
from workbench.figures.rows.multiples import length_at
from workbench.figures.rows.select_rows import DRAWN
from workbench.table import Table
from workbench.table.reading import read_run

A, B = "majority-nope-s0", "flip_flop-rotary-s0"


@pytest.mark.parametrize("name", [A, B])
def test_a_brief_says_what_the_rows_say(small_root: Path, name: str) -> None:
    brief = Store([small_root], patience=0).runs()[name].brief
    rows = Table.load(small_root / name).frame()
    assert brief.rows == len(rows)
    assert brief.quantities == set(zip(rows["measurement"], rows["quantity"], strict=True))
    verdicts = rows[rows["quantity"] == "verdict"]
    assert brief.verdicts == dict(zip(verdicts["step"], verdicts["label"], strict=True))
    assert brief.last == rows["step"].max()
    last = rows[rows["step"] == brief.last]
    accuracy = last[(last["quantity"] == "accuracy") & (last["law"] == "matched")].sort_values("length")
    assert [one["value"] for one in brief.accuracy] == accuracy["value"].tolist()
    assert brief.lengths == tuple(accuracy["length"])
    assert brief.chance == rows.loc[rows["quantity"] == "chance", "value"].min()
    deepest = last[(last["layer"] == last["layer"].max()) & (last["length"] == last["length"].max())]
    summary = deepest[(deepest["quantity"] == "summary_decodability") & (deepest["mode"] == "transfer")]
    position = deepest[(deepest["quantity"] == "position_decodability") & (deepest["target"] == "log_i")]
    position = position[(position["mode"] == "refit") & (position["control"] == "")]
    for concept, row in (("summary", summary), ("position", position)):
        held = {name: row[name].item() for name in ("value", "low", "high", "layer", "length")}
        rivals = deepest[(deepest["measurement"] == f"probes.{concept}") & (deepest["control"] != "")]
        rivals = rivals[rivals["target"] == row["target"].item()]
        assert brief.carries[concept] == held | {"control": rivals["value"].max()}


def test_a_run_without_a_verdict_has_its_chance_level(small_root: Path) -> None:
    reading = read_run(small_root / A, READ)
    rows = reading.rows.filter(pc.field("quantity") != "verdict")
    brief = make_brief(reading, BriefRows(rows), TRAINED.behaviour, 32)
    assert (brief.last, brief.chance) == (None, 0.5)


def test_a_brief_keeps_the_share_of_tokens_where_an_answer_is_several(small_root: Path) -> None:
    reading = read_run(small_root / A, READ)
    assert make_brief(reading, BriefRows(reading.rows), TRAINED.behaviour, 32).tokens == {}
    quantity = pc.cast(reading.rows["quantity"], "string")
    renamed = pc.if_else(pc.equal(quantity, "exact_match"), "token_accuracy", quantity).dictionary_encode()
    rows = reading.rows.set_column(reading.rows.column_names.index("quantity"), "quantity", renamed)
    brief = make_brief(reading, BriefRows(rows), TRAINED.behaviour, 32)
    frame = Table.load(small_root / A).frame(quantity="exact_match", law="matched", step=brief.last)
    assert brief.tokens == dict(zip(frame["length"].astype(int), frame["value"], strict=True))


def test_what_is_said_of_hard_strata_says_how_many_sequences_are_distinct() -> None:
    """In the challenge test set of a majority, only four strings lead by one."""
    brief = Store([GALLERY], patience=0).runs()["majority_nope_s1"].brief
    assert brief.ties == {
        "label": "fail",
        "kind": "small margins",
        "note": "lead 1: 0.71 [0.62, 0.79] at 187 (challenge law, over 4 distinct sequences), 1.00 [0.97, 1.00] at 31; "
        "worst of 20 cells",
    }


def test_rows_across_runs_are_those_of_the_whole_table(small_root: Path) -> None:
    store = Store([small_root])
    runs = [store.runs()[name] for name in (A, B)]
    ours = store.across("circuits.hardmax", "margin", runs, control="", step=1000)
    whole = Table.load(small_root).frame(quantity="margin", step=1000, control="")
    keys = ["run", "layer", "head", "length"]
    assert ours.to_pandas().sort_values(keys)["value"].tolist() == whole.sort_values(keys)["value"].tolist()
    assert set(ours["run"]) == {A, B}


@pytest.mark.parametrize("step", [None, 1200])
@pytest.mark.parametrize("series", [FIRST, ("circuits.hardmax", "margin", "matched", "", "")])
def test_a_series_of_all_runs_is_that_of_the_whole_table(
    small_root: Path, series: tuple[str, ...], step: int | None
) -> None:
    rows = Table.load(small_root).frame(control="", **dict(zip(SERIES, series, strict=True)))
    rows = rows[rows["value"].notna() & rows["status"].isin(DRAWN)]
    store = Store([small_root])
    assert {run.name for run in store.runs().values() if series in dict(run.brief.series)} == set(rows["run"])
    for name, part in rows.groupby("run"):
        assert dict(store.runs()[name].brief.series)[series] == tuple(sorted(set(part["length"])))
    rows = rows if step is None else rows[rows["step"] <= step]
    rows = rows[rows["step"] == rows.groupby("run")["step"].transform("max")]
    found = store.series(series, wait=True)
    assert isinstance(found, SeriesRows)
    made = found.frame(step=step).to_pandas()
    columns = ["run", "step", "length", "value", "status"]
    assert sorted(made[columns].values.tolist()) == sorted(rows[columns].values.tolist())
    times = found.frame(step=step, times=4.0, trained=dict.fromkeys(found.runs, 25)).to_pandas()
    assert set(times["length"]) == {length_at(rows["length"], 25, 4.0)}


def test_a_run_that_goes_before_its_rows_are_read_has_none(small_root: Path, tmp_path: Path) -> None:
    root = Path(shutil.copytree(small_root, tmp_path / "runs"))
    run = Store([root], patience=0).runs()[A]
    shutil.rmtree(root / A)
    assert len(run.frame) == 0
    assert "quantity" in run.frame


def test_the_longest_unused_goes_first() -> None:
    made: list[int] = []
    held: Cache[int] = Cache(2)
    for key in (1, 2, 1, 3, 1, 2):  # 2 is the longest unused when 3 comes
        held(key, lambda key=key: made.append(key) or key)  # type: ignore[misc]
    assert made == [1, 2, 3, 2]
    assert FRAMES < 100
