"""Position given the summary and the summary given position, on codes where both are known."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from sklearn.linear_model import LinearRegression
from torch import Tensor

from probes.conditional import POSITION, ConditionalProbes, cross_fit_errors, indicators
from probes.fitting.probe_rows import ProbeRows, halves
from probes.residual_stream import TARGET
from workbench.measure.settings import MeasurementError
from workbench.models.handmade.transformers import majority
from workbench.tasks.counting.majority import Majority
from workbench.tasks.regular.state_machines import Parity

SEQUENCES, PLACES = 300, (30, 36, 42, 48)


def rows_of(code: Callable[[Tensor, Tensor, Tensor], Tensor], seed: int = 0) -> ProbeRows:
    """Rows of a fair bit s at four positions, with a residual stream ``code(s, place, noise [row, 3])``."""
    generator = torch.Generator().manual_seed(seed)
    sequence = torch.arange(SEQUENCES).repeat_interleave(len(PLACES))
    place = torch.tensor(PLACES).repeat(SEQUENCES)
    s = torch.randint(2, (len(place),), generator=generator)
    noise = torch.randn(len(place), 3, generator=generator, dtype=torch.float64)
    x = code(2.0 * s.double() - 1, place.double(), noise)
    return ProbeRows(x[None].float(), {TARGET: s, POSITION: place}, sequence, torch.full((len(place), 8), -1))


def shares(rows: ProbeRows) -> tuple[float, float]:
    """Position given the summary, and the summary given position."""
    fit = halves(SEQUENCES, np.random.default_rng(0))
    s, i = indicators(rows.labels[TARGET]), indicators(rows.labels[POSITION])
    log_i = rows.labels[POSITION].double().log()[:, None]
    (a,), (b,) = cross_fit_errors(rows.x, [log_i], s, rows, fit), cross_fit_errors(rows.x, [s], i, rows, fit)
    return tuple(1 - float(e.full.sum() / e.base.sum()) for e in (a, b))  # type: ignore[return-value]


def test_codes_of_one_of_both_and_of_neither() -> None:
    spread = float(torch.tensor(PLACES).double().log().var(correction=0))
    sigma = spread**0.5
    position = shares(rows_of(lambda s, i, e: torch.stack([i.log() + sigma * e[:, 0], e[:, 1]], 1)))
    assert position == pytest.approx((0.5, 0.0), abs=0.06)  # as much noise as signal
    summary = shares(rows_of(lambda s, i, e: torch.stack([s + e[:, 0], e[:, 1]], 1)))
    assert summary == pytest.approx((0.0, 0.5), abs=0.06)
    both = shares(rows_of(lambda s, i, e: (i.log() + 0.1 * s + 0.001 * e[:, 0])[:, None]))
    assert both[0] == pytest.approx(1, abs=0.01)  # the summary is taken out of the sum, and position is left
    assert both[1] == pytest.approx(1, abs=0.01)
    neither = shares(rows_of(lambda s, i, e: e))
    assert neither == pytest.approx((0, 0), abs=0.02)


def test_it_is_least_squares_with_indicators_beside_the_stream() -> None:
    rows = rows_of(lambda s, i, e: torch.stack([i / 5 + s + e[:, 0], s - e[:, 1], e[:, 2]], 1))
    first = halves(SEQUENCES, np.random.default_rng(0))[rows.sequence].numpy()
    x, y = rows.x[0].double().numpy(), rows.labels[POSITION].double().log().numpy()
    s = indicators(rows.labels[TARGET]).numpy()
    errors = {"full": 0.0, "base": 0.0}
    for inn in (first, ~first):
        for name, features in (("full", np.c_[s, x]), ("base", s)):
            fitted = LinearRegression(fit_intercept=False).fit(features[inn], y[inn])
            errors[name] += float(np.square(fitted.predict(features[~inn]) - y[~inn]).sum())
    assert shares(rows)[0] == pytest.approx(1 - errors["full"] / errors["base"], abs=2e-3)


def test_a_sequence_is_never_predicted_from_itself() -> None:
    """A stream that identifies the sequence would tell its summary, were rows split instead of sequences."""
    rows = rows_of(lambda s, i, e: e)
    s = rows.labels[TARGET].reshape(SEQUENCES, -1)[:, :1].expand(-1, len(PLACES)).flatten()
    known = ProbeRows(torch.eye(SEQUENCES)[rows.sequence][None], {TARGET: s, POSITION: rows.labels[POSITION]},
                 rows.sequence, rows.tokens)  # fmt: skip
    assert shares(known)[1] < 0.05


@pytest.mark.asserts("position_given_summary", "summary_given_position")
def test_rows_of_a_run(make_run: Callable[..., Any], measured: Callable[..., list[dict[str, Any]]]) -> None:
    run = make_run(majority(gain_length=400), Majority(), 13, steps=(0, 100))
    at, before = (
        {
            (r["quantity"], r["control"]): r
            for r in measured(run, step, "probes.conditional", lengths=[27], resamples=30)
            if r["length"] == 27 and r["site"] == "blocks.1.hook_resid_post"
        }
        for step in (100, 0)
    )
    controls = {"", "shuffled_labels", "token_only", "untrained"}
    both = {(q, c) for q in ("position_given_summary", "summary_given_position") for c in controls}
    assert set(at) == both | {("summary_given_position", "hashed_labels")}
    assert at["summary_given_position", ""]["value"] == pytest.approx(1, abs=1e-3)  # the clean bit
    assert at["position_given_summary", ""]["value"] > 0.9  # 1 / K lies beside it
    assert abs(at["position_given_summary", "shuffled_labels"]["value"]) < 0.1
    for quantity in ("position_given_summary", "summary_given_position"):
        assert at[quantity, "untrained"]["value"] == pytest.approx(before[quantity, ""]["value"], abs=1e-6)
        assert abs(at[quantity, "untrained"]["value"] - at[quantity, ""]["value"]) > 0.1, "it is of step 0"
    for r in at.values():  # what is there exactly has an interval of no width, which says nothing
        exact = r["low"] is None and "no resample differs" in r["note"]
        assert exact or r["low"] <= r["value"] <= r["high"]


def test_the_same_supervised_positions_in_every_sequence() -> None:
    batch = Majority().sample(64, 40 + 1, torch.Generator().manual_seed(0), "matched")
    site = "blocks.0.hook_resid_pre"
    rows = ConditionalProbes(positions=4).reduce(batch, 41, {site: torch.zeros(64, 42, 1)}, [site])
    places, counts = rows.labels[POSITION].unique(return_counts=True)
    assert counts.tolist() == [64] * 4
    assert all(20 < int(p) <= 41 and int(p) % 2 for p in places)
    every = ConditionalProbes(positions=99, queries="all").reduce(batch, 41, {site: torch.zeros(64, 42, 1)}, [site])
    assert every.labels[POSITION].unique().tolist() == list(range(21, 42))


def test_what_cannot_be_had_is_named(
    make_run: Callable[..., Any], measured: Callable[..., list[dict[str, Any]]]
) -> None:
    run = make_run(majority(gain_length=400), Parity(), 4)
    notes = {
        (r["length"], r["quantity"]): (r["status"], r["note"])
        for r in measured(run, 100, "probes.conditional", lengths=[8], resamples=20)
    }
    assert notes[1, "position_given_summary"] == ("undefined", "position does not vary in the band")
    few = measured(run, 100, "probes.conditional", lengths=[8], sequences=8)
    assert {r["status"] for r in few} == {"undefined"}
    assert all("at least 8" in r["note"] for r in few)
    with pytest.raises(MeasurementError, match=r"conditional\.positions"):
        ConditionalProbes(positions=1)
    with pytest.raises(MeasurementError, match="'supervised'"):
        ConditionalProbes(queries="some")


def test_a_summary_that_is_a_function_of_position_is_not_there_beyond_it() -> None:
    """Whether i > 40: known once i is, whatever the stream says, so nothing is left to be told."""
    plain = rows_of(lambda s, i, e: torch.stack([i, e[:, 0]], 1))
    rows = ProbeRows(plain.x, {TARGET: (plain.labels[POSITION] > 40).long(), POSITION: plain.labels[POSITION]},
                plain.sequence, plain.tokens)  # fmt: skip
    fit = halves(SEQUENCES, np.random.default_rng(0))
    read = ConditionalProbes(resamples=20)._estimates(
        "summary_given_position", rows.x, rows, fit, lambda *parts: np.random.default_rng(0), ("",)
    )
    assert read == {"": ["the labels do not vary beyond what they are conditioned on"]}
