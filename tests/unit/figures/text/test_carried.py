"""What the stream carries, in words: every branch, each number from its row, and no claim at a control's level."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.support.cited import said, unfounded
from workbench.figures.rows.frame import Frame
from workbench.figures.text.carried import at_longest
from workbench.figures.text.carried_clauses import carried_clause, rail_carried
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
        "It carries the summary after block 1 in one code at every measured length past 32 "
        "(0.97 [0.95, 0.99] at 256, controls 0.60)"
    )


@pytest.mark.parametrize("control", [1.0, 0.99, 0.95, 0.944])
def test_a_summary_at_its_controls_level_claims_nothing(made: Any, control: float) -> None:
    # 0.944: the intervals [0.95, 0.99] and [0.92, 0.964] overlap
    text = clause(made(flat(0.97, 0.98, control)))
    assert text.startswith("The summary is not above its controls after block 1 (0.97 [0.95, 0.99] at 256, controls ")
    assert "carries" not in text


def test_a_margin_that_does_not_show_is_none(made: Any) -> None:
    frame = made(flat(0.97, 0.97, 0.90))
    own = frame["control"] == ""
    high = np.where(own, 0.99, np.where(frame["control"] == "untrained", 0.9001, frame["high"]))
    frame = frame.with_columns(low=np.where(own, 0.9049, frame["low"]), high=high)
    assert "not above its controls" in clause(frame)
    frame = frame.with_columns(low=np.where(own, 0.9051, frame["low"]))
    assert clause(frame).startswith("It carries the summary")


def test_a_summary_without_controls_claims_nothing(made: Any) -> None:
    assert clause(made(flat(0.97, 0.98, None))) == (
        "The summary reads 0.97 [0.95, 0.99] at 256 after block 1; no control was measured"
    )


def test_a_code_that_moves(made: Any) -> None:
    assert clause(made(flat(0.12, 0.40, 0.15))) == (
        "It carries the summary after block 1 in a code that moves (0.12 [0.10, 0.14] at 256, refitted 0.40, controls 0.15)"
    )
    assert "not above its controls" in clause(made(flat(0.12, 0.40, 0.39)))


def test_a_code_above_its_controls_only_when_refitted(made: Any) -> None:
    assert clause(made(flat(0.62, 0.70, 0.60))) == (
        "The summary is above its controls after block 1 only when refitted (0.70; frozen 0.62 [0.60, 0.64] at 256, controls 0.60)"
    )


def test_one_length_at_the_controls_level_is_named(made: Any) -> None:
    probe = flat(0.97, 0.98, 0.60) | {(1, 64): (0.70, 0.70, 0.72)}
    assert clause(made(probe)) == (
        "It carries the summary after block 1 at 256 (0.97 [0.95, 0.99] at 256, controls 0.60), "
        "but is not above its controls at 64 (0.70 [0.68, 0.72], controls 0.72)"
    )


def test_a_code_that_moves_on_the_way_is_named(made: Any) -> None:
    probe = flat(0.97, 0.98, 0.60) | {(1, 64): (0.80, 0.95, 0.60)}
    assert clause(made(probe)) == (
        "It carries the summary after block 1 in a code that moves on the way (refitted 0.95 against 0.80 at 64; "
        "0.97 [0.95, 0.99] at 256, controls 0.60)"
    )


def test_inside_training_nothing_is_said_of_longer_lengths(made: Any) -> None:
    assert clause(made(flat(0.97, 0.98, 0.60, (8, 32)))) == (
        "It carries the summary after block 1 (0.97 [0.95, 0.99] at 32, controls 0.60)"
    )


@pytest.mark.parametrize(
    ("position", "words"),
    [
        (
            {(0, 256): (None, 0.98, 0.99), (1, 256): (None, 0.01, 0.96)},
            "Position 0.98 after block 0 (controls 0.99), gone after block 1 (0.01 [\u22120.01, 0.03], controls 0.96 at 256)",
        ),
        (
            {(-1, 256): (None, 0.98, 0.01), (1, 256): (None, 0.10, 0.96)},
            "Position 0.98 in the embedding, little left after block 1 (0.10 [0.08, 0.12], controls 0.96 at 256)",
        ),
        (
            {(1, 256): (None, 0.97, 0.40)},
            "Position is readable after block 1 (0.97 [0.95, 0.99], controls 0.40 at 256)",
        ),
        (
            {(1, 256): (None, 0.40, 0.10)},
            "Position is partly readable after block 1 (0.40 [0.38, 0.42], controls 0.10 at 256)",
        ),
        (
            {(1, 256): (None, 0.20, 0.10)},
            "Little position is readable after block 1 (0.20 [0.18, 0.22], controls 0.10 at 256)",
        ),
        (
            {(1, 256): (None, 0.99, 0.99)},
            "Position is not above its controls after block 1 (0.99 [0.97, 1.01], controls 0.99 at 256)",
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
        "Summary 0.97 [0.95, 0.99] after block 1 at length 256, above its controls (0.60), in the code of trained lengths; "
        "position 0.06 [0.04, 0.08] after block 1 at length 256, not above its controls (0.97), 0.98 after block 0"
    )
    at_control = said(rail_carried(made(flat(0.97, 0.98, 1.0)), 7, 256))
    assert at_control.endswith("not above its controls (1.00)")
    assert said(rail_carried(made(flat(0.12, 0.40, 0.15)), 7, 256)).endswith(
        "not above its controls (0.15), refitted 0.40"
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
