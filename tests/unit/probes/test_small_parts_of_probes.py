"""Small parts of probes: labels, settings, places without BOS, directions, kept fits and rows of one code, at their bounds."""

from __future__ import annotations

from collections import OrderedDict
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch

from probes import one_sequence
from probes.api import ProbeResult, _by_length
from probes.codes.code_change import Codes
from probes.codes.length_coupling import ComparedCode, CouplingRows
from probes.conditional import STILL, ConditionalProbes, Errors
from probes.erasure.leace import Eraser, LeftOut
from probes.erasure.measurement import FEWEST, Erasure, ErasureArm, _edit, _fitting_rows
from probes.fitting.decode import Target
from probes.fitting.linear import fit_probes, ridge
from probes.fitting.logistic import logistic
from probes.fitting.metrics import Resamples
from probes.fitting.probe_rows import ProbeError, ProbeRows, RowPlaces, folds, halves
from probes.one_sequence import _KEPT, Fitted, _cached_fit, _columns, _read, _summary_truth
from probes.position import Position
from probes.probes_in_context import ITEMS, TOKENS, _Rows
from probes.residual_stream import POSITION, TARGET, summary_labels
from tests.support.circuits.copying_in_context import copying
from tests.support.probes.fixtures import rng_of
from workbench.measure.edits.one_sequence import OneSequence
from workbench.tasks.base import Batch


def given(
    bos: bool, strings: int = 3, length: int = 6, summary: torch.Tensor | None = None, law: str = "given"
) -> Batch:
    """Strings that are asked everywhere; the summary of a place is its prefix length modulo 2."""
    size = length + int(bos)
    tokens = torch.arange(strings * size).reshape(strings, size) % 7
    mask = torch.ones_like(tokens, dtype=torch.bool)
    mask[:, : int(bos)] = False
    own = ((torch.arange(size) + 1 - int(bos)) % 2).expand(strings, size).clone()
    return Batch(tokens, torch.zeros_like(tokens), mask, own if summary is None else summary, None, length, bos, law)


def rows_of(x: torch.Tensor, **labels: torch.Tensor) -> ProbeRows:
    """One row per sequence."""
    count = x.shape[1]
    return ProbeRows(x, labels, torch.arange(count), torch.zeros(count, 8, dtype=torch.long))


# ---- labels, settings, places ----------------------------------------------------------------------
def test_summaries_are_classes_where_they_are_single_integers() -> None:
    whole = torch.ones(3, 7, dtype=torch.long)
    for summary, kind in (
        (whole, torch.int64), (whole.float(), torch.float64), (whole[..., None].repeat(1, 1, 2), torch.float64),
        (whole[..., None].double(), torch.float64),
    ):  # fmt: skip
        assert summary_labels(given(True, summary=summary)).dtype is kind


def test_the_least_that_settings_may_be() -> None:
    assert Position(resamples=2).resamples == 2
    assert ConditionalProbes(positions=2).positions == 2
    assert tuple(Erasure(factors=(1, 2.5)).factors) == (1.0, 2.5)
    for kind, settings, said in (
        (Position, {"resamples": 1}, "at least 2 for an interval, not 1"),
        (ConditionalProbes, {"positions": 1}, "at least 2, so that the position varies, not 1"),
        (Erasure, {"factors": ()}, "at least one multiple of N"),
    ):  # fmt: skip
        with pytest.raises(ValueError, match=said):
            kind(**settings)  # type: ignore[arg-type]


@pytest.mark.parametrize("bos", [True, False])
def test_places_are_prefix_lengths_with_a_bos_and_without(bos: bool) -> None:
    batch, shift = given(bos, strings=20), int(bos)
    drawn = Position(positions=9).places(batch, 6)
    assert sorted(set(drawn.labels["i"].tolist())) == [4.0, 5.0, 6.0]  # the band (3, 6]
    assert (drawn.at[:, 1] + 1 - shift).tolist() == drawn.labels["i"].tolist()
    assert torch.allclose(drawn.labels["log_i"].exp(), drawn.labels["i"])
    spread = ConditionalProbes(positions=2).places(batch, 6)
    assert sorted(set(spread.labels[POSITION].tolist())) == [4, 6]
    assert (spread.at[:, 1] + 1 - shift).tolist() == spread.labels[POSITION].tolist()
    assert spread.labels[TARGET].tolist() == (spread.labels[POSITION] % 2).tolist()
    tokens = Erasure(positions=4)._draw(batch, 6)
    place = tokens.labels[POSITION].exp().round().long()
    assert (tokens.at[:, 1] + 1 - shift).tolist() == place.tolist()
    assert len(place) == 4 * 20
    assert sorted(set(place.tolist())) == [1, 2, 3, 4, 5, 6]
    assert tokens.labels[TARGET].tolist() == (place % 2).tolist()
    exact = Erasure().places(batch, 5)
    assert exact.at.tolist() == [[s, 4 + shift] for s in range(20)]
    assert exact.labels[TARGET].tolist() == [1] * 20


