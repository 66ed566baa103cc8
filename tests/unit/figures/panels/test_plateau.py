"""The plateau figure: medians and extremes over seeds, the claims judged on losses whose shape is known."""

from __future__ import annotations

import json
from collections.abc import Callable

import numpy as np
import pandas as pd
import pytest

from workbench.figures.errors import NotMeasured
from workbench.figures.look import Look
from workbench.figures.panels.plateau import loss_plateau, plateau_sentences, plateaus
from workbench.figures.rows.frame import Frame

KNOBS = {"simple": "omega", "mod_p_mean": "p"}
LENGTHS = (4, 8, 16, 32, 64, 128)
Loss = Callable[[str, float, int, int, int], float]


def rows(loss: Loss, tasks: tuple[str, ...] = ("simple", "mod_p_mean"), seeds: int = 3) -> pd.DataFrame:
    """Joined rows of runs at two steps; ``loss(task, knob, N, length, seed)`` at the last one, 9 at the first."""
    made = []
    for task in tasks:
        for knob in (1, 2, 4):
            for trained in (8, 16):
                for seed in range(seeds):
                    for step in (0, 100):
                        for length in LENGTHS:
                            value = loss(task, knob, trained, length, seed) if step else 9.0
                            made.append({
                                "run": f"{task}{knob}-{trained}-{seed}", "step": step, "task": task, "length": length,
                                "parameters": json.dumps({KNOBS[task]: knob, "other": 7}), "trained_high": trained,
                                "measurement": "behaviour", "quantity": "loss", "law": "matched", "value": value,
                            })  # fmt: skip
    return pd.DataFrame(made)


def held(task: str, knob: float, trained: int, length: int, seed: int) -> float:
    """As claimed: flat from 2 N on, falling with N, rising with the knob; seeds differ by a factor of 2."""
    return knob / trained * min(1.0, length / (2 * trained)) * 2.0 ** (seed - 1)


def test_medians_and_extremes_over_seeds_at_the_last_step() -> None:
    data = loss_plateau.data(rows(held), knobs=KNOBS)
    one = data[(data["task"] == "simple") & (data["knob"] == 2) & (data["trained"] == 8)].set_index("length")
    assert one["value"].to_dict() == pytest.approx({n: 2 / 8 * min(1.0, n / 16) for n in LENGTHS})
    assert (one["low"] == one["value"] / 2).all()
    assert (one["high"] == one["value"] * 2).all()
    assert (one["seeds"] == 3).all()


def test_the_plateau_is_the_mean_of_the_last_two_octaves() -> None:
    found = plateaus(Frame.of(loss_plateau.data(rows(held), knobs=KNOBS)))
    one = found.where(task="simple", knob=4, trained=8).row(0)
    assert one["value"] == pytest.approx(4 / 8)
    assert one["growth"] == pytest.approx(1.0)


def test_claims_that_hold_are_said_to() -> None:
    data = loss_plateau.data(rows(held), knobs=KNOBS)
    assert plateau_sentences(data, knobs=KNOBS)[3:] == [
        "simple: the loss levels off everywhere.",
        "simple: its plateau falls with training length everywhere.",
        "simple: its plateau rises with omega everywhere.",
    ]


@pytest.mark.parametrize(("loss", "sentence"), [
    (lambda task, k, n, m, s: m / n, "simple: the loss still grows at omega 1, N 8 (x 4.00)"),
    (lambda task, k, n, m, s: k * n, "its plateau does not fall at omega 1 (N 8 to 16: 8 to 16)"),
    (lambda task, k, n, m, s: 1 / (k * n), "its plateau does not rise at N 8 (omega 1 to 2: 0.125 to 0.0625)"),
    (lambda task, k, n, m, s: 0.5, "its plateau does not fall at omega 1 (N 8 to 16: 0.5 to 0.5)"),
])  # fmt: skip
def test_claims_that_do_not_hold_are_said_not_to(loss: Loss, sentence: str) -> None:
    said = plateau_sentences(loss_plateau.data(rows(loss), knobs=KNOBS), knobs=KNOBS)
    assert any(sentence in one for one in said), said


def test_the_figure_has_a_panel_per_value_and_one_for_the_plateaus() -> None:
    figure = loss_plateau(rows(held), knobs=KNOBS)
    texts = [a.text for a in figure.layout.annotations]
    assert [text for text in texts if "·" in text] == [
        "simple · omega 1", "simple · omega 2", "simple · omega 4", "simple · plateau",
        "mod_p_mean · p 1", "mod_p_mean · p 2", "mod_p_mean · p 4", "mod_p_mean · plateau",
    ]  # fmt: skip
    lines = {(t.name, t.xaxis): t for t in figure.data if t.name}
    assert len(lines) == 2 * (3 * 2 + 3)
    line = lines["N 8", "x"]
    assert np.allclose(line.x, LENGTHS)
    assert np.allclose(line.y, [held("simple", 1, 8, n, 1) for n in LENGTHS])
    assert list(lines["omega 4", "x4"].x) == [8, 16]
    assert "levels off everywhere" in figure.layout.meta["alt"]


def test_one_task_alone_is_drawn_and_none_is_told() -> None:
    figure = loss_plateau(rows(held, tasks=("mod_p_mean",)), knobs=KNOBS)
    assert sum("·" in a.text for a in figure.layout.annotations) == 4
    with pytest.raises(NotMeasured, match="simple"):
        loss_plateau(rows(held, tasks=("mod_p_mean",)), knobs={"simple": "omega"})


def test_both_themes_draw() -> None:
    for theme in ("light", "dark"):
        assert len(loss_plateau(rows(held, seeds=1), knobs=KNOBS, look=Look(theme)).data) > 0
