"""Answers in context over items: both accuracies, the tokens, and the length that the verdict names; heads beside."""

from __future__ import annotations

import io
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from rich.console import Console

from tests.support.cited import said
from workbench.cli.show_in_context import in_context_verdict
from workbench.core.verdicts import VERDICTS
from workbench.figures import (
    NotMeasured,
    NotShared,
    in_context_difference,
    in_context_over_length,
    inducing_heads_over_length,
)
from workbench.figures.in_context.inducing_heads import leading_inducer
from workbench.figures.look import Look
from workbench.figures.rows.frame import Frame
from workbench.figures.style.template import u_length
from workbench.figures.text.in_context_sentence import asymmetry_sentence, in_context_rail
from workbench.table.schema import row

ITEMS, RIGHT = (8, 16, 64), (1.0, 0.98, 0.2)


def frame(label: str = "decays", at: int = 64) -> pd.DataFrame:
    own: dict[str, Any] = {"run": "real", "step": 1, "measurement": "behaviour.in_context", "target": "pairs", "n": 64}
    heads: dict[str, Any] = {"run": "real", "step": 1, "measurement": "circuits.heads", "mode": "task", "n": 64}
    rows = []
    for n, right in zip(ITEMS, RIGHT, strict=True):
        where = {**own, "length": n, "mode": "teacher_forced", "law": "matched"}
        near = {"value": right, "low": right - 0.02, "high": min(1.0, right + 0.02)}
        rows.append(row(quantity="answer_accuracy", **near, **where))
        rows.append(row(quantity="candidate_chance", value=0.25, **where))
        rows.append(row(quantity="prompt_tokens", value=2.0 * n + 3, **where))
        for layer in range(3):
            for head in range(3):
                mass = right * (layer * 3 + head) / 8
                there = {"quantity": "induction_mass", "layer": layer, "head": head, "law": "matched"}
                rows.append(row(**heads, **there, length=n, value=mass))
    rows.append(row(quantity="in_context_verdict", label=label, length=at, law="matched", note="why", **own))
    return pd.DataFrame(rows)


@pytest.mark.parametrize(
    ("label", "at", "said"),
    [("decays", 64, "decays from 64"), ("holds", 16, "holds to 16"), ("partial", 64, "partial, decays from 64")],
)
def test_the_length_that_the_verdict_names_is_marked(label: str, at: int, said: str) -> None:
    drawn = in_context_over_length(frame(label, at), trained=4096, step=1)
    (mark,) = [shape for shape in drawn.layout.shapes if shape.name == "verdict"]
    assert mark.x0 == mark.x1 == pytest.approx(u_length(at))
    assert said in [note.text for note in drawn.layout.annotations]
    assert drawn.layout.meta["slice"].startswith(f"presented as pairs · {said}")


