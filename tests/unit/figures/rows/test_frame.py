"""A frame picks, sorts and groups as pandas does, and every kind of rows becomes one."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from workbench import figures
from workbench.figures.errors import NotMeasured
from workbench.figures.rows import frame as frame_module
from workbench.figures.rows.frame import Frame, absent, column, is_in, missing, numbers, present, unique
from workbench.figures.rows.select_rows import cells, latest, stack, tidy
from workbench.table.query import to_pandas


@pytest.fixture
def rows() -> pd.DataFrame:
    """Numbers with and without gaps, texts, and texts as categories."""
    made = pd.DataFrame(
        {
            "step": [3, 1, 2, 1, 3, 2],
            "length": [4.0, np.nan, 4.0, 8.0, 8.0, np.nan],
            "value": [0.5, 0.25, np.nan, 1.0, -2.0, 0.5],
            "law": ["matched", "challenge", "matched", "", "challenge", "matched"],
            "note": ["x", "y", "x", "z", "x", "y"],
        }
    )
    return made.assign(note=made["note"].astype("category"))


def same(found: object, wanted: object) -> None:
    """Values equal, missing ones in the same places, whatever the types."""

    def listed(values: object) -> list[object]:
        return [None if pd.isna(one) else one for one in np.asarray(values, dtype=object)]

    assert listed(found) == listed(wanted)


QUESTIONS = {
    "comparison": (lambda f: f.where(f["value"] >= 0.5)["step"], lambda p: p[p["value"] >= 0.5]["step"]),
    "missing": (
        lambda f: f.where(absent(f["length"]) & present(f["value"]))["law"],
        lambda p: p[p["length"].isna() & p["value"].notna()]["law"],
    ),
    "any of": (lambda f: f.where(note=["x", "z"])["step"], lambda p: p[p["note"].isin(["x", "z"])]["step"]),
    "mask and value": (
        lambda f: f.where(f["step"] < 3, law="matched")["value"],
        lambda p: p[(p["step"] < 3) & (p["law"] == "matched")]["value"],
    ),
    "is in": (lambda f: f.where(is_in(f["step"], (1, 3)))["law"], lambda p: p[p["step"].isin([1, 3])]["law"]),
    "sorted": (
        lambda f: f.sort("length", "step")["value"],
        lambda p: p.sort_values(["length", "step"], kind="stable")["value"],
    ),
    "repeats": (lambda f: f.where(f.repeats("step"))["law"], lambda p: p[p.duplicated(["step"])]["law"]),
    "unique": (lambda f: unique(f["length"]), lambda p: p["length"].unique()),
    "numbers": (lambda f: numbers(f["length"]), lambda p: p["length"].dropna()),
    "set": (
        lambda f: f.with_columns(law="m", value=[6, 5, 4, 3, 2, 1]).take([0, 1])["value"],
        lambda p: p.assign(value=[6, 5, 4, 3, 2, 1]).head(2)["value"],
    ),
    "by position": (lambda f: f.take([4, 0])["note"], lambda p: p.iloc[[4, 0]]["note"]),
    "nested": (
        lambda f: f.where(f["step"] < 3).where(f.where(f["step"] < 3)["law"] != "")["note"],
        lambda p: p[(p["step"] < 3) & (p["law"] != "")]["note"],
    ),
}


def test_without_columns_there_are_no_rows() -> None:
    assert len(Frame({})) == 0
    assert Frame({}).rows() == []


@pytest.mark.parametrize("question", QUESTIONS)
def test_what_is_picked_is_what_pandas_picks(question: str, rows: pd.DataFrame) -> None:
    ask, ask_pandas = QUESTIONS[question]
    same(ask(Frame.of(rows)), ask_pandas(rows))


@pytest.mark.parametrize("by", [["step"], ["law", "step"], ["length"]])
def test_groups_hold_the_same_rows_in_the_order_of_appearance(by: list[str], rows: pd.DataFrame) -> None:
    found = [(key, part["value"]) for key, part in Frame.of(rows).group(*by)]
    wanted = [(key, part["value"]) for key, part in rows.groupby(by, dropna=False, sort=False)]
    same([str(k) for k, _ in found], [str(k).replace("nan", "None") for k, _ in wanted])
    for (_, one), (_, other) in zip(found, wanted, strict=True):
        same(one, other)


def test_rows_are_plain_values(rows: pd.DataFrame) -> None:
    first = Frame.of(rows).row(0)
    assert first == {"step": 3, "length": 4.0, "value": 0.5, "law": "matched", "note": "x"}
    assert Frame.of(rows).rows()[0] == first
    assert type(first["step"]) is int
    assert Frame.of(rows).row(-1)["note"] == "y"


def test_frames_below_each_other_are_empty_where_one_lacks_a_column() -> None:
    one, other = Frame.from_rows([{"a": 1, "b": "x"}]), Frame.from_rows([{"a": 2}])
    assert Frame.concat([one, other]).rows() == [{"a": 1, "b": "x"}, {"a": 2, "b": None}]


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        ([True, False], "b"),
        ([1, 2], "i"),
        ([1, 2.5, None], "f"),
        (["a", None], "O"),
        ([[1, 2], [3, 4]], "O"),
        ([], "O"),
        ([None, None], "O"),
        ([True, None], "O"),
        ([1, True], "O"),
        ([1.5, True], "O"),
        ([1.5, "a"], "O"),
        ([1, None], "f"),
        ([np.float32(1), 2], "f"),
        ([np.int64(1), 2], "i"),
        ([np.bool_(True), False], "b"),
    ],
)
def test_a_column_has_the_type_of_its_values(values: list[Any], kind: str) -> None:
    made = column(values)
    assert made.dtype.kind == kind
    assert made.shape == (len(values),)
    same(made, pd.Series(values, dtype=object)) if values and not isinstance(values[0], list) else None


def test_what_is_made_of_a_frame_leaves_it_alone(rows: pd.DataFrame) -> None:
    held = Frame.of(rows)
    held.with_columns(law="m").where(step=3).sort("value")
    same(held["law"], rows["law"])


def test_texts_of_many_rows_are_held_as_codes_and_picked_alike(
    rows: pd.DataFrame, monkeypatch: pytest.MonkeyPatch
) -> None:
    few = Frame.of(rows)
    monkeypatch.setattr(frame_module, "FEW", 2)
    held = Frame.of(rows)
    for equals in ({"note": "x"}, {"note": ["x", "z"], "step": 3}, {"note": "nowhere"}, {"note": "y", "length": 4.0}):
        same(held.where(**equals)["step"], few.where(**equals)["step"])
        same(held.where(**equals)["step"], few.where(**equals)["step"])  # kept since the first time
    same(cells(held, "value", note="x"), cells(few, "value", note="x"))
    same(held.distinct("length"), [4.0, 8.0])
    same(held.where(step=1).to_pandas()["note"], rows[rows["step"] == 1]["note"])


def test_of_several_runs_each_has_its_own_latest_rows() -> None:
    frame = Frame.from_rows([{"run": run, "step": step} for run, step in (("a", 1), ("b", 5), ("a", 3), ("a", 3))])
    assert latest(frame, "step").rows() == [{"run": "b", "step": 5}, *[{"run": "a", "step": 3}] * 2]


# ---- rows that callers pass -----------------------------------------------------------------------------
class Loaded:
    """What gives its rows by ``frame()``, as a table of runs does."""

    def __init__(self, rows: pd.DataFrame) -> None:
        self.rows = rows

    def frame(self) -> pd.DataFrame:
        return self.rows


@pytest.mark.parametrize(
    "turned",
    [lambda r: r, Frame.of, lambda r: pa.Table.from_pandas(r), Loaded],
    ids=["frame", "rows", "arrow", "table"],
)
def test_a_figure_takes_rows_of_every_kind(turned: Any, robust: pd.DataFrame) -> None:
    wanted = figures.accuracy_over_length(robust, trained=50, step=1000)
    assert figures.accuracy_over_length(turned(robust), trained=50, step=1000) == wanted


def test_rows_come_back_in_the_kind_they_came_in(robust: pd.DataFrame) -> None:
    as_pandas = figures.accuracy_over_length.data(robust, step=1000)
    as_frame = figures.accuracy_over_length.data(Frame.of(robust), step=1000)
    assert isinstance(as_pandas, pd.DataFrame)
    assert isinstance(as_frame, Frame)
    for name in as_frame.names:
        same(as_frame[name], as_pandas[name])


def test_rows_may_be_named(robust: pd.DataFrame) -> None:
    assert len(figures.accuracy_over_length.data(frame=robust, step=1000)) > 0


# ---- what a figure's rows are -----------------------------------------------------------------------
def test_two_rows_at_one_place_are_refused(robust: pd.DataFrame) -> None:
    with pytest.raises(ValueError, match="training"):
        tidy(Frame.of(robust).where(measurement="behaviour", quantity="accuracy"), "all", "step")


def test_series_are_stacked_in_order(robust: pd.DataFrame) -> None:
    found = Frame.of(robust).where(
        measurement="behaviour", quantity="accuracy", mode="teacher_forced", law="matched", length=50
    )
    assert unique(stack([tidy(found, "b", "step"), tidy(found, "a", "step")])["series"]) == ["b", "a"]


def test_what_is_missing_is_said(synthetic: ModuleType, robust: pd.DataFrame) -> None:
    with pytest.raises(NotMeasured, match="step 77"):
        figures.accuracy_over_length(robust, trained=50, step=77)


# ---- what is there and what is not --------------------------------------------------------------------
@pytest.mark.parametrize(
    ("values", "gone"),
    [
        (np.array([1.0, np.nan]), [False, True]),
        (np.array([1, 0]), [False, False]),
        (np.array([True, False]), [False, False]),
        (np.array(["", None, float("nan"), 0], dtype=object), [False, True, True, False]),
    ],
)
def test_nothing_is_nan_or_none(values: Any, gone: list[bool]) -> None:
    assert absent(values).tolist() == gone
    assert present(values).tolist() == [not one for one in gone]
    assert [missing(one) for one in values.tolist()] == gone


@pytest.mark.parametrize(
    ("given", "held"),
    [
        (pd.Series([1.0, None]), [1.0, None]),
        (pd.Series([1, 2]), [1, 2]),
        (pd.Series([1, None], dtype="Int64"), [1.0, None]),
        (pd.Series([True, False]), [True, False]),
        (pd.Series(["a", None], dtype=object), ["a", None]),
        (pd.Series([], dtype=object), []),
        (pd.Series(["a", None, "b"], dtype="category"), ["a", None, "b"]),
    ],
)
def test_columns_of_pandas_are_held_with_none_where_nothing_is(given: pd.Series, held: list[Any]) -> None:
    same(Frame.of(pd.DataFrame({"a": given}))["a"], held)
    assert unique(Frame.of(pd.DataFrame({"a": given}))["a"]) == held


NARROW = {"step": pa.int64(), "length": pa.int32(), "layer": pa.int16(), "value": pa.float64(), "few": pa.float32()}
TEXTS = ("law", "note")


def stored(count: int, chunks: int) -> pa.Table:
    """Rows as they are read: narrow integers, some missing, texts as codes of dictionaries that differ by chunk."""
    parts = []
    for part in range(chunks):
        places = [(7 * place + part) % 5 for place in range(count)]
        gaps = [None if place == 3 else place for place in places]
        numbers_of = {name: pa.array(places if name == "step" else gaps, kind) for name, kind in NARROW.items()}
        texts = {
            name: pa.array([None if place == 2 else f"{name} {place + part}" for place in places]).dictionary_encode()
            for name in TEXTS
        }
        parts.append(pa.table(numbers_of | texts | {"plain": pa.array([str(place) for place in places])}))
    return pa.concat_tables(parts)


@pytest.mark.parametrize("few", [0, 4096])
@pytest.mark.parametrize(("count", "chunks"), [(0, 1), (1, 1), (12, 1), (9, 3)])
def test_a_stored_table_is_held_as_its_dataframe_is(
    monkeypatch: pytest.MonkeyPatch, few: int, count: int, chunks: int
) -> None:
    """Through pandas, as users do it, and straight: values, types, what is missing, what is picked."""
    monkeypatch.setattr(frame_module, "FEW", few)
    table = stored(count, chunks)
    straight, around = Frame.of(table), Frame.of(to_pandas(table.unify_dictionaries()))
    assert straight.names == around.names == [*NARROW, *TEXTS, "plain"]
    assert len(straight) == len(around) == count * chunks
    for name in straight.names:
        assert straight[name].dtype == around[name].dtype, name
        same(straight[name], around[name].tolist())
    for law in ("law 0", "law 3", "nowhere"):
        assert straight.where(law=law)["step"].tolist() == around.where(law=law)["step"].tolist()


def test_columns_are_picked_and_set(rows: pd.DataFrame) -> None:
    frame = Frame.of(rows)
    assert frame.only(["law", "step"]).names == ["law", "step"]
    assert frame.without("law", "note").names == ["step", "length", "value"]
    assert ("law" in frame, "mode" in frame) == (True, False)
    made = frame.take([0, 1]).with_columns(a=None, b=True, c=2.5, d="x", e=np.array([1, 2]), f=("y", "z"))
    assert made.only("abcdef").rows() == [
        {"a": None, "b": True, "c": 2.5, "d": "x", "e": 1, "f": "y"},
        {"a": None, "b": True, "c": 2.5, "d": "x", "e": 2, "f": "z"},
    ]
    assert made["step"].tolist() == [3, 1]


def test_what_is_said_of_rows_as_a_whole_goes_with_them(rows: pd.DataFrame) -> None:
    rows.attrs["pairs"] = "same length"
    frame = Frame.of(rows)
    assert frame.where(step=3).attrs == frame.to_pandas().attrs == {"pairs": "same length"}


def test_rows_without_any_keep_the_names_of_their_columns() -> None:
    assert Frame.from_rows([], ["a", "b"]).names == ["a", "b"]
    assert Frame.from_rows([{"a": 1}], ["b"]).names == ["a"]
    joined = Frame.concat([Frame.from_rows([{"a": 1}]), Frame.from_rows([{"a": "x"}])])
    assert joined.rows() == [{"a": 1}, {"a": "x"}]
    assert Frame.concat([Frame.from_rows([{"a": 1}]), Frame.from_rows([{"a": 2.5}])])["a"].dtype.kind == "f"


@pytest.mark.parametrize("few", [0, 100])
def test_values_of_other_kinds_are_found_nowhere(few: int, monkeypatch: pytest.MonkeyPatch, rows: pd.DataFrame) -> None:
    monkeypatch.setattr(frame_module, "FEW", few)
    frame = Frame.of(rows.assign(measurement=["m", "k"] * 3, quantity="q"))
    for equals, steps in (
        ({"measurement": "m", "quantity": "q", "step": [2, 3]}, [3, 2, 3]),
        ({"measurement": ["m", "k"], "step": 1}, [1, 1]),
        ({"step": (1, 2), "measurement": "k"}, [1, 1, 2]),
        ({"step": "nowhere"}, []),
        ({"note": 3}, []),
    ):
        assert frame.where(**equals)["step"].tolist() == steps


def test_only_picks_of_few_rows_are_kept_and_not_too_many_of_them(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in (("FEW", 2), ("FEW_INDICES", 2), ("MOST_KEPT", 2)):
        monkeypatch.setattr(frame_module, name, value)
    frame = Frame.from_rows([{"a": n, "b": min(n, 3)} for n in range(6)])

    def again(**equals: int) -> bool:
        return frame.indices(equals) is frame.indices(equals)

    assert not again(b=3)  # three rows
    frame = Frame.from_rows([{"a": n, "b": n // 2} for n in range(6)])
    assert again(b=1)  # two; beside it the group of all rows is kept
    assert not again(a=1)
