"""Splits, pools and controls: what is fitted on is never tested on, and controls see what they say."""

from __future__ import annotations

import math
import re
from collections import Counter
from typing import Any

import numpy as np
import pytest
import torch

from probes.fitting import controls
from probes.fitting.decode import Decoder
from probes.fitting.metrics import (
    NO_SPREAD,
    ProbeScore,
    Resamples,
    balanced_accuracy,
    estimates,
    exact_where_uniform,
    fields_of,
    paired_balanced,
    r2,
    rmse,
    says_nothing,
)
from probes.fitting.probe_rows import FOLDS, ProbeRows, folds, halves, pool_lengths
from probes.position import Position
from workbench.measure.intervals import tango
from workbench.tasks.regular.state_machines import Parity


def rows_at(length: int, sequences: int = 40, per_sequence: int = 3) -> ProbeRows:
    """Rows whose only feature is their length, with the sequence as label."""
    sequence = torch.arange(sequences).repeat_interleave(per_sequence)
    return ProbeRows(
        x=torch.full((1, len(sequence), 1), float(length)),
        labels={"which": sequence.double()},
        sequence=sequence,
        tokens=torch.full((len(sequence), 8), -1),
    )


def test_halves_are_random_and_equal() -> None:
    fit = halves(101, np.random.default_rng(0))
    assert int(fit.sum()) == 51
    assert not torch.equal(fit, halves(101, np.random.default_rng(1)))


def test_a_sequence_is_on_one_side_at_every_length_and_in_the_pool(generators: Any) -> None:
    rows = {n: rows_at(n) for n in (5, 10, 20)}
    fit = halves(40, np.random.default_rng(0))
    decoder = Decoder(rows, (5, 10), fit, generators(0))
    fitted = {int(s) for n in rows for s in decoder.fit[n].sequence}
    tested = {int(s) for n in rows for s in decoder.test[n].sequence}
    assert not fitted & tested
    assert len(fitted) == len(tested) == 20
    pool = pool_lengths({n: decoder.fit[n] for n in (5, 10)}, np.random.default_rng(0))
    assert {int(s) for s in pool.sequence} == fitted


def test_leaked_sequences_would_be_seen(generators: Any, read_code: Any, at: Any) -> None:
    """A stream that identifies the sequence and nothing else lets a probe memorise, never generalise."""
    rows = read_code(lambda s, n: torch.eye(len(s)), batch=120, noise=0.0, lengths=(25, 50), inside=(25,))
    for length in (25, 50):
        assert at(rows, length)["refit", ""]["value"] == pytest.approx(0.5, abs=0.01)


def test_the_pool_has_the_rows_of_one_length_dealt_evenly() -> None:
    rows = {n: rows_at(n) for n in (5, 10, 20)}
    pool = pool_lengths(rows, np.random.default_rng(0))
    assert len(pool) == len(rows[5])
    lengths = pool.x[0, :, 0].tolist()
    assert sorted(Counter(lengths).values()) == [39, 39, 42]
    # Each sequence enters at one length only.
    assert len(set(zip(pool.sequence.tolist(), lengths, strict=True))) == 40


def test_folds_hold_whole_sequences() -> None:
    sequence = torch.tensor([7, 7, 3, 9, 9, 9, 20, 31, 3])
    fold = folds(sequence)
    assert all(len(fold[sequence == s].unique()) == 1 for s in sequence.unique())
    assert len(fold.unique()) == FOLDS


def test_hashed_labels_are_a_balanced_function_of_the_window() -> None:
    tokens = torch.randint(3, (4000, 8), generator=torch.Generator().manual_seed(0))
    y = (torch.arange(4000) % 4 == 0).long()
    label = controls.hash_labels(y, tokens)
    assert torch.equal(label[:2000], controls.hash_labels(y, tokens)[:2000])
    assert float(label.double().mean()) == pytest.approx(0.25, abs=0.03)
    repeated = controls.hash_labels(y, tokens[:100].repeat(40, 1)).reshape(40, 100)
    assert bool((repeated == repeated[0]).all())
    # Unlike any single token, the hash is not linear in the window.
    agreement = [(label == (tokens[:, i] == t).long()).double().mean() for i in range(8) for t in range(3)]
    assert max(float(a) for a in agreement) < 0.7
    real = controls.hash_labels(torch.randn(4000, generator=torch.Generator().manual_seed(1)), tokens)
    assert float(real.std()) == pytest.approx(1, abs=0.05)


