"""Summary probes on codes whose fate beyond training is known.

A bit s = +-1 is written along a unit vector, noise 0.3 per dimension, probes fitted at 25 and 50 and read
at 400. A frozen direction at an angle a to the code, amplitude A, is right with probability
Phi(A cos a / 0.3).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor

D = 16
Read = Callable[..., list[dict[str, Any]]]


def phi(z: float) -> float:
    return 0.5 * (1 + math.erf(z / math.sqrt(2)))


def sign(summary: Tensor) -> Tensor:
    return 2.0 * summary - 1


def along(*coordinates: Tensor) -> Tensor:
    x = torch.zeros(len(coordinates[0]), D)
    for i, c in enumerate(coordinates):
        x[:, i] = c
    return x


def rotating(theta: float) -> Callable[[Tensor, int], Tensor]:
    return lambda s, n: along(sign(s) * math.cos(theta * n), sign(s) * math.sin(theta * n))


def rotated(theta: float) -> float:
    """Accuracy of the frozen direction, the mean of the codes at 25 and 50, at 400."""
    mean = [sum(f(theta * n) for n in (25, 50)) for f in (math.cos, math.sin)]
    cos = (mean[0] * math.cos(400 * theta) + mean[1] * math.sin(400 * theta)) / math.hypot(*mean)
    return phi(cos / 0.3)


CODES = {
    "exact": (lambda s, n: along(sign(s)), (0.9996, 0.9996, 0.9996)),
    "rotating fast": (rotating(2 * math.pi * 0.618), (rotated(2 * math.pi * 0.618), 0.9996, 0.9996)),
    "rotating slowly": (rotating(0.3), (rotated(0.3), rotated(0.3), 0.9996)),
    "position only": (lambda s, n: along(torch.full((len(s),), n / 50)), (0.5, 0.5, 0.5)),
    "amplitude": (lambda s, n: along(sign(s) * math.sqrt(50 / n)), (phi(8**-0.5 / 0.3),) * 3),
    "offset": (lambda s, n: along(sign(s) + n / 100), (0.5, 0.9996, 0.9996)),
}


def test_the_closed_forms_are_the_recorded_ones() -> None:
    assert round(rotated(2 * math.pi * 0.618), 3) == 0.0
    assert round(rotated(0.3), 2) == round(phi(8**-0.5 / 0.3), 2) == 0.88


@pytest.mark.parametrize("name", CODES)
def test_transfer_recalibrated_refit_and_shuffled_labels(name: str, read_code: Read, at: Callable[..., Any]) -> None:
    code, expected = CODES[name]
    rows = read_code(code)
    cells = at(rows, 400)
    # Three standard errors of 1200 test rows, and what estimating the direction costs.
    for mode, value in zip(("transfer", "recalibrated", "refit"), expected, strict=True):
        cell = cells[mode, ""]
        tolerance = 3 * math.sqrt(value * (1 - value) / 1200) + 0.01
        assert cell["value"] == pytest.approx(value, abs=tolerance), mode
        assert cell["low"] <= cell["value"] <= cell["high"]
        assert cell["n"] == 1200
    for length in (25, 50, 400):
        assert at(rows, length)["refit", "shuffled_labels"]["value"] == pytest.approx(0.5, abs=0.05)


def test_a_code_that_lands_on_its_opposite_says_so(read_code: Read, at: Callable[..., Any]) -> None:
    fast = at(read_code(CODES["rotating fast"][0]), 400)["recalibrated", ""]
    slow = at(read_code(CODES["rotating slowly"][0]), 400)["recalibrated", ""]
    assert "opposite" in fast["note"]
    assert slow["note"] == ""
    # What has no direction of its own to keep says nothing of its sign.
    for kind in (("transfer", ""), ("refit", ""), ("refit", "shuffled_labels")):
        assert at(read_code(CODES["rotating fast"][0]), 400)[kind]["note"] == ""


def test_a_frozen_probe_of_a_rotating_real_code(read_code: Read, at: Callable[..., Any]) -> None:
    """R^2 = 1 - (1 - cos)^2 without noise: 1, 0, -3 at 0, 90, 180 degrees. Noise shrinks the gain to g."""
    theta, noise, lengths = math.pi / 60, 0.1, (30, 40, 60, 75, 90)
    rows = read_code(
        lambda s, n: along(s * math.cos(theta * n), s * math.sin(theta * n)),
        lengths=lengths,
        inside=(30,),
        draw=lambda generator, batch: torch.randn(batch, generator=generator, dtype=torch.float64),
        noise=noise,
    )
    g = 1 / (1 + noise**2)
    for n in lengths:
        cos, sin = math.cos(theta * (n - 30)), abs(math.sin(theta * (n - 30)))
        cells = at(rows, n)
        expected = 1 - (1 - g * cos) ** 2 - (g * noise) ** 2
        assert expected == pytest.approx(1 - (1 - cos) ** 2, abs=0.06)
        # The direction that the code turns into held noise only; its weight is known to 1/sqrt(rows).
        slack = 3 * 2 * (1 - g * cos) * sin / math.sqrt(1200) + 0.03
        assert cells["transfer", ""]["value"] == pytest.approx(expected, abs=slack)
        assert cells["refit", ""]["value"] == pytest.approx(g, abs=0.003)
        # Gain and offset undo any angle but the right one.
        again, blind = cells["recalibrated", ""], abs(cos) < 0.1
        exact = cos**2 / (cos**2 + noise**2)
        assert again["value"] == pytest.approx(exact, abs=0.5 if blind else 0.03)
        assert blind or ("opposite" in again["note"]) == (cos < 0)
        root = at(rows, n, "summary_rmse")["transfer", ""]["value"]
        assert root == pytest.approx(math.sqrt(1 - expected), abs=0.12)


def test_four_classes_whose_plane_is_kept_or_left(read_code: Read, at: Callable[..., Any]) -> None:
    def classes(generator: torch.Generator, batch: int) -> Tensor:
        return torch.randint(4, (batch,), generator=generator)

    def moved(s: Tensor, n: int) -> Tensor:
        x = torch.zeros(len(s), D)
        return x.scatter(1, (s if n < 400 else s + 4)[:, None], 1.0)

    def scaled(s: Tensor, n: int) -> Tensor:
        return torch.zeros(len(s), D).scatter(1, s[:, None], 1.0) * (1 if n < 400 else 2) + n / 400

    left = at(read_code(moved, draw=classes, noise=0.1), 400)
    kept = at(read_code(scaled, draw=classes, noise=0.1), 400)
    assert left["transfer", ""]["value"] < 0.35
    assert left["recalibrated", ""]["value"] < 0.45
    assert left["refit", ""]["value"] > 0.99
    assert kept["recalibrated", ""]["value"] > 0.99


def test_noise_is_read_at_chance(read_code: Read, at: Callable[..., Any]) -> None:
    cells = at(read_code(lambda s, n: along(torch.zeros(len(s)))), 400)
    for mode in ("transfer", "recalibrated", "refit"):
        cell = cells[mode, ""]
        assert cell["value"] == pytest.approx(0.5, abs=0.05)
    real = at(
        read_code(
            lambda s, n: along(torch.zeros(len(s))),
            draw=lambda generator, batch: torch.randn(batch, generator=generator, dtype=torch.float64),
        ),
        400,
    )
    assert abs(real["refit", ""]["value"]) < 0.05