@pytest.mark.parametrize("bos", [True, False])
def test_a_window_holds_no_bos_and_nothing_before_the_string(bos: bool) -> None:
    batch, shift = given(bos), int(bos)
    found = RowPlaces.of(batch, torch.tensor([[1, shift], [1, 2 + shift]]), {}).tokens
    own = batch.tokens[1, shift : 3 + shift].tolist()
    assert found.tolist() == [[-1] * 7 + own[:1], [-1] * 5 + own]


def test_a_few_places_are_spread_over_those_that_enough_strings_ask() -> None:
    batch = given(True, strings=20, length=20)
    batch.mask[4:, 15] = False  # four strings are too few
    batch.mask[16:, 17] = False  # sixteen are enough
    found = ConditionalProbes(positions=99).places(batch, 20)
    assert sorted(set(found.labels[POSITION].tolist())) == [11, 12, 13, 14, 16, 17, 18, 19, 20]
    assert int((found.labels[POSITION] == 17).sum()) == 16
    batch.mask[15:, 17] = False
    found = ConditionalProbes(positions=99).places(batch, 20)
    assert sorted(set(found.labels[POSITION].tolist())) == [11, 12, 13, 14, 16, 18, 19, 20]
    asked = ConditionalProbes(positions=3, queries="all").places(batch, 20)
    assert sorted(set(asked.labels[POSITION].tolist())) == [11, 15, 20]


# ---- fits --------------------------------------------------------------------------------------
WIDTHS = [
    (0.0, 1.05e-9, True),
    (0.0, 0.95e-9, False),
    (9.0, 1.05e-8, True),
    (9.0, 0.95e-8, False),
    (-9.0, 0.95e-8, False),
]
"""Mean, deviation, and whether that varies by more than rounding."""


