"""What the table says about heads: any measurement counts, the leading quantities come first, nothing is invented."""

from __future__ import annotations

from typing import Any

import pandas as pd
import pytest

from workbench import figures
from workbench.figures.errors import NotMeasured
from workbench.figures.look import Look
from workbench.table.schema import FIELDS, row


def about(
    quantity: str, values: dict[tuple[int, int], float], length: int | None = 64, **more: Any
) -> list[dict[str, Any]]:
    common = {"run": "r", "step": 10, "law": "matched", "length": length, "measurement": "somebody.else", "n": 64}
    return [
        row(**common, quantity=quantity, layer=a, head=b, value=v, low=v - 0.01, high=v + 0.01, **more)
        for (a, b), v in values.items()
    ]


@pytest.fixture
def frame() -> pd.DataFrame:
    rows = [
        *about("charm", {(0, 0): 3.0, (0, 1): -1.0}),
        *about("hardmax_distance", {(0, 0): 0.2, (0, 1): 0.9}),
        *about("hardmax_distance", {(0, 0): 0.5, (0, 1): 0.1}, length=128),
        *about("accuracy_drop", {(0, 0): 0.4, (0, 1): 0.1}, mode="resample"),
        *about("accuracy_drop", {(0, 0): 0.3, (0, 1): 0.2}, mode="mean"),
        *about("ov_copying", {(0, 0): 0.6, (0, 1): 0.7}, length=None),
        *about("hardmax_distance", {(0, 0): 0.77}, control="shuffled"),
        row(run="r", step=10, law="matched", length=64, measurement="behaviour", quantity="accuracy", value=1.0, n=8),
    ]
    return pd.DataFrame(rows, columns=list(FIELDS))


def test_leading_quantities_come_first_once_each_and_strangers_too(frame: pd.DataFrame) -> None:
    table = figures.head_table(frame, step=10, length=64)
    assert list(dict.fromkeys(table["series"])) == [
        "accuracy_drop \u00b7 mean",
        "hardmax_distance",
        "charm",
        "ov_copying",
    ]
    assert list(dict.fromkeys(table["name"])) == ["Ablation", "Hardmax distance", "Charm", "Ov copying"]
    assert list(dict.fromkeys(zip(table["layer"], table["head"], strict=True))) == [(0, 0), (0, 1)]


def test_heads_are_sorted_by_the_first_column(frame: pd.DataFrame) -> None:
    turned = frame.assign(value=frame["value"].where(frame["mode"] != "mean", 0.5 - frame["value"]))
    table = figures.head_table(turned, step=10, length=64)
    assert (table["layer"].iloc[0], table["head"].iloc[0]) == (0, 1)


def test_values_are_those_of_the_length_and_controls_are_left_out(frame: pd.DataFrame) -> None:
    for length, wanted in ((64, 0.2), (128, 0.5)):
        table = figures.head_table(frame, step=10, length=length)
        mine = table[(table["series"] == "hardmax_distance") & (table["head"] == 0)]
        assert list(mine["value"]) == [wanted]


def test_facts_hold_every_quantity_of_the_head(frame: pd.DataFrame) -> None:
    facts = figures.head_facts(frame, step=10, length=64, layer=0, head=1)
    assert len(facts) == 5
    assert set(facts["text"]) == {"\u22121.00", "0.90", "0.10", "0.20", "0.70"}
    assert facts[facts["quantity"] == "hardmax_distance"]["interval"].iloc[0] == "[0.89, 0.91]"


def test_the_sentence_names_what_ablation_costs(frame: pd.DataFrame) -> None:
    _, numbers = figures.head_sentence(frame, step=10, length=64, layer=0, head=0)
    assert (
        "accuracy drops by 0.30 [0.29, 0.31] with its mean output in its place and by 0.40 [0.39, 0.41] with its output "
        "on another sequence in its place"
    ) in "".join(text for text, _ in numbers)


def test_a_kind_of_hardmax_is_said_in_words(frame: pd.DataFrame) -> None:
    more = [
        row(run="r", step=10, law="matched", length=64, layer=0, head=0, measurement="m", quantity=q, label=label, n=8)
        for q, label in (("hardmax_verdict", "hardmax"), ("hardmax_kind", "sink"))
    ]
    said, _ = figures.head_sentence(
        pd.concat([frame, pd.DataFrame(more, columns=list(FIELDS))]), step=10, length=64, layer=0, head=0
    )
    assert "".join(text for text, _ in said) == "L0H0 rests on the first token at length 64."


def test_any_quantity_is_drawn_over_length(frame: pd.DataFrame) -> None:
    options: dict[str, Any] = {"step": 10, "layer": 0, "head": 0, "trained": 32}
    figure = figures.heads_over_length(frame, quantity="hardmax_distance", **options)
    data = figures.heads_over_length.data(frame, quantity="hardmax_distance", step=10, layer=0, head=0)
    mine = data[data["series"] == "L0H0"]
    assert list(mine["value"]) == [0.2, 0.5]
    assert figure.layout.meta["title"] == "Hardmax distance"