def test_a_new_verdict_that_names_a_length_is_one_entry(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(VERDICTS, "wanes", replace(VERDICTS["decays"], word="Wanes", at_length=("wanes from", "on")))
    drawn = in_context_over_length(frame("wanes", 64), trained=4096, step=1)
    assert "wanes from 64" in [note.text for note in drawn.layout.annotations]
    console = Console(file=io.StringIO(), width=200)
    in_context_verdict(console, frame("wanes", 64))
    assert "Wanes from 64 items on, presented as pairs" in console.file.getvalue()


def test_a_model_that_is_not_capable_has_no_mark_and_tokens_stand_under_items() -> None:
    drawn = in_context_over_length(frame("not capable", 8), trained=4096, step=1, look=Look("dark"))
    assert [shape for shape in drawn.layout.shapes if shape.name == "verdict"] == []
    assert "not capable" in drawn.layout.meta["slice"]
    assert {"8<br>19", "64<br>131"} <= set(drawn.layout.xaxis.ticktext)
    assert "1.00 at length 8" in drawn.layout.meta["alt"]


def test_the_rows_are_those_drawn_and_answers_without_weights_lack_the_symbols() -> None:
    data = in_context_over_length.data(frame(), step=1)
    assert list(dict.fromkeys(data["series"])) == ["all tokens", "chance"]
    assert data[data["series"] == "all tokens"]["value"].tolist() == list(RIGHT)
    assert data["note"].tolist()[:3] == ["19 tokens", "35 tokens", "131 tokens"]
    with pytest.raises(NotMeasured):
        in_context_over_length.data(frame(), step=2)


def test_the_six_leading_heads_are_drawn_and_the_chosen_one_in_front() -> None:
    data = inducing_heads_over_length.data(frame(), step=1, layer=0, head=0)
    series = list(dict.fromkeys(data["series"]))
    assert series == ["L2H2", "L2H1", "L2H0", "L1H2", "L1H1", "L1H0", "L0H0"]
    drawn = inducing_heads_over_length(frame(), trained=4096, step=1, layer=2, head=2)
    assert [trace.name for trace in drawn.data][-1] == "L2H2"
    assert "0.20 at length 64" in drawn.layout.meta["alt"]
    assert leading_inducer(Frame.of(frame()), step=1) == (2, 2)
    assert leading_inducer(Frame.of(frame()), step=2) is None
    with pytest.raises(NotMeasured):
        inducing_heads_over_length.data(frame(), step=1, layer=5, head=0)


def test_the_words_beside_name_both_ends() -> None:
    rows = Frame.of(frame())
    behaviour = "".join(text for text, _ in in_context_rail(rows, "behaviour", 1, 64, 2, 2))
    assert behaviour == "Right of all answer tokens: 1.00 [0.98, 1.00] at 8 items, 0.20 [0.18, 0.22] at 64 items."
    mechanism = "".join(text for text, _ in in_context_rail(rows, "mechanism", 1, 64, 2, 2))
    assert mechanism.startswith("L2H2 gives")
    assert mechanism.endswith(
        "1.00 at 8 items, 0.20 at 64 items. It was chosen as the highest of all heads at 8 items, so its value "
        "there is likely too high. At 64 items the highest is L2H2 with 0.20."
    )
    other = "".join(text for text, _ in in_context_rail(rows, "mechanism", 1, 64, 2, 1))
    assert other.endswith("items.")
    assert "highest" not in other
    assert "not measured" in "".join(text for text, _ in in_context_rail(rows, "behaviour", 2, 64, 2, 2))


def test_the_difference_of_two_presentations_is_over_the_items_that_both_were_asked() -> None:
    one, other = frame(), frame("holds", 16)
    other["value"] = other["value"].where(other["quantity"] != "answer_accuracy", other["value"] - 0.1)
    other["target"] = "bare"
    other = other[other["length"] != 16]
    found = in_context_difference.data(one, other, step=1)
    rows = found[found["series"] == "all tokens"].set_index("length")
    assert rows.loc[8, "value"] == pytest.approx(0.1)
    assert list(rows.index) == [8, 64]
    assert rows.loc[64, "low"] == pytest.approx(0.1 - np.hypot(0.02, 0.12))
    drawn = in_context_difference(one, other, trained=4096, step=1)
    assert drawn.layout.meta["slice"].startswith("same items")
    with pytest.raises(NotShared, match="items"):
        in_context_difference.data(one, other.assign(length=other["length"] + 1), step=1)


def test_right_against_left_is_told_with_the_interval_of_pairs() -> None:
    own: dict[str, Any] = {"run": "real", "step": 1, "measurement": "behaviour.asymmetry", "target": "bare", "n": 64}
    rows = [
        row(quantity="neighbour_asymmetry", length=n, value=value, low=value - 0.1, high=value + 0.1, law="matched",
            mode="teacher_forced", **own)
        for n, value in ((8, 0.5), (16, -0.25))
    ]  # fmt: skip
    pieces = asymmetry_sentence(pd.DataFrame(rows), step=1)
    assert said(pieces) == (
        "Right minus left neighbour, pairs of sequences: 0.50 [0.40, 0.60] at 8 items, "
        "\u22120.25 [\u22120.35, \u22120.15] at 16 items."
    )
    with pytest.raises(NotMeasured):
        asymmetry_sentence(frame(), step=1)


@pytest.mark.parametrize(
    ("label", "at", "said", "marked"),
    [
        ("undecided", 64, "undecided", False),
        ("holds", None, "holds", False),
        ("decays", None, "decays", False),
        ("", 64, "ok", False),
        ("not capable", 64, "not capable: skill below", False),
        ("holds", 8, "holds to 8", True),
    ],
)
def test_a_verdict_that_names_no_length_is_told_without_a_mark(
    label: str, at: int | None, said: str, marked: bool
) -> None:
    rows = frame(label, 64)
    rows.loc[rows["quantity"] == "in_context_verdict", "length"] = at
    drawn = in_context_over_length(rows, trained=4096, step=1)
    assert drawn.layout.meta["slice"].startswith(f"presented as pairs · {said}")
    assert any(shape.name == "verdict" for shape in drawn.layout.shapes) is marked


@pytest.mark.parametrize(("at", "side"), [(8, "left"), (16, "left"), (64, "right")])
def test_what_a_verdict_says_stands_on_the_side_with_more_room(at: int, side: str) -> None:
    drawn = in_context_over_length(frame("holds", at), trained=64, step=1)
    (note,) = [one for one in drawn.layout.annotations if one.name == "verdict"]
    assert (note.xanchor, note.xshift) == (side, 5 if side == "left" else -5)


def test_without_a_verdict_none_is_told() -> None:
    rows = frame()
    drawn = in_context_over_length(rows[rows["quantity"] != "in_context_verdict"], trained=4096, step=1)
    assert drawn.layout.meta["slice"] == "presented as pairs · n 64 · 95 % CI"


def test_of_heads_with_as_much_the_first_leads() -> None:
    rows = frame().assign(value=0.5)
    data = inducing_heads_over_length.data(rows, step=1, layer=2, head=2)
    assert list(dict.fromkeys(data["series"])) == ["L0H0", "L0H1", "L0H2", "L1H0", "L1H1", "L1H2", "L2H2"]
    assert leading_inducer(Frame.of(rows), step=1) == (0, 0)
    later = rows.assign(value=rows["value"] + (rows["length"] == 16) * rows["head"].fillna(0))
    assert leading_inducer(Frame.of(later), step=1) == (0, 0), "the shortest length counts"
    with pytest.raises(NotMeasured, match="L5H0") as nobody:
        inducing_heads_over_length.data(rows, step=1, layer=5, head=0)
    assert not nobody.value.helps