def test_what_varies_by_rounding_alone_is_not_read() -> None:
    sign = torch.tensor([1.0, -1.0] * 16, dtype=torch.float64)
    x = torch.stack([mean + wide * sign for mean, wide, _ in WIDTHS], 1)
    scale = logistic(x, torch.zeros(32, dtype=torch.long), 2)._scale
    assert [s < 1 for s in scale] == [varies for *_, varies in WIDTHS]
    (found,) = ridge(x.T[..., None], [sign[:, None]], torch.arange(32) // 2 % 4, [1e-6])
    said = found(x.T[..., None])[..., 0]
    for site, (*_, varies) in zip(said, WIDTHS, strict=True):
        assert torch.allclose(site, sign if varies else 0 * sign, atol=1e-3)


def test_a_probe_along_a_sequence_and_its_error() -> None:
    g = torch.Generator().manual_seed(0)
    x = torch.randn(2, 40, 3, generator=g)
    inside = rows_of(x, t=2 * x[0, :, 0].double(), k=(x[1, :, 1] > 0).long())
    outside = rows_of(x + 0.5, t=2 * x[0, :, 0].double(), k=(x[1, :, 1] > 0).long())
    real = one_sequence._fit_probe(Target("t", None), inside, outside, "here")
    assert (real.strings, real.problem, real.values) == (40, "", None)
    assert real.rmse[0] == pytest.approx(1.0, abs=1e-3)  # all answers are 2 x 1/2 off
    probe = fit_probes(inside.x, [inside.labels["t"]], [0], folds(inside.sequence))[0]
    wanted = (probe(outside.x)[1] - outside.labels["t"]).pow(2).mean().sqrt()
    assert real.rmse[1] == pytest.approx(float(wanted))
    classes = one_sequence._fit_probe(Target("k", torch.arange(2)), inside, outside, "here")
    assert classes.rmse == (0.0, 0.0)
    assert classes.values is not None
    poor = one_sequence._fit_probe(Target("t", None), inside.take(torch.arange(7)), outside, "here")
    assert (poor.probe, poor.rmse, poor.strings) == (None, (), 7)
    assert poor.problem == "7 sequences with a supervised query here; at least 8 are needed"
    read = _read(real, {"clean": x, "edited": x + 0.5}, np.zeros(40))
    assert read.clean is not None
    assert read.edited is not None
    assert np.allclose(read.clean[0], 2 * x[0, :, 0], atol=1e-3)
    assert np.allclose(read.edited[0] - read.clean[0], 1.0, atol=1e-3)
    nothing = _read(poor, {"clean": x}, np.zeros(40))
    assert (nothing.clean, nothing.edited, nothing.problem) == (None, None, poor.problem)


def test_answers_have_an_axis_of_components() -> None:
    assert _columns(torch.zeros(2, 5)).shape == (2, 5, 1)
    assert _columns(torch.zeros(2, 5, 3)).shape == (2, 5, 3)


class Fake(OneSequence):
    """A sequence of a checkpoint of which only parts are known."""

    def __init__(self, **parts: Any) -> None:
        self.__dict__.update(parts)


def test_a_few_fits_are_kept_those_used_last(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(one_sequence, "_FITTED", OrderedDict())
    made: list[object] = []

    def fit(step: int, sha: str = "a", *what: object) -> Fitted:
        run = SimpleNamespace(path="run", meta=lambda step: {"sha256": sha})

        def make() -> Fitted:
            made.append((step, sha, *what))
            return Fitted(None, None, (), len(made), "")

        return _cached_fit(Fake(run=run, step=step), ("summary", *what), make)

    first = fit(0)
    assert fit(0) is first
    for other in (fit(1), fit(0, "b"), fit(0, "a", 5)):
        assert other is not first
    assert len(made) == 4
    for step in range(2, 2 + _KEPT - 4):
        fit(step)
    assert len(one_sequence._FITTED) == _KEPT == len(made)
    assert fit(0) is first
    fit(99)  # one must go: the one that was not used for longest
    assert len(one_sequence._FITTED) == _KEPT
    assert fit(0) is first
    count = len(made)
    fit(1)
    assert len(made) == count + 1


def test_true_summaries_and_the_names_of_their_classes() -> None:
    def truth(summary: list[Any], values: list[int] | None, names: list[str] | None, targets: list[int]) -> Any:
        batch = SimpleNamespace(
            output_summary=torch.tensor([summary]), targets=torch.tensor([targets]),
            mask=torch.tensor([[False, True, True]]),
        )  # fmt: skip
        one = Fake(batch=batch, task=SimpleNamespace(output_names=names))
        true, named = _summary_truth(one, Fitted(None, None if values is None else torch.tensor(values), (), 9))
        return true.tolist(), named

    assert truth([0.5, 1.5, 2.5], None, ["x", "y"], [0, 0, 0]) == ([0.5, 1.5, 2.5], None)
    assert truth([[0.5, 9.0], [1.5, 9.0], [2.5, 9.0]], None, None, [0, 0, 0]) == ([0.5, 1.5, 2.5], None)
    assert truth([1, 0, 1], [0, 1], ["x", "y"], [0, 0, 1]) == ([1.0, 0.0, 1.0], ["x", "y"])
    assert truth([1, 0, 1], [0, 1], ["x", "y"], [1, 1, 1]) == ([1.0, 0.0, 1.0], ["0", "1"])
    assert truth([1, 0, 1], [0, 1], None, [1, 0, 1]) == ([1.0, 0.0, 1.0], ["0", "1"])
    assert truth([4, 2, 3], [2, 4], None, [4, 2, 3]) == ([1.0, 0.0, -1.0], ["2", "4"])


# ---- directions -----------------------------------------------------------------------------------
def test_directions_by_their_site_and_target() -> None:
    weights = {"a": np.array([[[3.0, 0.0], [4.0, 0.0]], [[0.0, 2.0], [1.0, 0.0]]]), "b": np.full((2, 2, 1), 5.0)}
    result = ProbeResult("probes.summary", [], None, (8,), ("low", "high"), weights)  # type: ignore[arg-type]
    assert result.direction().tolist() == [[0.0, 1.0], [1.0, 0.0]]
    assert result.direction("low").tolist() == [[0.6, 0.0], [0.8, 0.0]], "a component of length 0 stays"
    assert result.direction("low", "b").ravel().tolist() == pytest.approx([0.5**0.5] * 2)
    for site, target, said in (("none", "a", "no direction of a at none"), ("low", "c", "no direction of c at low")):
        with pytest.raises(ProbeError, match=said):
            result.direction(site, target)
    nothing = ProbeResult("probes.summary", [], None, (8,), ("low",), {})  # type: ignore[arg-type]
    with pytest.raises(ProbeError, match="target"):
        nothing.direction()


def test_batches_that_do_not_belong_together() -> None:
    assert [*_by_length([given(True, length=4), given(True, length=6)])] == [4, 6]
    for batches, said in (
        ([given(True, length=4), given(True, length=6, law="other")], "of one test set, not given, other"),
        ([given(True, length=4), given(True, length=6, strings=2)], "equally many"),
        ([given(True), given(False)], "two have the same length"),
        ([], "at least one batch"),
    ):
        with pytest.raises(ProbeError, match=said):
            _by_length(batches)


# ---- one code over lengths -------------------------------------------------------------------------
def coded(inside: tuple[int, ...], seed: int = 0) -> tuple[Codes, dict[int, torch.Tensor]]:
    g = torch.Generator().manual_seed(seed)
    y = torch.arange(64) % 2
    xs = {n: 0.1 * torch.randn(64, 3, generator=g) + y[:, None] for n in (4, 8, 16)}
    rows = {n: rows_of(x[None], **{TARGET: y}) for n, x in xs.items()}
    fit = halves(64, np.random.default_rng(0))
    return Codes(rows, inside, fit, rng_of(1), 5), xs


def made(inside: tuple[int, ...] = (4, 8), wanted: tuple[int, ...] = (16,), **options: Any) -> dict[Any, Any]:
    asked = ("run", "step", "task", "cfg", "model", "grid", "seed", "deep", "trained_ids", "earlier", "passes")
    asked += ("rng", "batch", "cache", "further", "answers", "memo", "show")
    study: Any = SimpleNamespace(**dict.fromkeys(asked, print), reads_unseen=lambda n: n > 8)
    found, xs = coded(inside)
    place = ComparedCode({"mode": "used"}, xs, **options)
    report = CouplingRows({4: 60, 8: 50, 16: 40}, study, wanted).rows(place, found)
    return {(r["quantity"], r["length"]): r for r in report}


def test_rows_of_one_code() -> None:
    rows = made()
    at = "length_coupling_at"
    assert [*rows] == [("length_coupling", None), ("length_coupling_in", None), (at, 4), (at, 8), (at, 16)]
    assert [r["status"] for r in rows.values()] == ["unseen_position", "ok", "ok", "ok", "unseen_position"]
    assert [r["n"] for r in rows.values()] == [40, 50, 60, 50, 40]
    assert {r["status"] for r in made(positions=False).values()} == {"ok"}
    assert [*made(brief=True)] == [("length_coupling", None), ("length_coupling_in", None)]
    one = made(inside=(8,))
    assert one["length_coupling_in", None]["note"] == "needs at least two lengths inside training"
    lost = made(wanted=(16, 32))["length_coupling", None]
    assert lost["note"] == "at length 32: length 32 was not measured, or cannot be read"
    nothing = made(problem="no code")
    assert [*nothing] == [*rows]
    assert {(r["status"], r["note"]) for r in nothing.values()} == {("undefined", "no code")}
    assert len(made(problem="no code", brief=True)) == 2


# ---- conditional -----------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("first", "second", "said"),
    [(8, 8, ""), (8, 7, "7 sequences"), (7, 8, "7 sequences"), (40, 8, ""), (0, 40, "0 sequences")],
)
def test_both_halves_hold_sequences_enough(first: int, second: int, said: str) -> None:
    count = first + second
    x = torch.randn(1, count, 2, generator=torch.Generator().manual_seed(0))
    rows = rows_of(x, **{TARGET: torch.arange(count) % 2, POSITION: torch.arange(count) % 3 + 1})
    fit = torch.arange(count) < first
    for problem in ConditionalProbes()._problems(rows, fit).values():
        assert problem.startswith(said)
        assert bool(problem) == bool(said)


def test_what_does_not_vary_is_not_predicted() -> None:
    ones, many, fit = torch.ones(40, dtype=torch.long), torch.arange(40) % 3 + 1, torch.arange(40) % 2 == 0
    x = torch.zeros(1, 40, 2)
    found = ConditionalProbes()._problems(rows_of(x, **{TARGET: ones, POSITION: many}), fit)
    assert found == {"position_given_summary": "", "summary_given_position": "the summary does not vary in the band"}
    found = ConditionalProbes()._problems(rows_of(x, **{TARGET: many, POSITION: ones}), fit)
    assert found == {"position_given_summary": "position does not vary in the band", "summary_given_position": ""}
    found = ConditionalProbes()._problems(rows_of(x * torch.nan, **{TARGET: ones, POSITION: many}), fit)
    assert set(found.values()) == {"activations are not finite"}
    resamples = Resamples.of(torch.arange(4), np.random.default_rng(0), 5)
    errors = Errors(torch.zeros(2, 4).double(), torch.zeros(4).double(), 1.0)
    assert ConditionalProbes._shares_or_reasons(errors, resamples) == [STILL] * 2


# ---- erasure ---------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("target", "bos", "places"),
    [(TARGET, True, [4, 5, 6]), (TARGET, False, [3, 4, 5]), (POSITION, True, [1, 2, 3, 4, 5, 6]), (POSITION, False, [0, 1, 2, 3, 4, 5])],
)  # fmt: skip
def test_where_something_is_erased_and_what_is_left_of_the_rest(target: str, bos: bool, places: list[int]) -> None:
    eye = torch.eye(2, dtype=torch.float64)
    eraser = Eraser(torch.full((2,), 3.0).double(), eye[:, :1], eye[:1], LeftOut(0, 2, 0.0))
    batch = given(bos)
    x = torch.ones(3, 6 + int(bos), 2)
    erased = _edit(ErasureArm(target, "refit", "", False, eraser), batch, 4)(x, hook=None)
    assert [i for i in range(x.shape[1]) if not torch.equal(erased[0, i], x[0, i])] == places
    assert erased[0, places[0]].tolist() == [3.0, 1.0]
    kept = _edit(ErasureArm(target, "refit", "", True, eraser), batch, 4)(x, hook=None)
    assert kept[0, places[0]].tolist() == [1.0, 3.0]
    assert x.eq(1).all()