def test_shuffled_labels_are_the_same_labels() -> None:
    y = torch.arange(50) // 10
    dealt = controls.shuffle_labels(y, np.random.default_rng(0))
    assert torch.equal(dealt.sort().values, y)
    assert not torch.equal(dealt, y)


def test_inputs_of_the_controls() -> None:
    tokens = torch.tensor([[-1, 4, 2], [4, 2, 4]])
    assert controls.inputs(tokens, controls.TOKEN)[0].tolist() == [[1, 0], [0, 1]]
    assert controls.inputs(tokens, controls.TOKENS)[0].tolist() == [[0, 0, 0, 1, 1, 0], [0, 1, 1, 0, 0, 1]]
    assert controls.inputs(tokens, controls.CONSTANT).shape == (1, 2, 1)


def test_scores_against_their_definitions() -> None:
    resamples = Resamples.of(torch.arange(6), np.random.default_rng(0), 50)
    truth, guess = torch.tensor([0, 0, 0, 0, 1, 1]), torch.tensor([[0, 0, 0, 1, 1, 0]])
    assert float(balanced_accuracy(guess, truth, 2, resamples)[0]) == pytest.approx((3 / 4 + 1 / 2) / 2)
    y = torch.tensor([1.0, 2, 3, 4, 5, 9], dtype=torch.float64)
    off = (y + torch.tensor([1.0, -1, 1, -1, 1, -1]))[None]
    assert float(r2(off, y, resamples)[0]) == pytest.approx(1 - 6 / float((y - 4).pow(2).sum()))
    assert float(rmse(off, y, resamples)[0]) == pytest.approx(1)


def test_resamples_draw_whole_sequences() -> None:
    sequence = torch.tensor([3, 3, 8, 8, 8, 5])
    resamples = Resamples.of(sequence, np.random.default_rng(0), 30)
    sums = resamples.sums(torch.eye(6, dtype=torch.float64))
    assert sums.shape == (31, 6)
    assert torch.equal(sums[0], torch.ones(6, dtype=torch.float64))
    for group in ([0, 1], [2, 3, 4]):
        assert bool((sums[:, group] == sums[:, group[:1]]).all())
    assert bool((sums[:, [0, 2, 5]].sum(1) == 3).all())


def test_interval_covers_the_truth_as_often_as_it_says() -> None:
    rng, generator, hits = np.random.default_rng(0), torch.Generator().manual_seed(0), 0
    for _ in range(100):
        truth = torch.arange(100) % 2
        right = torch.rand(1, 100, generator=generator) < 0.8
        guess = torch.where(right, truth, 1 - truth)
        resamples = Resamples.of(torch.arange(100), rng, 200)
        (at,) = estimates(balanced_accuracy(guess, truth, 2, resamples))
        hits += at.low <= 0.8 <= at.high
    assert 0.89 <= hits / 100 <= 0.99


def test_a_perfect_score_has_an_exact_interval() -> None:
    truth = torch.arange(100) % 2
    resamples = Resamples.of(torch.arange(100), np.random.default_rng(0), 50)
    guess = torch.stack([truth, 1 - truth, torch.zeros_like(truth)])
    found = exact_where_uniform(estimates(balanced_accuracy(guess, truth, 2, resamples)), guess, truth, 2)
    limit = 0.025 ** (1 / 50)  # 50 right out of 50 in each class
    assert (found[0].low, found[0].high) == (pytest.approx(limit), 1)
    assert (found[1].low, found[1].high) == (0, pytest.approx(1 - limit))
    # Always the same answer: one class all right, the other all wrong.
    assert (found[2].low, found[2].high) == pytest.approx((limit / 2, 1 - limit / 2))
    mixed = truth.clone()
    mixed[0] = 1
    own = estimates(balanced_accuracy(mixed[None], truth, 2, resamples))
    assert exact_where_uniform(own, mixed[None], truth, 2) == own
    # A third class that no row has: the balanced accuracy leaves it out, so its interval does.
    third = exact_where_uniform(estimates(balanced_accuracy(truth[None], truth, 3, resamples)), truth[None], truth, 3)
    assert third == found[:1]


