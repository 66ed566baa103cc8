"""A light frame answers what pandas' frame of the same rows answers."""

from __future__ import annotations

from types import ModuleType

import numpy as np
import pandas as pd
import pytest

from workbench import figures
from workbench.figures import light
from workbench.figures.errors import NotMeasured
from workbench.figures.light import Frame
from workbench.figures.rows import as_pandas, cells, distinct, highest, pick, series_of, stack, tidy


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

    def listed(column: object) -> list[object]:
        return [None if pd.isna(one) else one for one in np.asarray(column, dtype=object)]

    assert listed(found) == listed(wanted)


QUESTIONS = {
    "comparison": lambda f: f[f["value"] >= 0.5]["step"],
    "missing": lambda f: f[f["length"].isna() & f["value"].notna()]["law"],
    "negation": lambda f: f[~(f["law"] == "matched")]["value"],
    "any of": lambda f: f[f["note"].isin(["x", "z"])]["step"],
    "unequal texts": lambda f: f[f["law"] != ""]["value"],
    "filled": lambda f: f["value"].fillna(f["length"]),
    "clipped": lambda f: f["value"].clip(0.0, 1.0),
    "sorted": lambda f: f.sort_values(["length", "step"])["value"],
    "doubles": lambda f: f[f.duplicated(["step"])]["law"],
    "without doubles": lambda f: f.drop_duplicates(["length"], keep="last")["value"],
    "unique": lambda f: f["length"].dropna().unique(),
    "set": lambda f: f.assign(law="m", value=[6, 5, 4, 3, 2, 1]).head(2)["value"],
    "by position": lambda f: f.iloc[[4, 0]]["note"],
    "one of rows": lambda f: f.loc[f["step"] == 2, "value"],
    "nested": lambda f: f[f["step"] < 3][f[f["step"] < 3]["value"].notna()]["note"],
}


@pytest.mark.parametrize("question", QUESTIONS)
def test_a_column_is_what_pandas_gives(question: str, rows: pd.DataFrame) -> None:
    ask = QUESTIONS[question]
    same(ask(Frame.of(rows)), ask(rows))


def test_numbers_of_a_column_are_what_pandas_gives(rows: pd.DataFrame) -> None:
    held = Frame.of(rows)
    for name in rows:
        assert held[name].nunique() == rows[name].nunique(), name
        assert held[name].nunique(dropna=False) == rows[name].nunique(dropna=False), name
    for name in ("step", "value"):
        assert (held[name].min(), held[name].max()) == (rows[name].min(), rows[name].max())
    assert held.loc[held["value"].idxmin()]["law"] == rows.loc[rows["value"].idxmin()]["law"]


@pytest.mark.parametrize("by", [["step"], ["law", "step"], ["length"]])
def test_groups_come_in_the_same_order(by: list[str], rows: pd.DataFrame) -> None:
    found = [(key, part["value"]) for key, part in Frame.of(rows).groupby(by, dropna=False)]
    wanted = [(key, part["value"]) for key, part in rows.groupby(by, dropna=False)]
    same([str(k) for k, _ in found], [str(k).replace("nan", "None") for k, _ in wanted])
    for (_, one), (_, other) in zip(found, wanted, strict=True):
        same(one, other)


def test_texts_of_many_rows_are_held_as_codes_and_picked_alike(
    rows: pd.DataFrame, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(light, "FEW", 2)
    held = Frame.of(rows)
    for equals in ({"note": "x"}, {"note": ["x", "z"], "step": 3}, {"note": "nowhere"}, {"note": "y", "length": 4.0}):
        same(pick(held, **equals)["step"], pick(rows, **equals)["step"])
    same(cells(held, "value", note="x"), cells(rows, "value", note="x"))
    same(distinct(held, "length"), distinct(rows, "length"))
    same(as_pandas(held[held["step"] == 1])["note"], rows[rows["step"] == 1]["note"])


def test_series_of_a_run_are_the_same_both_ways(robust: pd.DataFrame) -> None:
    where = {"measurement": "behaviour", "quantity": "accuracy", "mode": "teacher_forced", "law": "matched"}
    made = []
    for frame in (robust, Frame.of(robust)):
        found = pick(frame, **where)
        made.append(stack([tidy(found, "all", ["step", "length"]), tidy(highest(found, "step"), "best", "step")]))
    plain, held = made
    assert [name for name, _ in series_of(held)] == [name for name, _ in series_of(plain)] == ["all", "best"]
    for name in plain:
        same(held[name], plain[name])


def test_two_rows_at_one_place_are_refused_in_the_same_words(robust: pd.DataFrame) -> None:
    said = []
    for frame in (robust, Frame.of(robust)):
        with pytest.raises(ValueError, match="two rows of all") as raised:
            tidy(pick(frame, measurement="behaviour", quantity="accuracy"), "all", "step")
        said.append(str(raised.value))
    assert said[0] == said[1]


def test_what_is_missing_is_said_in_the_same_words(synthetic: ModuleType, robust: pd.DataFrame) -> None:
    for frame in (robust, Frame.of(robust)):
        with pytest.raises(NotMeasured, match="is not measured at training step 77"):
            figures.accuracy_over_length(frame, trained=50, step=77)
