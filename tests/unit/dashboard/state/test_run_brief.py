"""What is kept of every run agrees with its rows, read another way; and memory does not grow with the folder."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from workbench.dashboard.state.run_view import FRAMES, Cache
from workbench.dashboard.state.store import Store
from workbench.table import Table

A, B = "majority-nope-s0", "flip_flop-rotary-s0"


@pytest.mark.parametrize("name", [A, B])
def test_a_brief_says_what_the_rows_say(small_root: Path, name: str) -> None:
    brief = Store([small_root]).runs()[name].brief
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


def test_rows_across_runs_are_those_of_the_whole_table(small_root: Path) -> None:
    ours = Store([small_root]).across("circuits.hardmax", "margin", control="", step=1000)
    whole = Table.load(small_root).frame(quantity="margin", step=1000, control="")
    keys = ["run", "layer", "head", "length"]
    assert ours.to_pandas().sort_values(keys)["value"].tolist() == whole.sort_values(keys)["value"].tolist()
    assert set(ours["run"]) == {A, B}


def test_a_run_that_goes_before_its_rows_are_read_has_none(small_root: Path, tmp_path: Path) -> None:
    root = Path(shutil.copytree(small_root, tmp_path / "runs"))
    run = Store([root]).runs()[A]
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