@pytest.mark.parametrize(("value", "low", "high"), [(1.5, 1.38, 1.62), (-0.5, -0.9, -0.1), (40.0, 20.0, 90.0)])
def test_an_axis_over_length_never_cuts_its_own_band(
    value: float, low: float, high: float, frame: pd.DataFrame
) -> None:
    """Of a quantity that is no share: the axis ended at the largest value, and the band above it was cut."""
    for quantity in ("beauty", "tie_size"):
        rows = frame[(frame["quantity"] == "hardmax_distance") & (frame["step"] == 10)].assign(quantity=quantity)
        rows.loc[:, ["value", "low", "high"]] = [value, low, high]
        if quantity == "tie_size" and low <= 0:
            continue
        figure = figures.heads_over_length(rows, quantity=quantity, step=10, layer=0, head=0, trained=32)
        drawn = [y for trace in figure.data if trace.name == "band" for y in trace.y if y is not None]
        bottom, top = figure.layout.yaxis.range
        assert drawn
        assert bottom <= min(drawn) < max(drawn) <= top


@pytest.mark.parametrize("function", ["head_table_figure", "head_facts_figure"])
def test_tables_are_pictures_too(frame: pd.DataFrame, function: str) -> None:
    place = {"layer": 0, "head": 1} if "facts" in function else {}
    figure = getattr(figures, function)(frame, step=10, length=64, look=Look("dark"), **place)
    assert figure.data[0].type == "table"
    assert len(getattr(figures, function).data(frame, step=10, length=64, **place))


def test_what_is_not_measured_is_named(frame: pd.DataFrame) -> None:
    with pytest.raises(NotMeasured, match="step 99"):
        figures.head_table(frame, step=99, length=64)
    with pytest.raises(NotMeasured, match="L3H0"):
        figures.head_facts(frame, step=10, length=64, layer=3, head=0)
    with pytest.raises(NotMeasured, match="beauty"):
        figures.heads_over_length(frame, quantity="beauty", step=10, layer=0, head=0, trained=32)


def test_bars_show_sizes_where_values_may_be_negative(frame: pd.DataFrame) -> None:
    table = figures.head_table(frame, step=10, length=64)
    charm = table[table["series"] == "charm"].set_index("head")["share"]
    assert charm[0] == pytest.approx(1.0)
    assert charm[1] == pytest.approx(1 / 3)


# ---- mass on a tie set that is everything ----------------------------------------------------------
@pytest.fixture
def past_critical(frame: pd.DataFrame) -> pd.DataFrame:
    """The mass of L0H0 falls and is 1 again past its critical length, where the set is all keys."""
    rows = [
        *about("argmax_mass", {(0, 0): 0.8, (0, 1): 0.5}, length=32),
        *about("argmax_mass", {(0, 0): 0.55, (0, 1): 0.5}, length=64),
        *about("argmax_mass", {(0, 0): 1.0}, length=128, label="all keys", note="all keys for 100% of queries"),
        *about("argmax_mass", {(0, 1): 0.5}, length=128),
    ]
    for r in rows:
        r["measurement"] = "circuits.hardmax"
    return pd.concat([frame, pd.DataFrame(rows, columns=list(FIELDS))])


def test_a_mass_that_is_1_by_definition_is_drawn_hollow_and_said(past_critical: pd.DataFrame) -> None:
    place: dict[str, Any] = {"step": 10, "layer": 0, "head": 0, "trained": 32}
    for figure in (
        figures.heads_over_length(past_critical, quantity="argmax_mass", **place),
        figures.head_over_length(past_critical, quantity="argmax_mass", **place),
    ):
        (hollow,) = [trace for trace in figure.data if trace.name == "all keys"]
        assert len(hollow.x) == 1
        assert list(hollow.y) == [1.0]
        # On the line of the head, at its last length.
        ends = [t.x[-1] for t in figure.data if t.name != "all keys" and t.x is not None and len(t.x) == 3]
        assert hollow.x[0] in ends
        assert "1 by definition" in hollow.hovertext[0]
        assert "hollow: the tie set is all keys" in figure.layout.meta["slice"]
    for head, quantity in ((1, "argmax_mass"), (0, "hardmax_distance")):
        other = figures.heads_over_length(past_critical, quantity=quantity, **{**place, "head": head})
        assert not [trace for trace in other.data if trace.name == "all keys"]
        assert "hollow" not in other.layout.meta["slice"]


def test_tables_and_sentences_do_not_call_it_focus(past_critical: pd.DataFrame) -> None:
    table = figures.head_table(past_critical, step=10, length=128)
    mass = table[table["series"] == "argmax_mass"].set_index("head")
    assert dict(mass["text"]) == {0: "all keys", 1: "0.50"}
    assert pd.isna(mass["share"][0])
    assert mass["share"][1] == pytest.approx(0.5)
    facts = figures.head_facts(past_critical, step=10, length=128, layer=0, head=0)
    assert facts[facts["quantity"] == "argmax_mass"]["text"].iloc[0] == "all keys"
    for length, wanted in (
        (64, "0.55 [0.54, 0.56] of its mass is on its tie set"),
        (128, "its tie set is all keys"),
    ):
        _, numbers = figures.head_sentence(past_critical, step=10, length=length, layer=0, head=0)
        assert "".join(text for text, _ in numbers).startswith(wanted)


def test_the_p_of_a_difference_stands_behind_the_quantities(frame: pd.DataFrame) -> None:
    rows = [r for mode in ("mean", "resample") for r in about("accuracy_drop_p", {(0, 0): 0.5}, mode=mode)]
    both = pd.concat([frame, pd.DataFrame(rows, columns=list(FIELDS))])
    names = figures.series_names(both, step=10)
    assert names[-2:] == ["accuracy_drop_p \u00b7 mean", "accuracy_drop_p \u00b7 resample"]
    assert "accuracy_drop_p \u00b7 mean" not in set(figures.head_table(both, step=10, length=64, columns=4)["series"])
