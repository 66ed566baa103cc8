"""What a head attends to, over which lengths, and which head pages open on: every branch, each number from its row."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.cited import said, unfounded
from workbench.dashboard.components import prose
from workbench.figures.heads.hard_or_soft import EVEN, HARDMAX_SAID, shape_clause
from workbench.figures.heads.head_facts import head_sentence
from workbench.figures.heads.leading_head import (
    Leading,
    ablation_cost,
    drops_by_head,
    has_effect,
    leading_clause,
    leading_head,
)
from workbench.figures.rows.frame import Frame
from workbench.table.schema import row

AT = {"run": "r", "step": 7, "law": "matched", "layer": 0, "head": 1, "measurement": "circuits.hardmax"}


@pytest.fixture
def made(synthetic: Any) -> Any:
    """Rows of L0H1 at step 7: length -> label (None = no such row), keys of its set, keys of its support."""

    def make(heads: dict[int, tuple[Any, ...]], distance: float = 0.05) -> Frame:
        rows = []
        for length, (label, *keys) in heads.items():
            at = AT | {"length": length, "n": 128}
            ends = {"low": distance - 0.01, "high": distance + 0.01}
            rows.append(row(**at, quantity="hardmax_distance", value=distance, **ends))
            if label is not None:
                rows.append(row(**at, quantity="hardmax_verdict", label=label, value=0.5, low=0.4, high=0.6))
            for quantity, value in zip(("tie_size", "effective_support"), keys, strict=False):
                rows.append(row(**at, quantity=quantity, value=value))
        return Frame.of(synthetic.frame_of(rows))

    return make


def clause(frame: Frame, trained: float | None = 32) -> str:
    pieces = shape_clause(frame, 7, trained, 0, 1)
    assert unfounded(pieces, frame, 32) == []
    return said(pieces)


@pytest.mark.parametrize(
    ("heads", "words"),
    [
        # A query of the last 16 prefixes up to 125 sees 118.5 keys in the mean: 118.3 are nearly all of them.
        (
            {16: ("soft", 2, 3), 31: ("hardmax", 24.0, 24.4), 125: ("hardmax", 118.3, 118.6), 249: ("hardmax", 242.4, 243)},
            "L0H1 averages evenly over nearly all keys (24 to 242 keys, the mean over the last queries) at every measured length from 31 to 249",
        ),
        (
            {32: ("hardmax", 1.0, 1.1), 64: ("hardmax", 1.02, 1.1), 256: ("hardmax", 1.04, 1.2)},
            "L0H1 attends to one key at every measured length from 32 to 256",
        ),
        (
            {32: ("mixed", 1.3, 1.9), 128: ("undecided", 1.7, 2.4), 256: ("mixed", 1.9, 2.9)},
            "L0H1 attends to 1.3 to 1.9 keys at every measured length from 32 to 256, evenly in some sequences only where that is decided",
        ),
        ({32: ("undecided", 1.7, 2.4)}, "L0H1 attends to 1.7 keys at length 32, whether evenly is undecided"),
        ({32: ("hardmax", 8.2, 8.4)}, "L0H1 averages evenly over 8.2 keys at length 32"),
        ({32: ("mixed", 24.6, 20.0)}, "L0H1 attends to nearly all keys (25 keys, the mean over the last queries) at length 32, evenly in some sequences only"),
        (
            {32: ("soft", 9, 3.5), 64: ("soft", 20, 12.2), 256: ("soft", 40, 18.4)},
            "L0H1 spreads its attention unevenly over 3.5 to 18 keys at every measured length from 32 to 256",
        ),
        (
            {32: ("hardmax", 1.0, 1.2), 64: ("hardmax", 1.0, 1.3), 128: ("mixed", 1.4, 3.0), 256: ("soft", 9.0, 30.1)},
            "L0H1 attends to one key from 32 to 64; attends to 1.4 keys at length 128, evenly in some sequences only; "
            "spreads its attention unevenly over 30 keys at length 256",
        ),
        ({32: ("soft",), 64: ("soft",)}, "L0H1 weights its keys unevenly at every measured length from 32 to 64"),
        ({32: ("hardmax",)}, "L0H1 averages evenly over a set of keys at length 32"),
        ({32: (None,)}, "L0H1 is 0.05 [0.04, 0.06] from hardmax"),
        ({32: (None,), 256: (None,)}, "L0H1 is 0.05 from hardmax from length 32 to 256"),
        ({}, ""),
    ],
)  # fmt: skip
def test_what_a_head_attends_to_in_tokens_over_length(made: Any, heads: Any, words: str) -> None:
    assert clause(made(heads)) == words


def test_the_word_hardmax_stands_in_the_tooltip() -> None:
    words, role = shape_clause(made_by_hand(), 7, 32, 0, 1)[2]
    assert (words, role) == ("attends to one key", EVEN)
    assert "hardmax" in HARDMAX_SAID
    span = prose.pieces([(words, role)])[0]
    assert span.title == HARDMAX_SAID


def made_by_hand() -> Frame:
    at = AT | {"length": 32, "n": 128, "setting": "{}"}
    return Frame.from_rows([
        row(**at, quantity="hardmax_distance", value=0.01, low=0.0, high=0.02),
        row(**at, quantity="hardmax_verdict", label="hardmax", value=1.0), row(**at, quantity="tie_size", value=1.0),
    ])  # fmt: skip


def test_without_a_trained_length_all_lengths_count(made: Any) -> None:
    frame = made({16: ("hardmax", 1.0), 32: ("hardmax", 1.0)})
    assert clause(frame, None).endswith("at every measured length from 16 to 32")


@pytest.mark.parametrize("label", ["hardmax", "soft", "mixed", "undecided"])
def test_run_and_checkpoint_go_by_one_criterion(made: Any, label: str) -> None:
    # The distance would say hard at 0.01 and soft at 0.6; both pages say what the label says.
    for distance in (0.01, 0.6):
        frame = made({32: (label, 8.2, 9.1), 64: (label, 8.2, 9.1)}, distance)
        first, second = head_sentence(frame, step=7, length=64, layer=0, head=1, trained=32)
        assert said(first).partition(" at length 64")[0] in said(second)
        assert said(first).partition(" at length 64")[2] in said(second)
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


@pytest.fixture
def tested(synthetic: Any) -> Any:
    """Rows of the test of a head at step 7: length -> layer, head, label, drops by mode (value, low, high, label)."""

    def make(tests: dict[int, tuple[int, int, str, dict[str, tuple[float, float, float, str]]]]) -> Frame:
        rows = []
        for length, (layer, head, label, drops) in tests.items():
            at = {"run": "r", "step": 7, "law": "matched", "measurement": "circuits.head_effect", "length": length}
            rows.append(row(**at, quantity="necessary_head", layer=layer, head=head, label=label, n=512))
            for mode, (value, low, high, fallen) in drops.items():
                shared = at | {"quantity": "head_drop", "mode": mode, "layer": layer, "n": 512}
                rows.append(row(**shared, head=head, value=value, low=low, high=high, label=fallen))
                rows.append(row(**shared, head=1 - head, value=0.01, low=-0.01, high=0.03, control="least head"))
        return Frame.of(synthetic.frame_of(rows))

    return make


def test_the_one_head_that_passes_leads_and_both_modes_are_said(tested: Any) -> None:
    frame = tested({
        32: (0, 0, "named", {"mean": (0.6, 0.5, 0.7, "falls to chance"), "resample": (0.5, 0.4, 0.6, "falls to chance")}),
        128: (0, 1, "named", {"mean": (0.21, 0.14, 0.27, ""), "resample": (0.24, 0.18, 0.29, "falls to chance")}),
    })  # fmt: skip
    found = leading_head(frame, step=7, length=200)
    assert (found.place, found.name) == ((0, 1), "L0H1")
    pieces = leading_clause(found)
    assert said(pieces) == (
        "L0H1 matters at length 128: without it, accuracy drops by 0.21 [0.14, 0.27] with its mean output in its place "
        "and by 0.24 [0.18, 0.29], to chance, with its output on another sequence in its place"
    )
    assert unfounded(pieces, frame, 32) == []
    assert found.smallest_drop is not None
    assert (found.smallest_drop["mode"], (found.controls or {})["mean"]["head"]) == ("mean", 0)
    near = leading_head(frame, step=7, length=40)
    assert said(leading_clause(near)) == (
        "L0H0 matters at length 32: without it, accuracy drops by 0.60 [0.50, 0.70], to chance, with its mean output in "
        "its place and by 0.50 [0.40, 0.60], to chance, with its output on another sequence in its place"
    )
    assert near.smallest_drop is None, "a drop to chance has no size"
    assert leading_head(frame, step=8, length=128) == Leading(None)


def test_where_no_head_passes_none_leads_and_all_are_shown(tested: Any) -> None:
    frame = tested({128: (1, 0, "not named", {"mean": (0.3, 0.2, 0.4, ""), "resample": (0.08, -0.02, 0.13, "")})})
    found = leading_head(frame, step=7, length=128)
    assert (found.place, found.name) == (None, "all heads")
    pieces = leading_clause(found)
    assert said(pieces) == (
        "No single head is shown to matter at length 128: without L1H0, accuracy drops by 0.30 [0.20, 0.40] with its "
        "mean output in its place and by 0.08 [−0.02, 0.13] with its output on another sequence in its place. "
        "Without L1H1, the control, it drops by 0.01 [−0.01, 0.03] and by 0.01 [−0.01, 0.03]"
    )
    assert unfounded(pieces, frame, 32) == []
    assert leading_clause(Leading(None)) == []


@pytest.mark.parametrize(("label", "end"), [("above chance", ", still above chance,"), ("", "")])
def test_both_modes_name_the_drop_and_whether_the_accuracy_that_is_left_is_at_chance(
    tested: Any, synthetic: Any, label: str, end: str
) -> None:
    """The test on set B decides, and not whether the interval lies above the chance level of the task."""
    test = {"mean": (0.21, 0.14, 0.27, ""), "resample": (0.24, 0.18, 0.29, "falls to chance")}
    at = {"run": "r", "step": 7, "law": "matched", "measurement": "circuits.head_effect", "length": 128, "n": 512}
    at_mean = {"mode": "mean", "value": 0.55, "low": 0.51, "high": 0.59, "label": label}
    left = [
        row(**at, quantity="accuracy_without_head", value=0.75, low=0.71, high=0.79, label="above chance"),
        row(**at, quantity="accuracy_without_head", layer=0, head=1, **at_mean),
        row(**at, quantity="accuracy_without_head", layer=0, head=1, mode="resample", value=0.52, low=0.47, high=0.56),
    ]
    tests = Frame.concat([tested({128: (0, 1, "named", test)}), Frame.of(synthetic.frame_of(left))])
    frame = Frame.concat([tests, behaving(synthetic, {128: (0.73, 0.69, 0.77)}, 0.5)])
    first = "L0H1 matters at length 128: without it, accuracy drops from 0.75 [0.71, 0.79] by 0.21 [0.14, 0.27]"
    last = (
        " with its mean output in its place and by 0.24 [0.18, 0.29], to chance, with its output on another sequence in "
        "its place"
    )
    for rows in (frame, tests):
        pieces = leading_clause(leading_head(rows, step=7, length=128))
        assert said(pieces) == first + end + last
        assert unfounded(pieces, rows, 32) == []


def behaving(synthetic: Any, accuracies: dict[int, tuple[float, float | None, float | None]], chance: float) -> Frame:
    """Rows of accuracy (value, low, high) and chance at step 7, by length."""
    rows = []
    for length, (value, low, high) in accuracies.items():
        at = {"run": "r", "step": 7, "law": "matched", "measurement": "behaviour", "length": length}
        at |= {"mode": "teacher_forced"}
        rows.append(row(**at, quantity="accuracy", value=value, low=low, high=high, n=512))
        rows.append(row(**at, quantity="chance", value=chance))
    return Frame.of(synthetic.frame_of(rows))


NOT_SHOWN = (
    "No single head is shown to matter at length 45: without L0H0, accuracy drops by 0.00 [−0.01, 0.01] with its mean "
    "output in its place. Without L0H1, the control, it drops by 0.01 [−0.01, 0.03]"
)


def test_a_random_direction_is_named_where_it_is_the_control(tested: Any) -> None:
    rows = tested({128: (0, 0, "not named", {"mean": (0.3, 0.2, 0.4, "")})}).to_pandas()
    rows.loc[rows["control"] == "least head", ["control", "head"]] = ["random direction", None]
    pieces = leading_clause(leading_head(Frame.of(rows), step=7, length=128))
    assert said(pieces).endswith(
        "With a random direction of equal norm added, the control, it drops by 0.01 [−0.01, 0.03]"
    )
    assert unfounded(pieces, Frame.of(rows), 32) == []


def test_the_drops_of_the_candidate_stay_where_its_control_costs_as_much(tested: Any) -> None:
    """A head that costs 0.40 is not named where the control costs 0.32: both numbers are in the sentence."""
    rows = tested({16: (0, 1, "not named", {"mean": (0.4, 0.35, 0.45, "")})}).to_pandas()
    rows.loc[rows["control"] == "least head", ["value", "low", "high"]] = [0.32, 0.27, 0.37]
    text = said(leading_clause(leading_head(Frame.of(rows), step=7, length=16)))
    assert "without L0H1, accuracy drops by 0.40 [0.35, 0.45]" in text
    assert text.endswith("Without L0H0, the control, it drops by 0.32 [0.27, 0.37]")


@pytest.mark.parametrize(
    ("accuracies", "sentence"),
    [
        (
            {11: (0.088, 0.066, 0.116), 45: (0.0, 0.0, 0.007)},
            "No single head can be shown to matter at length 45: accuracy without any ablation, 0.00 [0.00, 0.01], "
            "is not shown to be above chance (0.00). Choose length 11, where it is",
        ),
        (
            {11: (0.001, 0.0, 0.01), 45: (0.0, None, None)},
            "No single head can be shown to matter at length 45: accuracy without any ablation, 0.00, "
            "is not shown to be above chance (0.00)",
        ),
        ({11: (0.5, 0.4, 0.6), 45: (0.4, 0.3, 0.5)}, NOT_SHOWN),
        ({11: (0.5, 0.4, 0.6)}, NOT_SHOWN),
    ],
)
def test_where_the_model_is_at_chance_no_head_can_be_shown_to_matter(
    tested: Any, synthetic: Any, accuracies: Any, sentence: str
) -> None:
    tests = tested({n: (0, 0, "not named", {"mean": (0.0, -0.007, 0.007, "")}) for n in (11, 45)})
    frame = Frame.concat([tests, behaving(synthetic, accuracies, 0.0)])
    pieces = leading_clause(leading_head(frame, step=7, length=45))
    assert said(pieces) == sentence
    assert unfounded(pieces, frame, 11) == []


def test_no_length_is_recommended_where_set_b_shows_no_skill_above_a_constant_answer(
    tested: Any, synthetic: Any
) -> None:
    tests = tested({n: (0, 0, "not named", {"mean": (0.0, -0.007, 0.007, "")}) for n in (11, 45)})
    at = {"run": "r", "step": 7, "law": "matched", "measurement": "circuits.head_effect", "length": 11, "n": 512}
    frame = Frame.concat([tests, behaving(synthetic, {11: (0.55, 0.51, 0.59), 45: (0.5, 0.46, 0.54)}, 0.5)])
    for label, end in (("", "(0.50)"), ("above chance", "(0.50). Choose length 11, where it is")):
        whole = row(**at, quantity="accuracy_without_head", value=0.55, low=0.51, high=0.59, label=label)
        rows = Frame.concat([frame, Frame.of(synthetic.frame_of([whole]))])
        assert said(leading_clause(leading_head(rows, step=7, length=45))).endswith(end)


def test_a_cost_is_shown_only_where_every_mode_shows_it(ablated: Any) -> None:
    mean = ablated({(128, 0, 0): (0.05, -0.01, 0.1, 64), (128, 0, 1): (0.3, 0.2, 0.4, 64)})
    other = ablated({(128, 0, 0): (0.36, 0.25, 0.47, 64), (128, 0, 1): (0.2, 0.1, 0.3, 64)}, mode="resample")
    for head, shown in ((0, False), (1, True)):
        rows, found = ablation_cost(Frame.concat([mean, other]).where(head=head).rows())
        assert ([row["mode"] for row in rows], found) == (["mean", "resample"], shown)


@pytest.mark.parametrize(("p", "effect"), [(0.031, True), (0.05, True), (0.0625, False), (0.9, False)])
def test_an_effect_is_claimed_by_the_exact_sign_test(ablated: Any, p: float, effect: bool) -> None:
    # 5 to 0 of 512: Tango's interval excludes 0, the sign test (.0625) does not
    drop = ablated({(128, 0, 1): (5 / 512, 0.0022, 0.0227, 512)})
    chance = drop.with_columns(quantity="accuracy_drop_p", value=p, low=None, high=None)
    assert ablation_cost(Frame.concat([drop, chance]).rows())[1] is effect
    better = drop.with_columns(value=-0.1)
    assert not ablation_cost(Frame.concat([better, chance.with_columns(value=0.001)]).rows())[1]


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
        (
            shown,
            "without it, accuracy drops by 0.42 [0.27, 0.55] with its mean output in its place (screening, 64 sequences). "
            "L0H1 weights",
        ),
        (
            open_,
            "without it, accuracy is not shown to drop in every mode (0.42 [\u22120.01, 0.55] with its mean output in its "
            "place; screening, 64 sequences). L0H1 weights",
        ),
    ):
        frame = Frame.concat([made({64: ("soft",)}), costs])
        pieces = head_sentence(frame, step=7, length=64, layer=0, head=1, trained=32)[1]
        assert words in said(pieces)
        assert unfounded(pieces, frame, 32) == []


def test_a_tested_head_costs_what_its_test_says_and_not_what_the_screening_says(
    made: Any, ablated: Any, synthetic: Any
) -> None:
    """Set A chose the head and its test does not name it: the 64 sequences of the screening had been quoted."""
    tested = {"measurement": "circuits.head_effect", "quantity": "head_drop", "n": 512, "layer": 0, "head": 1}
    at = {"run": "r", "step": 7, "law": "matched", "length": 64}
    drops = [
        row(**at, **tested, mode="mean", value=-0.006, low=-0.035, high=0.013),
        row(**at, **tested, mode="resample", value=0.076, low=0.021, high=0.129),
    ]
    screening = ablated({(64, 0, 1): (0.09, -0.03, 0.22, 64)})
    frame = Frame.concat([made({64: ("soft",)}), screening, Frame.of(synthetic.frame_of(drops))])
    pieces = head_sentence(frame, step=7, length=64, layer=0, head=1, trained=32)[1]
    assert said(pieces).startswith(
        "without it, accuracy is not shown to drop in every mode (\u22120.01 [\u22120.04, 0.01] with its mean output in "
        "its place; 0.08 [0.02, 0.13] with its output on another sequence in its place)."
    )
    assert unfounded(pieces, frame, 32) == []
    of_maps = drops_by_head(frame, step=7, length=64)[0, 1]
    assert [one["value"] for one in of_maps] == [-0.006, 0.076]
