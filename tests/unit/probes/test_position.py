"""Position probes on codes of i whose linear readability is known in closed form."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor

from probes.position import Position
from workbench.measure.settings import MeasurementError
from workbench.tasks.base import Batch


def batch_of(tokens: Tensor, mask: Tensor | None = None) -> Batch:
    flat = torch.zeros_like(tokens)
    return Batch(
        tokens=tokens,
        targets=flat,
        mask=torch.ones_like(tokens, dtype=torch.bool) if mask is None else mask,
        output_summary=flat,
        update_summary=None,
        length=tokens.shape[1],
        bos=False,
        law="matched",
    )


def read_position(
    x: Callable[[Tensor], Tensor],
    generators: Any,
    lengths: tuple[int, ...],
    inside: tuple[int, ...],
    **settings: Any,
) -> list[dict[str, Any]]:
    """Position probes of a residual stream computed from fair bits ``[batch, pos]``."""
    bits = (torch.rand(800, max(lengths), generator=torch.Generator().manual_seed(1)) < 0.5).long()
    stream = x(bits.double())
    cache = {"blocks.0.hook_resid_pre": stream}
    measurement = Position(resamples=50, **settings)
    for n in lengths:
        measurement.observe("matched", n, batch_of(bits[:, :n]), cache)
    return measurement.decode(inside, generators(5), lambda: None)


@pytest.mark.asserts("position_decodability")
@pytest.mark.parametrize("n", [50, 400, 4000])
def test_unnormalised_counts_tell_the_position(n: int, generators: Any, at: Any) -> None:
    rows = read_position(lambda bits: bits.cumsum(1)[..., None], generators, (n,), (n,))
    value = at(rows, n, "position_decodability", "i")["refit", ""]["value"]
    assert value == pytest.approx(n / (n + 36), abs=0.04)


@pytest.mark.parametrize("snr", [0.25, 1.0, 9.0])
def test_one_over_i_in_noise(snr: float, generators: Any, at: Any) -> None:
    n = 100
    sigma = math.sqrt(0.0782 / snr) / n

    def stream(bits: Tensor) -> Tensor:
        noise = torch.randn(*bits.shape, 3, generator=torch.Generator().manual_seed(2), dtype=torch.float64)
        x = sigma * noise
        x[..., 1] += 1 / torch.arange(1, bits.shape[1] + 1)
        return x

    rows = read_position(stream, generators, (n,), (n,))
    value = at(rows, n, "position_decodability", "log_i")["refit", ""]["value"]
    assert value == pytest.approx(0.992 * snr / (1 + snr), abs=0.04)


def test_transfer_of_an_exact_code_and_of_a_relative_one(generators: Any, at: Any) -> None:
    def stream(bits: Tensor) -> Tensor:
        place = torch.arange(1.0, bits.shape[1] + 1)
        return torch.stack([place.log(), place], 1).expand(len(bits), -1, -1).double()

    rows = read_position(stream, generators, (25, 50, 100, 400), (25, 50, 100))
    for target in ("log_i", "i"):
        cells = at(rows, 400, "position_decodability", target)
        for mode in ("transfer", "recalibrated", "refit"):
            assert cells[mode, ""]["value"] == pytest.approx(1, abs=1e-3)
        assert cells["refit", "shuffled_labels"]["value"] == pytest.approx(0, abs=0.02)
        assert cells["refit", "token_only"]["value"] == pytest.approx(0, abs=0.02)


def test_the_band_is_half_open_and_holds_each_position(generators: Any) -> None:
    measurement = Position(positions=1000)
    for length in (1, 2, 7, 8):
        batch = batch_of(torch.zeros(20, 8, dtype=torch.long)).prefix(length)
        rows = measurement.reduce(
            batch, length, {"blocks.0.hook_resid_pre": torch.zeros(20, 8, 1)}, ["blocks.0.hook_resid_pre"]
        )
        band = [i for i in range(1, 9) if length / 2 < i <= length]
        assert rows.labels["i"].unique().tolist() == band
        assert len(rows) == 20 * len(band)


def test_drawn_positions_are_distinct_reproducible_and_supervised() -> None:
    mask = torch.rand(50, 64, generator=torch.Generator().manual_seed(3)) < 0.3
    batch = batch_of(torch.zeros(50, 64, dtype=torch.long), mask)
    site = "blocks.0.hook_resid_pre"
    cache = {site: torch.arange(64.0)[None, :, None].expand(50, 64, 1)}
    first, again, other = (Position(seed=s).reduce(batch, 64, cache, [site]) for s in (0, 0, 1))
    assert torch.equal(first.labels["i"], again.labels["i"])
    assert first.labels["i"].tolist() != other.labels["i"].tolist()
    pairs = set(zip(first.sequence.tolist(), first.labels["i"].tolist(), strict=True))
    assert len(pairs) == len(first)
    assert all(mask[s, int(i) - 1] for s, i in pairs)
    assert torch.equal(first.x[0, :, 0].double() + 1, first.labels["i"])
    everything = Position(queries="all", positions=99).reduce(batch, 64, cache, [site])
    assert len(everything) == 50 * 32


def test_a_band_with_one_supervised_position_is_undefined(generators: Any, at: Any) -> None:
    mask = torch.zeros(40, 30, dtype=torch.bool)
    mask[:, -1] = True
    measurement = Position()
    cache = {"blocks.0.hook_resid_pre": torch.randn(40, 30, 3, generator=torch.Generator().manual_seed(0))}
    measurement.observe("matched", 30, batch_of(torch.zeros(40, 30, dtype=torch.long), mask), cache)
    rows = measurement.decode((30,), generators(0), lambda: None)
    assert {r["status"] for r in rows} == {"undefined"}
    assert {r["value"] for r in rows} == {None}
    assert all("does not vary" in r["note"] for r in rows)


def test_settings_are_checked() -> None:
    with pytest.raises(MeasurementError, match=r"position\.positions"):
        Position(positions=0)
    with pytest.raises(MeasurementError, match="'supervised'"):
        Position(queries="some")
    with pytest.raises(MeasurementError, match=r"position\.resamples"):
        Position(resamples=1)