def test_the_difference_of_balanced_accuracies_is_paired_class_by_class() -> None:
    """Two classes of 60 and 20 rows. Of the first the one probe is right 6 times where the other is wrong, and the other
    never; of the second once against three times."""
    truth = torch.tensor([0] * 60 + [1] * 20)
    hit, other = torch.ones(80, dtype=torch.bool), torch.ones(80, dtype=torch.bool)
    other[:6], other[60], hit[61:64] = False, False, False
    found = paired_balanced(hit, other, truth, 2)
    ends = tango(6, 0, 60), tango(1, 3, 20)
    middle = (6 / 60, -2 / 20)
    assert found.value == pytest.approx(0.0)
    assert found.low == pytest.approx(-math.hypot(middle[0] - ends[0][0], middle[1] - ends[1][0]) / 2)
    assert found.high == pytest.approx(math.hypot(ends[0][1] - middle[0], ends[1][1] - middle[1]) / 2)
    assert paired_balanced(other, hit, truth, 2).low == pytest.approx(-found.high)
    same = paired_balanced(hit, hit, truth, 2)
    assert same.low < -0.02 < 0.02 < same.high  # as wide as two classes without a discordant row are


def position_rows(outlier: float) -> list[dict[str, Any]]:
    """Position is written exactly along one direction and its double along another, but for one held-out sequence."""
    generator = torch.Generator().manual_seed(0)
    batch = Parity().sample(64, 32, generator, "matched")
    place = torch.arange(33).double()[None, :, None].expand(64, 33, 1)
    x = torch.cat([place, 2 * place, torch.randn(64, 33, 1, generator=generator)], 2)
    held = int((~halves(64, np.random.default_rng(3))).nonzero()[0])
    x[held, :, 1] += outlier
    measurement = Position(resamples=100)
    measurement.observe("matched", 32, batch, {"blocks.0.hook_resid_pre": x.float()})
    rows = measurement.decode((32,), lambda *parts: np.random.default_rng(3), lambda: None)
    return [r for r in rows if r["control"] == "" and r["mode"] == "refit"]


def test_a_fit_that_one_sequence_decides_says_nothing() -> None:
    """Far outside what it was fitted on, a probe that is exact elsewhere is off by any amount."""
    for r in position_rows(0.0):
        assert (r["status"], r["value"]) == ("ok", pytest.approx(1.0, abs=0.05))
    for r in position_rows(1000.0):
        assert (r["status"], r["value"], r["low"], r["high"]) == ("undefined", None, None, None)
        assert r["n"] == 32
        assert re.match(
            r"-\d.* \[-\d.*, (1|0\.\d+)\]: an interval wider than 1 says nothing; one of 32 held-out", r["note"]
        )
        assert r["note"].endswith("makes up 100% of the squared error")


@pytest.mark.parametrize(("wide", "expected"), [(1.0, ""), (1.001, "-0.25 [-0.7, 0.301]: an interval wider than 1")])
def test_an_interval_of_width_1_still_says_something(wide: float, expected: str) -> None:
    errors, resamples = torch.tensor([3.0, 1.0]), Resamples.of(torch.arange(2), np.random.default_rng(0), 5)
    found = says_nothing(ProbeScore(-0.25, -0.7, -0.7 + wide), errors, resamples)
    assert found.startswith(expected)
    assert bool(found) == bool(expected)
    assert not found or found.endswith("one of 2 held-out sequences makes up 75% of the squared error")


def test_an_interval_of_no_width_is_left_out() -> None:
    assert fields_of(ProbeScore(0.5, 0.5, 0.5), 9, "note") == {"value": 0.5, "n": 9, "note": f"note; {NO_SPREAD}"}
    assert fields_of(ProbeScore(0.5, 0.4, 0.5), 9) == {"value": 0.5, "low": 0.4, "high": 0.5, "n": 9, "note": ""}
