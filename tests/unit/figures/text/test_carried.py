"""What the stream carries, in words: every branch, each number from its row, and no claim at a control's level."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.support.cited import said, unfounded
from workbench.figures.rows.frame import Frame
from workbench.figures.text.decodability_clauses import carried_clause, rail_carried
from workbench.figures.text.decodability_rows import CarriedReading, above, at_longest, by_layer, readings
from workbench.table.schema import row

N = 32
Probe = dict[tuple[int, int], tuple[float | None, float | None, float | None]]


@pytest.fixture
def made(synthetic: Any) -> Any:
    """Rows of both probes at step 7: (layer, length) -> frozen (position: None), refitted, highest control."""

    def make(summary: Probe | None = None, position: Probe | None = None) -> Frame:
        rows = []
        for concept, target, probe in (("summary", "output_summary", summary), ("position", "log_i", position)):
            for (layer, length), (frozen, refit, control) in (probe or {}).items():
                common = {
                    "run": "r",
                    "step": 7,
                    "law": "matched",
                    "layer": layer,
                    "length": length,
                    "n": 512,
                    "measurement": f"probes.{concept}",
                    "quantity": f"{concept}_decodability",
                    "target": target,
                }
                place = "blocks.0.hook_resid_pre" if layer < 0 else f"blocks.{layer}.hook_resid_post"
                # Between attention and MLP anything is read; no page shows it.
                for site, wrong in ((place, 0.0), (f"blocks.{max(layer, 0)}.hook_resid_mid", 0.33)):
                    values = (("transfer", "", frozen), ("refit", "", refit))
                    for mode, name, value in (
                        *values,
                        ("refit", "untrained", control),
                        ("refit", "shuffled_labels", 0.01),
                    ):
                        if value is None or (name and control is None):
                            continue
                        value += wrong
                        limits = {"low": value - 0.02, "high": value + 0.02}
                        rows.append(row(**common, site=site, mode=mode, control=name, value=value, **limits))
        frame = Frame.of(synthetic.frame_of(rows))
        return frame

    return make


def clause(frame: Frame) -> str:
    pieces = carried_clause(frame, 7, N)
    assert unfounded(pieces, frame, N) == []
    return said(pieces)


def flat(value: float, refit: float, control: float | None, lengths: tuple[int, ...] = (32, 64, 256)) -> Probe:
    return {(1, n): (value, refit, control) for n in lengths}


def test_a_summary_above_its_controls_in_one_code(made: Any) -> None:
    assert clause(made(flat(0.97, 0.98, 0.60))) == (
        "The residual stream carries the task state after block 1 in one code at every measured length past 32 "
        "(0.97 [0.95, 0.99] at 256, controls 0.60 [0.58, 0.62])"
    )


@pytest.mark.parametrize("control", [1.0, 0.99, 0.95, 0.944])
def test_a_summary_at_its_controls_level_claims_nothing(made: Any, control: float) -> None:
    # 0.944: the intervals [0.95, 0.99] and [0.92, 0.964] overlap
    text = clause(made(flat(0.97, 0.98, control)))
    assert text.startswith(
        "The task state is not above its controls after block 1 (0.97 [0.95, 0.99] at 256, controls "
    )
    assert "carries" not in text


def test_a_margin_that_does_not_show_is_none(made: Any) -> None:
    frame = made(flat(0.97, 0.97, 0.90))
    own = frame["control"] == ""
    high = np.where(own, 0.99, np.where(frame["control"] == "untrained", 0.9001, frame["high"]))
    frame = frame.with_columns(low=np.where(own, 0.9049, frame["low"]), high=high)
    assert "not above its controls" in clause(frame)
    frame = frame.with_columns(low=np.where(own, 0.9051, frame["low"]))
    assert clause(frame).startswith("The residual stream carries the task state")


def test_a_summary_without_controls_claims_nothing(made: Any) -> None:
    assert clause(made(flat(0.97, 0.98, None))) == (
        "The task state reads 0.97 [0.95, 0.99] at 256 after block 1; no control was measured"
    )


def test_a_code_that_moves(made: Any) -> None:
    assert clause(made(flat(0.12, 0.40, 0.15))) == (
        "The residual stream carries the task state after block 1 in a code that moves (0.12 [0.10, 0.14] at 256, refitted 0.40, controls 0.15 [0.13, 0.17])"
    )
    assert "not above its controls" in clause(made(flat(0.12, 0.40, 0.39)))


def test_a_code_above_its_controls_only_when_refitted(made: Any) -> None:
    assert clause(made(flat(0.62, 0.70, 0.60))) == (
        "The task state is above its controls after block 1 only when refitted (0.70; frozen 0.62 [0.60, 0.64] at 256, controls 0.60 [0.58, 0.62])"
    )


def test_one_length_at_the_controls_level_is_named(made: Any) -> None:
    probe = flat(0.97, 0.98, 0.60) | {(1, 64): (0.70, 0.70, 0.72)}
    assert clause(made(probe)) == (
        "The residual stream carries the task state after block 1 at 256 (0.97 [0.95, 0.99] at 256, controls 0.60 [0.58, 0.62]), "
        "but is not above its controls at 64 (0.70 [0.68, 0.72], controls 0.72 [0.70, 0.74])"
    )


def test_a_code_that_moves_on_the_way_is_named(made: Any) -> None:
    probe = flat(0.97, 0.98, 0.60) | {(1, 64): (0.80, 0.95, 0.60)}
    assert clause(made(probe)) == (
        "The residual stream carries the task state after block 1 in a code that moves on the way (refitted 0.95 against 0.80 at 64; "
        "0.97 [0.95, 0.99] at 256, controls 0.60 [0.58, 0.62])"
    )


def test_inside_training_nothing_is_said_of_longer_lengths(made: Any) -> None:
    assert clause(made(flat(0.97, 0.98, 0.60, (8, 32)))) == (
        "The residual stream carries the task state after block 1 (0.97 [0.95, 0.99] at 32, controls 0.60 [0.58, 0.62])"
    )


@pytest.mark.parametrize(
    ("position", "words"),
    [
        (
            {(0, 256): (None, 0.98, 0.99), (1, 256): (None, 0.01, 0.96)},
            "Position 0.98 after block 0 (controls 0.99 [0.97, 1.01]), gone after block 1 (0.01 [\u22120.01, 0.03], controls 0.96 [0.94, 0.98] at 256)",
        ),
        (
            {(-1, 256): (None, 0.98, 0.01), (1, 256): (None, 0.10, 0.96)},
            "Position 0.98 in the embedding, little left after block 1 (0.10 [0.08, 0.12], controls 0.96 [0.94, 0.98] at 256)",
        ),
        (
            {(1, 256): (None, 0.97, 0.40)},
            "Position is readable after block 1 (0.97 [0.95, 0.99], controls 0.40 [0.38, 0.42] at 256)",
        ),
        (
            {(1, 256): (None, 0.40, 0.10)},
            "Position is partly readable after block 1 (0.40 [0.38, 0.42], controls 0.10 [0.08, 0.12] at 256)",
        ),
        (
            {(1, 256): (None, 0.20, 0.10)},
            "Little position is readable after block 1 (0.20 [0.18, 0.22], controls 0.10 [0.08, 0.12] at 256)",
        ),
        (
            {(1, 256): (None, 0.99, 0.99)},
            "Position is not above its controls after block 1 (0.99 [0.97, 1.01], controls 0.99 [0.97, 1.01] at 256)",
        ),
        (
            {(1, 256): (None, 0.99, None)},
            "Position reads 0.99 [0.97, 1.01] at 256 after block 1; no control was measured",
        ),
    ],
)
def test_position_is_named_with_its_layer_and_its_controls(made: Any, position: Probe, words: str) -> None:
    assert clause(made(position=position)) == words
    both = clause(made(flat(0.97, 0.98, 0.60), position))
    assert both.endswith("; " + words[0].lower() + words[1:])


def test_the_rail_holds_both_against_their_controls(made: Any) -> None:
    position = {(0, 256): (None, 0.98, 0.99), (1, 256): (None, 0.06, 0.97)}
    frame = made(flat(0.97, 0.98, 0.60), position)
    pieces = rail_carried(frame, 7, 256)
    assert unfounded(pieces, frame, N) == []
    assert said(pieces) == (
        "Task state 0.97 [0.95, 0.99] after block 1 at length 256, above its controls (0.60 [0.58, 0.62]), in the code of trained lengths; "
        "position 0.06 [0.04, 0.08] after block 1 at length 256, not above its controls (0.97 [0.95, 0.99]), 0.98 after block 0"
    )
    at_control = said(rail_carried(made(flat(0.97, 0.98, 1.0)), 7, 256))
    assert at_control.endswith("not above its controls (1.00 [0.98, 1.02])")
    assert said(rail_carried(made(flat(0.12, 0.40, 0.15)), 7, 256)).endswith(
        "not above its controls (0.15 [0.13, 0.17]), refitted 0.40"
    )
    assert said(rail_carried(made(flat(0.97, 0.98, None)), 7, 64)).endswith("no control measured")
    assert rail_carried(frame, 7, 100) == []
    assert rail_carried(frame, 8, 256) == []


def test_between_attention_and_mlp_nothing_is_chosen(made: Any) -> None:
    frame = made(flat(0.5, 0.5, 0.1), {(1, 256): (None, 0.01, 0.2)})
    found = at_longest(frame, 7)
    assert {name: one.row["site"] for name, one in found.items()} == dict.fromkeys(found, "blocks.1.hook_resid_post")
    assert {name: one.row["value"] for name, one in found.items()} == {"summary": 0.5, "position": 0.01}
    assert all(one.control is not None and one.control["site"].endswith("hook_resid_post") for one in found.values())


# ---- margins ------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("row", "control", "is_above"),
    [
        ((0.6, 0.5, 0.7), None, False),
        ((0.6, 0.51, 0.7), (0.4, 0.3, 0.5), True),
        ((0.6, 0.5, 0.7), (0.4, 0.3, 0.5), False),
        ((0.6, 0.504, 0.7), (0.4, 0.3, 0.496), False),
        ((0.6, 0.49, 0.7), (0.4, 0.3, 0.5), False),
        ((0.6, None, None), (0.4, 0.3, 0.5), True),
        ((0.6, 0.51, 0.7), (0.5, None, None), True),
        ((0.6, 0.51, 0.7), (0.52, None, None), False),
    ],
)
def test_a_reading_is_above_a_control_where_both_intervals_are_apart_in_two_decimals(
    row: tuple[Any, ...], control: tuple[Any, ...] | None, is_above: bool
) -> None:
    own = dict(zip(("value", "low", "high"), row, strict=True))
    held = None if control is None else dict(zip(("value", "low", "high"), control, strict=True))
    assert above(own, held) is is_above
    poor = {"value": 0.0, "low": None, "high": None}
    assert CarriedReading(own, poor, held).above is is_above
    assert CarriedReading(poor, own, held).refit_above is is_above
    assert not CarriedReading(own, None, held).refit_above


def test_the_highest_control_of_each_length_counts(made: Any) -> None:
    frame = made(position={(0, 64): (None, 0.5, 0.2), (1, 64): (None, 0.6, -0.2), (1, 32): (None, 0.9, None)})
    found = readings(frame, "position", step=7)
    assert [(one.row["length"], one.control and one.control["value"]) for one in found] == [(32, None), (64, 0.01)]
    assert [one.row["value"] for one in by_layer(frame, "position", step=7, length=64)] == [0.5, 0.6]
    assert [one.row["value"] for one in readings(frame, "position", step=7, layer=0)] == [0.5]
    assert readings(made(), "position", step=7) == ()
    assert at_longest(made(), 7) == {}


@pytest.mark.parametrize(
    ("value", "earlier", "words"),
    [
        (0.25, None, "Position is partly readable"),
        (0.2499, None, "Little position is readable"),
        (0.5, None, "Position is readable"),
        (0.4999, None, "Position is partly readable"),
        (0.25, 0.9, "Position is partly readable"),
        (0.2, 0.4999, "Little position is readable"),
        (0.2, 0.5, "Position 0.50 after block 0, little left after block 1"),
        (0.02, 0.5, "Position 0.50 after block 0, gone after block 1"),
        (0.021, 0.5, "Position 0.50 after block 0, little left after block 1"),
    ],
)
def test_position_is_little_or_readable_from_its_bars_on(
    made: Any, value: float, earlier: float | None, words: str
) -> None:
    before: Probe = {} if earlier is None else {(0, 256): (None, earlier, -0.9)}
    assert clause(made(position={**before, (1, 256): (None, value, -0.9)})).startswith(words)


@pytest.mark.parametrize(("refit", "moves"), [(0.225, True), (0.2249, False)])
def test_a_code_moves_from_a_tenth_on(made: Any, refit: float, moves: bool) -> None:
    frame = made(flat(0.125, refit, -0.5))
    assert ("in a code that moves (" in clause(frame)) is moves
    rail = said(rail_carried(frame, 7, 256))
    assert (", refitted 0.2" in rail, "in the code of trained lengths" in rail) == (moves, not moves)
    on_the_way = made({(1, 64): (0.125, refit, -0.5), (1, 256): (0.9, 0.9, -0.5)})
    assert ("moves on the way (refitted 0.2" in clause(on_the_way)) is moves


@pytest.mark.parametrize(("best", "named"), [(0.1, True), (0.0999, False)])
def test_an_earlier_layer_is_named_where_it_reads_a_tenth_more(made: Any, best: float, named: bool) -> None:
    frame = made(position={(0, 256): (None, best, -0.9), (1, 256): (None, 0.0, -0.9)})
    assert said(rail_carried(frame, 7, 256)).endswith("0.10 after block 0") is named


@pytest.mark.parametrize(
    ("lengths", "words"),
    [((N,), " (0.97"), ((16,), " (0.97"), ((N, N + 1), " in one code at every measured length past")],
)
def test_one_code_is_said_of_lengths_past_training_alone(made: Any, lengths: tuple[int, ...], words: str) -> None:
    assert clause(made(flat(0.97, 0.98, 0.60, lengths))).startswith(
        f"The residual stream carries the task state after block 1{words}"
    )
