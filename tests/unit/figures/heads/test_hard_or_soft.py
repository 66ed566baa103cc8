"""Hard or soft, over which lengths, and which head is spoken of: every branch, each number from its row."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.cited import said, unfounded
from workbench.figures.heads.hard_or_soft import WORDS, shape_clause
from workbench.figures.heads.head_facts import head_sentence
from workbench.figures.heads.leading_head import Leading, has_effect, leading_clause, leading_head
from workbench.figures.rows.frame import Frame
from workbench.table.schema import row

AT = {"run": "r", "step": 7, "law": "matched", "layer": 0, "head": 1, "measurement": "circuits.hardmax"}


@pytest.fixture
def made(synthetic: Any) -> Any:
    """Rows of L0 H1 at step 7: length -> distance from hardmax, and its label (None = no such row)."""

    def make(heads: dict[int, tuple[float, str | None]]) -> Frame:
        rows = []
        for length, (distance, label) in heads.items():
            at = AT | {"length": length, "n": 128}
            rows.append(
                row(**at, quantity="hardmax_distance", value=distance, low=distance - 0.01, high=distance + 0.01)
            )
            if label is not None:
                rows.append(row(**at, quantity="hardmax_verdict", label=label, value=0.5, low=0.4, high=0.6))
        frame = Frame.of(synthetic.frame_of(rows))
        return frame

    return make


def clause(frame: Frame, trained: float | None = 32) -> str:
    pieces = shape_clause(frame, 7, trained, 0, 1)
    assert unfounded(pieces, frame, 32) == []
    return said(pieces)


@pytest.mark.parametrize(
    ("heads", "words"),
    [
        (
            {16: (0.9, "soft"), 32: (0.02, "hardmax"), 64: (0.03, "hardmax"), 256: (0.05, "hardmax")},
            "L0 H1 is hard at every measured length from 32 to 256, 0.02 to 0.05 from hardmax",
        ),
        (
            {32: (0.33, "soft"), 64: (0.41, "soft"), 256: (0.36, "soft")},
            "L0 H1 is soft at every measured length from 32 to 256, 0.33 to 0.41 from hardmax",
        ),
        (
            {32: (0.24, "soft"), 256: (0.50, "soft")},
            "L0 H1 is soft at every measured length from 32 to 256, 0.24 from hardmax at 32 and 0.50 at 256",
        ),
        (
            {
                32: (0.08, "hardmax"),
                64: (0.09, "hardmax"),
                128: (0.12, "mixed"),
                192: (0.15, "undecided"),
                256: (0.17, "soft"),
            },
            "L0 H1 is hard from 32 to 64, hard on some sequences only at length 128, undecided at length 192, "
            "soft at length 256, 0.08 to 0.17 from hardmax",
        ),
        (
            {32: (0.001, "hardmax"), 64: (0.002, "hardmax")},
            "L0 H1 is hard at every measured length from 32 to 64, 0.00 from hardmax",
        ),
        ({32: (0.30, None), 256: (0.32, None)}, "L0 H1 is 0.30 to 0.32 from hardmax from length 32 to 256"),
        ({32: (0.30, "soft")}, "L0 H1 is soft at length 32, 0.30 [0.29, 0.31] from hardmax"),
        ({32: (0.30, None)}, "L0 H1 is 0.30 [0.29, 0.31] from hardmax"),
        ({}, ""),
    ],
)
def test_hard_or_soft_with_its_range_over_length(made: Any, heads: Any, words: str) -> None:
    assert clause(made(heads)) == words


def test_without_a_trained_length_all_lengths_count(made: Any) -> None:
    frame = made({16: (0.30, "soft"), 32: (0.31, "soft")})
    assert clause(frame, None).startswith("L0 H1 is soft at every measured length from 16 to 32")


@pytest.mark.parametrize(
    ("label", "checkpoint"),
    [
        ("hardmax", "point"),
        ("soft", "weighs keys softly: its attention is no hardmax at length 64"),
        ("mixed", "is a hardmax on some sequences and not on others at length 64"),
        ("undecided", "may or may not be a hardmax: that is undecided at length 64"),
    ],
)
def test_run_and_checkpoint_go_by_one_criterion(made: Any, synthetic: Any, label: str, checkpoint: str) -> None:
    # The distance would say hard at 0.01 and soft at 0.6; both pages say what the label says.
    for distance in (0.01, 0.6):
        frame = made({32: (distance, label), 64: (distance, label)})
        kind = Frame.of(synthetic.frame_of([row(**AT, length=64, quantity="hardmax_kind", label="point")]))
        frame = Frame.concat([frame, kind])
        assert f"is {WORDS[label]} at every measured length" in clause(frame)
        first, second = head_sentence(frame, step=7, length=64, layer=0, head=1, trained=32)
        expected = "attends to a few keys, however many it sees" if label == "hardmax" else checkpoint
        assert expected in said(first)
        assert f"L0 H1 is {WORDS[label]} at every measured length from 32 to 64" in said(second)
        assert unfounded([*first, *second], frame, 32) == []


# ---- the head that is spoken of -------------------------------------------------------------------------
@pytest.fixture
def ablated(synthetic: Any) -> Any:
    """Rows of what ablating each head costs at step 7: (length, layer, head) -> value, low, high, n."""

    def make(costs: dict[tuple[int, int, int], tuple[float, float, float, int]], mode: str = "mean") -> Frame:
        common = {
            "run": "r",
            "step": 7,
            "law": "matched",
            "measurement": "circuits.ablation",
            "target": "head",
            "mode": mode,
        }
        rows = [
            row(
                **common,
                quantity="accuracy_drop",
                length=length,
                layer=layer,
                head=head,
                value=v,
                low=low,
                high=high,
                n=n,
            )
            for (length, layer, head), (v, low, high, n) in costs.items()
        ]
        frame = Frame.of(synthetic.frame_of(rows))
        return frame

    return make


def test_the_head_with_the_largest_effect_leads(ablated: Any) -> None:
    frame = ablated(
        {
            (32, 0, 0): (0.50, 0.4, 0.6, 64),
            (128, 0, 0): (0.0, -0.03, 0.03, 64),
            (128, 0, 1): (0.42, 0.27, 0.55, 64),
            (128, 1, 0): (0.45, -0.01, 0.9, 64),  # larger, but not shown
            (256, 1, 1): (0.90, 0.8, 1.0, 64),  # beyond the length asked for
        }
    )
    found = leading_head(frame, step=7, length=128)
    assert (found.layer, found.head) == (0, 1)
    pieces = leading_clause(found)
    assert said(pieces) == (
        "the head with the largest effect "
        "(accuracy drops by 0.42 [0.27, 0.55] with its mean output in its place at length 128), "
    )
    assert unfounded(pieces, frame, 32) == []
    assert leading_head(frame, step=7, length=40).head == 0
    assert leading_head(frame, step=7, length=300).name == "L1 H1"
    assert leading_head(frame, step=8, length=128) == Leading(0, 0, None, False)


def test_an_effect_shown_in_any_mode_counts_and_the_mode_is_said(ablated: Any) -> None:
    mean = ablated({(128, 0, 0): (0.05, -0.01, 0.1, 64), (128, 0, 1): (0.1, 0.02, 0.2, 64)})
    other = ablated({(128, 0, 0): (0.36, 0.25, 0.47, 64), (128, 0, 1): (0.2, 0.1, 0.3, 64)}, mode="resample")
    found = leading_head(Frame.concat([mean, other]), step=7, length=128)
    assert found.name == "L0 H0"
    assert "0.36 [0.25, 0.47] with another string's output in its place" in said(leading_clause(found))
    assert leading_head(mean, step=7, length=128).name == "L0 H1"


@pytest.mark.parametrize(("p", "effect"), [(0.031, True), (0.05, True), (0.0625, False), (0.9, False)])
def test_an_effect_is_claimed_by_the_exact_sign_test(ablated: Any, p: float, effect: bool) -> None:
    # 5 to 0 of 512: Tango's interval excludes 0, the sign test (.0625) does not
    drop = ablated({(128, 0, 1): (5 / 512, 0.0022, 0.0227, 512)})
    chance = drop.with_columns(quantity="accuracy_drop_p", value=p, low=None, high=None)
    found = leading_head(Frame.concat([drop, chance]), step=7, length=128)
    assert (found.row is not None) is effect
    assert found.looked
    better = drop.with_columns(value=-0.1)
    assert leading_head(Frame.concat([better, chance.with_columns(value=0.001)]), step=7, length=128).row is None


def test_without_a_shown_effect_the_first_head_leads_and_words_say_so(ablated: Any) -> None:
    none = leading_head(ablated({(128, 1, 1): (0.01, -0.02, 0.05, 64)}), step=7, length=128)
    assert none == Leading(0, 0, None, True)
    assert said(leading_clause(none)) == "first head (no ablation is shown to cost accuracy), "
    assert said(leading_clause(Leading(0, 0, None, False))) == "first head (ablation is not measured), "
    worse = ablated({(128, 1, 1): (-0.4, -0.5, -0.3, 64)})
    assert leading_head(worse, step=7, length=128).row is None


@pytest.mark.parametrize(
    ("value", "low", "n", "effect"),
    [
        (6 / 512, 0.004, 512, True),
        (5 / 512, 0.0022, 512, False),  # 5 to 0: the interval excludes 0, the exact sign test does not
        (0.1, 0.0, 512, False),
        (0.1, -0.01, 512, False),
        (-0.1, -0.2, 512, False),
    ],
)
def test_an_effect_needs_an_interval_above_0_and_enough_sequences(
    ablated: Any, value: float, low: float, n: int, effect: bool
) -> None:
    (found,) = ablated({(128, 0, 0): (value, low, 0.5, n)}).rows()
    assert has_effect(found) is effect


def test_what_ablating_costs_is_claimed_only_where_it_is_shown(made: Any, ablated: Any) -> None:
    shown, open_ = (ablated({(64, 0, 1): (0.42, low, 0.55, 64)}) for low in (0.27, -0.01))
    for costs, words in (
        (shown, "accuracy drops by 0.42 [0.27, 0.55] with its mean output in its place. L0 H1 is soft"),
        (
            open_,
            "accuracy is not shown to drop (0.42 [\u22120.01, 0.55]) with its mean output in its place. L0 H1 is soft",
        ),
    ):
        frame = Frame.concat([made({64: (0.3, "soft")}), costs])
        pieces = head_sentence(frame, step=7, length=64, layer=0, head=1, trained=32)[1]
        assert words in said(pieces)
        assert unfounded(pieces, frame, 32) == []