def test_an_eraser_is_fitted_on_sequences_enough() -> None:
    parts = [rows_of(torch.zeros(1, 40, 2), **{TARGET: torch.arange(40)})] * 2
    assert len(_fitting_rows(parts, torch.arange(40) < FEWEST)) == 2 * FEWEST
    with pytest.raises(ValueError, match=f"{FEWEST}"):
        _fitting_rows(parts, torch.arange(40) < FEWEST - 1)


# ---- in context ------------------------------------------------------------------------------------
def test_items_are_spread_and_every_second_string_is_scored() -> None:
    batch = copying().sample(16, 16, torch.Generator().manual_seed(0), "matched")
    places = [*batch.item_places]
    seen = _Rows(batch, [0], 5, 3)
    assert seen.numbers[ITEMS].tolist() == [1, 5, 9, 12, 16]
    assert seen.numbers[TOKENS].tolist() == [places[i] for i in (0, 4, 8, 11, 15)]
    asked = batch.mask.any(0).nonzero()[-3:, 0]
    assert torch.equal(seen.answers, batch.targets[:, asked])
    assert seen.groups == {-1: ("hook_embed",), 0: ("blocks.0.hook_resid_post",)}
    x = torch.arange(batch.tokens.shape[1]).double().repeat(16, 1)
    x[1::2] += 1.0  # the strings that are scored are read as one place further
    for rows in (slice(0, 6), slice(6, 16)):
        seen.see(0, rows, batch, {"": x[rows, :, None]})
        seen.see(-1, rows, batch, {"": 0 * x[rows, :, None]})
    assert seen.items[0][0, :, 0].tolist() == seen.numbers[TOKENS].tolist()
    assert seen.query_rows[0][0, :, 0].tolist() == asked.tolist()
    for target in (ITEMS, TOKENS):
        even, own = seen.fit_probes(target)
        spread = seen.numbers[target].var(correction=0).item()
        assert seen.r2(own, 0, target) == pytest.approx(np.full(8, 1 - 1 / spread), abs=1e-3)
        assert seen.r2(even, -1, target) == pytest.approx(np.zeros(8), abs=1e-9)
    every = _Rows(batch, [0], 99, 1)
    assert every.numbers[ITEMS].tolist() == [*range(1, 17)]
    alone = _Rows(batch, [], 1, 1)
    alone.see(-1, slice(0, 16), batch, {"": x[..., None]})
    assert np.isnan(alone.r2(alone.fit_probes(ITEMS)[0], -1, ITEMS)).all()
