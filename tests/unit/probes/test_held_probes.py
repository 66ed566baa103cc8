"""What probes, scores, controls, codes and erasers make of given rows: held, and exactly at what is asked of the rows."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from probes.codes import class_means, code_change, drift, length_coupling
from probes.codes.class_means import Draws, Labelling, NoCode, codes, inner
from probes.codes.code_change import Change, Codes, mean_change
from probes.codes.drift import Cosine, beyond, cosines, first_settled_step
from probes.conditional import ConditionalProbes, Errors, cross_fit_errors, indicators
from probes.decodability_rows import ProbeCell, QuantityNames
from probes.description_length.online_code import class_code, number_codes
from probes.erasure.leace import LeftOut, Whitened, residual
from probes.erasure.measurement import concept
from probes.fitting import controls
from probes.fitting.decode import FEWEST, MOST_CLASSES, Decoder, ProbeArm, Target, UndefinedTarget
from probes.fitting.linear import fit_probes, ridge
from probes.fitting.logistic import logistic
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
from probes.fitting.probe_rows import ProbeError, ProbeRows, RowPlaces, folds, halves, pool_lengths, sites_in, sites_of
from probes.position import Position
from probes.residual_stream import POSITION, TARGET, summary_labels
from tests.support.held import Held
from tests.support.measure.held_rows import held_rows, short
from tests.support.probes.fixtures import rng_of
from workbench.measure.intervals import clopper_pearson
from workbench.tasks import make_task
from workbench.tasks.random_generator import generator

SITES = ("blocks.0.hook_resid_pre", "blocks.0.hook_resid_post")


def drawn(seed: int, rows: int = 96, d: int = 5, per: int = 1, **labels: Any) -> ProbeRows:
    """Rows whose features tell their labels, more or less."""
    g = torch.Generator().manual_seed(seed)
    classes = torch.randint(3, (rows,), generator=g)
    numbers = torch.randn(rows, generator=g, dtype=torch.float64)
    x = torch.randn(2, rows, d, generator=g)
    x[0, :, 0] += classes
    x[1, :, 1] += 2 * numbers.float()
    x[1, :, 2] -= classes
    tokens = torch.randint(-1, 3, (rows, 8), generator=g)
    named = {TARGET: classes, POSITION: (numbers * 2).exp(), "vector": torch.stack([numbers, classes.double()], 1)}
    return ProbeRows(x, {**named, **labels}, torch.arange(rows) // per, tokens)


def scores(found: list[ProbeScore]) -> Any:
    return short([[at.value, at.low, at.high] for at in found])


# ---- fitting -------------------------------------------------------------------------------------
def test_probes_of_classes_numbers_and_vectors(held: Held) -> None:
    rows, other = drawn(0), drawn(1)
    labels = [rows.labels[name] for name in (TARGET, POSITION, "vector")]
    probes = fit_probes(rows.x, labels, [3, 0, 0], folds(rows.sequence))
    again = [
        p.recalibrate(-other.x, other.labels[name], c)
        for p, name, c in zip(probes, (TARGET, POSITION, "vector"), (3, 0, 0), strict=True)
    ]
    two = fit_probes(rows.x, [(labels[0] > 0).long()], [2], folds(rows.sequence))[0]
    one = ridge(rows.x, [rows.labels["vector"]], folds(rows.sequence), [0.5])[0]
    held({
        "weights": [short(p.directions.weight.numpy()) for p in probes],
        "ridge": [p.directions.ridge.tolist() for p in probes],
        "said": [short(p(other.x).numpy()) for p in probes],
        "again": [short(p(other.x).numpy()) for p in again],
        "reversed": [
            *(p.sign_flips(q) for p, q in zip(probes, again, strict=True)),
            two.sign_flips(two.recalibrate(-other.x, (other.labels[TARGET] > 0).long(), 2)), two.sign_flips(two),
        ],
        "one strength": short([*one.weight.flatten(), *one.bias.flatten(), *one.ridge]),
        "logistic": short(logistic(rows.x[0], labels[0], 4).log2_probabilities(other.x[0])),
        "one class": short(logistic(rows.x[0], torch.ones(96, dtype=torch.long), 3).log2_probabilities(other.x[0])),
    })  # fmt: skip


def test_what_cannot_be_fitted_is_refused() -> None:
    rows = drawn(0)
    one_fold = torch.zeros(96, dtype=torch.long)
    with pytest.raises(ValueError, match="two folds"):
        ridge(rows.x, [rows.labels["vector"]], one_fold)
    with pytest.raises(ValueError, match="positive, not 0"):
        ridge(rows.x, [rows.labels["vector"]], one_fold, [0.0])
    with pytest.raises(ValueError, match="there is none"):
        ridge(rows.x[:, :0], [rows.labels["vector"][:0]], one_fold[:0])
    assert ridge(rows.x, [rows.labels["vector"]], one_fold, [1e-3])[0].ridge.tolist() == [1e-3] * 2
    assert fit_probes(rows.x, [], [], one_fold) == []


# ---- scores --------------------------------------------------------------------------------------
def test_scores_with_their_intervals(held: Held) -> None:
    rows = drawn(2, per=2)
    truth, numbers, vector = rows.labels[TARGET], rows.labels[POSITION], rows.labels["vector"]
    g = torch.Generator().manual_seed(3)
    said = torch.where(torch.rand(2, 96, generator=g) < 0.7, truth, 2 - truth)
    resamples = Resamples.of(rows.sequence, np.random.default_rng(0), 30)
    noisy = numbers + torch.randn(2, 96, generator=g, dtype=torch.float64)
    hits = said[0] == truth, said[1] == truth
    found = estimates(balanced_accuracy(said, truth, 3, resamples))
    assert len(resamples) == 48
    held({
        "balanced": scores(found),
        "exact": scores(exact_where_uniform(found, torch.stack([truth, said[1]]), truth, 3)),
        "constant": scores(exact_where_uniform(found, torch.ones(2, 96, dtype=torch.long), truth, 3)),
        "paired": scores([paired_balanced(*hits, truth, 3), paired_balanced(*hits[::-1], truth, 3)]),
        "r2": scores(estimates(r2(noisy, numbers, resamples))),
        "r2 of vectors": scores(estimates(r2(vector.flip(1)[None].repeat(2, 1, 1), vector, resamples))),
        "rmse": scores(estimates(rmse(noisy, numbers, resamples))),
        "rmse of vectors": scores(estimates(rmse(vector.flip(1)[None], vector, resamples))),
        "sums": short(resamples.sums(noisy).numpy()),
    })  # fmt: skip


def test_an_interval_of_no_width_or_too_wide_a_one() -> None:
    resamples = Resamples.of(torch.arange(4), np.random.default_rng(0), 5)
    errors = torch.tensor([1.0, 1.0, 5.0, 1.0])
    assert says_nothing(ProbeScore(0.5, -0.25, 0.75), errors, resamples) == ""
    said = says_nothing(ProbeScore(0.5, -0.25, 0.7500001), errors, resamples)
    assert said == (
        "0.5 [-0.25, 0.75]: an interval wider than 1 says nothing; one of 4 held-out sequences makes up 62% of the "
        "squared error"
    )
    point = fields_of(ProbeScore(0.5, 0.5, 0.5), 4, "as is")
    assert point == {"value": 0.5, "n": 4, "note": f"as is; {NO_SPREAD}"}
    assert fields_of(ProbeScore(0.5, 0.5, 0.5 + 2e-9), 4) == {
        "value": 0.5, "low": 0.5, "high": 0.5 + 2e-9, "n": 4, "note": "",
    }  # fmt: skip
    assert "low" not in fields_of(ProbeScore(1e6, 0.0, 0.9e-3), 4), "rounding of a large number"
    assert "low" in fields_of(ProbeScore(1e6, 0.0, 1.1e-3), 4)


# ---- splits, pools, controls ---------------------------------------------------------------------
def test_splits_pools_and_controls(held: Held) -> None:
    rows = {n: drawn(n, 40, per=2) for n in (5, 9, 13)}
    pool = pool_lengths(rows, np.random.default_rng(0))
    labels = rows[5].labels
    held({
        "halves": short(halves(21, np.random.default_rng(0)).numpy()),
        "folds": folds(torch.tensor([7, 7, 3, 9, 11, 12, 3, 20])).tolist(),
        "pooled": [len(pool), short(pool.sequence.numpy()), short(pool.x.numpy())],
        "shuffled": short(controls.shuffle_labels(labels[TARGET], np.random.default_rng(0)).numpy()),
        "hashed": [short(controls.hash_labels(labels[name], rows[5].tokens).numpy()) for name in (TARGET, POSITION, "vector")],
        "relabelled": [
            short(controls.relabel_rows(rows[5], TARGET, control, np.random.default_rng(1)).labels[TARGET].numpy())
            for control in ("", controls.SHUFFLED, controls.HASHED)
        ],
        "inputs": [
            short(controls.inputs(rows[5].tokens, control).numpy())
            for control in (controls.TOKEN, controls.TOKENS, controls.CONSTANT)
        ],
        "by length": {
            str(n): short(x.numpy())
            for n, x in controls.inputs_by_length({n: r.tokens for n, r in rows.items()}, controls.TOKENS).items()
        },
    })  # fmt: skip
    assert halves(5, np.random.default_rng(0)).sum() == 3
    assert len(controls.hash_labels(labels[TARGET][:0], rows[5].tokens[:0])) == 0


def test_names_of_sites() -> None:
    every = sites_of(2, True)
    assert every == [
        "blocks.0.hook_resid_pre", "blocks.0.hook_resid_mid", "blocks.0.hook_resid_post", "blocks.1.hook_resid_mid",
        "blocks.1.hook_resid_post",
    ]  # fmt: skip
    assert sites_of(2, False) == every[::2]
    assert sites_of(2, False, [1, -1, 1]) == [every[0], every[4]]
    assert sites_of(2, True, [0]) == every[1:3]
    shown = dict.fromkeys([*reversed(every), "blocks.1.hook_resid_pre", "logits"], torch.zeros(1))
    assert sites_in(shown) == every
    assert sites_in(shown, [1]) == every[3:]
    for layer in (-2, 2):
        with pytest.raises(ProbeError, match=f"{layer}"):
            sites_of(2, True, [layer])


def test_windows_of_tokens_end_at_the_query() -> None:
    batch = make_task("majority").sample(2, 9, generator("window"), "matched")
    at = torch.tensor([[0, 1], [1, 9], [0, 8]])
    found = RowPlaces.of(batch, at, {}).tokens
    assert found[0].tolist() == [-1] * 7 + [int(batch.tokens[0, 1])]
    assert found[1].tolist() == batch.tokens[1, 2:].tolist()
    assert found[2].tolist() == batch.tokens[0, 1:9].tolist()
    which, sequence, index = RowPlaces.of(batch, at, {}).within(slice(0, 1))
    assert (which.tolist(), sequence.tolist(), index.tolist()) == ([0, 2], [0, 0], [1, 8])
    which, sequence, _ = RowPlaces.of(batch, at, {}).within(slice(1, 2))
    assert (which.tolist(), sequence.tolist()) == ([1], [0])


@pytest.mark.parametrize("queries", ["supervised", "all"])
def test_places_of_bands(queries: Any, held: Held) -> None:
    """Also at lengths that are odd, and of strings of which not every place is asked."""
    found = {}
    for name in ("majority", "parity_scratchpad", "kgram_retrieval"):
        task = make_task(name)
        batch = task.sample(20, task.next_length(13), generator("places"), "matched")
        for length in (batch.length, 5, 2):
            part = batch.prefix(length) if length < batch.length and batch.prompt is None else batch
            for kind in (
                Position(positions=3, queries=queries, seed=2),
                ConditionalProbes(positions=3, queries=queries),
            ):
                places = kind.places(part, part.length)
                found[f"{name} {part.length} {kind.name}"] = [
                    short(places.at.numpy()), *(short(label.numpy()) for label in places.labels.values()),
                ]  # fmt: skip
    held(found)


# ---- decoding ------------------------------------------------------------------------------------
def decoder(**changed: Any) -> Decoder:
    rows = {n: drawn(n, 80, **changed) for n in (5, 9)}
    return Decoder(rows, (5,), halves(80, np.random.default_rng(0)), rng_of(1))


def test_arms_of_every_kind(held: Held) -> None:
    one = decoder()
    untrained = {n: drawn(n + 50, 80) for n in (5, 9)}
    found: dict[str, Any] = {}
    for n in (5, 9):
        arms = one.arms(n, (controls.SHUFFLED, controls.HASHED))
        shared = one.input_controls(n, (controls.TOKEN, controls.CONSTANT), untrained)
        resamples = Resamples.of(one.test[n].sequence, np.random.default_rng(0), 20)
        for target in one.targets:
            names = QuantityNames("d", rmse="e", selectivity="s")
            cell = ProbeCell(names, "matched", n, target, len(resamples), SITES)
            # A constant feature ties all classes, and rounding chooses the one that it answers: its interval, and that
            # of a difference from it, are not held where the target has classes.
            tied = [arm for arm in shared[target.name] if target.classes and arm.control == controls.CONSTANT]
            rest = [arm for arm in shared[target.name] if arm not in tied]
            every = cell.rows([*arms[target.name], *shared[target.name]], resamples)
            found[f"{n} {target.name}"] = held_rows(cell.rows([*arms[target.name], *rest], resamples))
            found[f"{n} {target.name} values"] = short([row["value"] for row in every])
            found[f"{n} {target.name} alone"] = held_rows(cell.rows(arms[target.name], resamples))
            if tied:
                sizes = torch.bincount(one.test[n].labels[TARGET], minlength=3).tolist()
                answered = [
                    np.mean([clopper_pearson(size if k == chosen else 0, size) for k, size in enumerate(sizes)], axis=0)
                    for chosen in range(3)
                ]
                for row in every:
                    if row["control"] == controls.CONSTANT:
                        assert row["value"] == pytest.approx(1 / 3)
                        assert any(np.allclose((row["low"], row["high"]), ends) for ends in answered)
    held(found)


def test_what_is_undefined_says_so_in_every_row() -> None:
    target = Target("t", None)
    cell = ProbeCell(QuantityNames("d", rmse="e", selectivity="s"), "matched", 5, target, 9, SITES)
    resamples = Resamples.of(torch.arange(4), np.random.default_rng(0), 5)
    rows = cell.rows([UndefinedTarget("refit", "", "no rows"), UndefinedTarget("refit", "c", "none either")], resamples)
    said = [(r["quantity"], r["control"], r["layer"], r["note"], r["status"]) for r in rows]
    assert said == [
        (q, c, layer, note, "undefined")
        for q, c, note in (("d", "", "no rows"), ("e", "", "no rows"), ("d", "c", "none either"), ("s", "", "no rows"))
        for layer in (-1, 0)
    ]
    classes = ProbeCell(QuantityNames("d", rmse="e"), "matched", 5, Target("t", torch.arange(2)), 9, SITES)
    rows = classes.rows([UndefinedTarget("refit", "", "no rows")], resamples)
    assert {r["quantity"] for r in rows} == {"d"}
    y = torch.tensor([0, 1, 0, 1])
    turned = classes.rows([ProbeArm("recalibrated", "", y[None].repeat(2, 1), y, (True, False))], resamples)
    assert ["opposite" in r["note"] for r in turned] == [True, False]


def test_a_target_at_its_bounds() -> None:
    rows = drawn(0, 130)
    few, many = (torch.arange(130) % n for n in (MOST_CLASSES, MOST_CLASSES + 1))
    assert Target.among("k", {1: ProbeRows(rows.x, {"k": few}, rows.sequence, rows.tokens)}).classes == MOST_CLASSES
    assert Target.among("k", {1: ProbeRows(rows.x, {"k": many}, rows.sequence, rows.tokens)}).classes == 0
    target = Target.among(TARGET, {1: rows})
    enough, short_of = rows.take(torch.arange(FEWEST)), rows.take(torch.arange(FEWEST - 1))
    wide = Target(TARGET, enough.labels[TARGET].unique())
    assert wide.problem(enough, "here") == ""
    assert (
        wide.problem(short_of, "here") == f"{FEWEST - 1} sequences with a supervised query here; at least 8 are needed"
    )
    assert target.poor(torch.tensor([0, 0, 2]), "here") == "no row of class 1 here"
    assert target.poor(torch.tensor([0, 1, 2]), "here") == ""
    assert Target("n", None).poor(torch.tensor([1.0, 1.0]), "here") == "n does not vary here"
    assert Target("n", None).poor(torch.tensor([1.0, 1.5]), "here") == ""
    away = Decoder({5: rows}, (7,), halves(130, np.random.default_rng(0)), rng_of(1)).arms(5, ())
    assert [one.problem for one in away[TARGET][:2] if isinstance(one, UndefinedTarget)] == [
        "none of the lengths to transfer from was measured"
    ] * 2


# ---- conditional ---------------------------------------------------------------------------------
def test_errors_of_each_half_from_the_other(held: Held) -> None:
    rows = drawn(4, per=2)
    fit = halves(48, np.random.default_rng(0))
    given = indicators(rows.labels[TARGET])
    targets = [rows.labels[POSITION].log()[:, None], indicators(rows.labels["vector"])]
    found = cross_fit_errors(rows.x, targets, given, rows, fit)
    resamples = Resamples.of(rows.sequence, np.random.default_rng(0), 10)
    held([[short(one.full), short(one.base), one.whole, short(one.shares(resamples))] for one in found])
    assert Errors(torch.zeros(1, 2), torch.tensor([1e-20, 0.0]).double(), 1.0).nothing_left
    assert not Errors(torch.zeros(1, 2), torch.tensor([1.01e-20, 0.0]).double(), 1.0).nothing_left


# ---- codes ---------------------------------------------------------------------------------------
def lengths(label: str = TARGET, rows: int = 96) -> dict[int, ProbeRows]:
    made = {n: drawn(n, rows) for n in (4, 8, 16)}
    return {n: ProbeRows(r.x, {TARGET: r.labels[label]}, r.sequence, r.tokens) for n, r in made.items()}


@pytest.mark.parametrize("label", [TARGET, POSITION, "vector"])
def test_codes_and_their_change(label: str, held: Held, monkeypatch: pytest.MonkeyPatch) -> None:
    rows, fit = lengths(label), halves(96, np.random.default_rng(0))
    found = Codes(rows, (4, 8), fit, rng_of(2), 20)
    xs = {n: r.x[0] for n, r in rows.items()}
    whole = found.changes(xs)
    monkeypatch.setattr(class_means, "HELD", 700)
    parts = found.changes(xs)
    assert all(np.allclose(whole[key].draws, parts[key].draws, equal_nan=True) for key in whole)
    pairs = [(4, 8), (4, 16), (8, 16)]
    held({
        "labelling": [list(found.labelling.classes), found.labelling.note,
                      None if found.labelling.edges is None else short(found.labelling.edges.numpy())],
        "sizes": {str(n): found.labelling.sizes(r, fit).tolist() for n, r in rows.items()},
        "changes": {f"{n} {apart}": [short(one.draws), one.problem] for (n, apart), one in whole.items()},
        "mean": short(mean_change({n: whole[n, False] for n in (4, 8)}).draws),
        "cosines": [[one.value, one.low, one.high, one.problem] for one in cosines(xs, found.draws, pairs)],
        "inner": short(next(inner(m[4], m[16]).numpy() for m in codes(xs, found.draws))),
    })  # fmt: skip


def test_classes_that_are_compared_have_enough_sequences_in_both_halves() -> None:
    fit = torch.arange(40) % 2 == 0
    labels = torch.cat([torch.zeros(16), torch.ones(16), torch.full((8,), 2.0)]).long()
    rows = {4: ProbeRows(torch.zeros(1, 40, 2), {TARGET: labels}, torch.arange(40), torch.zeros(40, 8).long())}
    assert Labelling.of(rows, [4], fit) == Labelling(None, (0, 1, 2), "")
    fewer = labels.clone()
    fewer[-1] = 0
    rows[4].labels[TARGET] = fewer
    assert Labelling.of(rows, [4], fit) == Labelling(None, (0, 1), "2 of 3 classes")
    for wrong, said in (
        (torch.zeros(40).long(), "the summary has one class only"),
        (torch.arange(40), "fewer than 2 of 40 classes have 4 sequences per half inside training"),
    ):
        rows[4].labels[TARGET] = wrong
        with pytest.raises(NoCode, match=said):
            Labelling.of(rows, [4], fit)
    with pytest.raises(NoCode, match="training"):
        Labelling.of(rows, [5], fit)
    with pytest.raises(NoCode, match="lengths"):
        Labelling.of({4: rows[4].take(torch.zeros(40).bool())}, [4], fit)
    short_of = rows[4].take(torch.arange(39))
    short_of.labels[TARGET] = labels[:39]
    with pytest.raises(NoCode, match="3 sequences"):
        Draws.of(short_of, Labelling(None, (0, 1, 2)), fit, np.random.default_rng(0), 3)


def test_a_code_that_is_not_above_its_noise_has_no_change_and_no_cosine() -> None:
    up = np.array([1.0, 1.0, 1.0])
    assert Change.of(0.5 * up, up).draws.tolist() == [0.5] * 3
    assert Change.of(2 * up, up).draws.tolist() == [1.0] * 3
    assert Change.of(-up, up).draws.tolist() == [0.0] * 3
    for size in ([0.0, 1, 1], [-1.0, 1, 1], [np.nan, 1, 1], [1.0, -1, 1], [1.0, 0, 0]):
        assert Change.of(up, np.array(size)).problem == code_change.NOISE
    assert mean_change({8: Change(up), 16: Change(up, "none")}).problem == "at length 16: none"
    assert mean_change({8: Change(up), 16: Change(3 * up)}).draws.tolist() == [2.0] * 3
    draws = torch.ones(3, 4, dtype=torch.float64)
    assert Cosine.of(draws) == Cosine(1.0, 1.0, 1.0)
    draws[0] = -3
    assert Cosine.of(draws).value == -1.0
    draws[1, 0] = 0.0
    assert Cosine.of(draws).problem == drift.NOISE


@pytest.mark.parametrize(
    ("values", "first"),
    [([0.9, 0.9, 0.9], 1), ([0.9, 0.9 - 1e-9, 0.9], 4), ([0.9, 0.9, 0.89], 9), ([None, 0.95, 0.95], 2), ([], 9)],
)
def test_when_a_code_settled_at_its_bar(values: list[float | None], first: int) -> None:
    found = [Cosine(problem="none") if value is None else Cosine(value) for value in values]
    assert first_settled_step([1, 2, 4][: len(values)], found, 9) == first


def test_pairs_beyond_training() -> None:
    rows, fit = lengths(), halves(96, np.random.default_rng(0))
    found = Codes(rows, (4, 8), fit, rng_of(2), 5)
    assert beyond(8, found) == [(8, 16)]
    assert beyond(4, found) == [(4, 8), (4, 16)]
    assert beyond(5, found) == []
    assert set(found.pairs) == {(4, False), (8, False), (16, False), (4, True), (8, True)}
    assert found.pairs[4, True] == [8]
    assert set(Codes(rows, (4,), fit, rng_of(2), 5).pairs) == {(4, False), (8, False), (16, False)}
    assert length_coupling.FACTORS == (2, 4, 8)


# ---- codes of bits, erasers ----------------------------------------------------------------------
def test_online_codes(held: Held) -> None:
    rows = drawn(6, 130)
    made = class_code(rows.x[0], rows.labels[TARGET], 3)
    numbers = number_codes(rows.x[1], [rows.labels[POSITION], rows.labels["vector"]])
    held([
        [short(one.bits), short(one.plain), short(one.block), one.length(), one.compression(), short(one.predicted),
         short(one.resample(np.random.default_rng(0), 10))]
        for one in (made, *numbers)
    ])  # fmt: skip
    assert np.bincount(made.block).tolist() == [8, 8, 16, 33, 65]


def test_the_fewest_rows_of_an_online_code() -> None:
    rows = drawn(6, 64)
    assert len(class_code(rows.x[0], rows.labels[TARGET], 3).bits) == 64
    with pytest.raises(ProbeError, match="63 sequences"):
        class_code(rows.x[0, :63], rows.labels[TARGET][:63], 3)


def test_erasers(held: Held) -> None:
    rows = drawn(8)
    x = torch.cat([rows.x[1], rows.x[1][:, :1] * 2], 1)
    white = Whitened.of(x)
    z = rows.labels["vector"]
    own, chance = white.leace(z), white.random(2, np.random.default_rng(0))
    other = drawn(9).x[1]
    other = torch.cat([other, other[:, :1]], 1)
    held({
        "left out": [white.left_out.directions, white.left_out.of],
        "erased": short(own.erase(other).numpy()), "kept": short(own.keep(other).numpy()),
        "by chance": short(chance.erase(other).numpy()),
        "rank, variance": [own.rank, own.variance, chance.rank, chance.variance],
        "residual": short(residual(z, rows.labels[POSITION][:, None]).numpy()),
        "concept": [short(concept(rows, name).numpy().__abs__()) for name in (TARGET, POSITION)],
    })  # fmt: skip
    assert str(LeftOut(0, 5, 0.0)) == "no direction left out"
    assert str(LeftOut(2, 5, 0.0312)) == "2 of 5 directions left out, with 0.03 of the variance"
    assert white.left_out.share < 1e-9
    with pytest.raises(ValueError, match="vary"):
        Whitened.of(torch.ones(4, 2))
    with pytest.raises(ValueError, match="concept"):
        white.leace(torch.ones(96, 1))
    unrelated = torch.randn(96, 1, generator=torch.Generator().manual_seed(99))
    with pytest.raises(ValueError, match="chance"):
        white.leace(unrelated, np.random.default_rng(0))


def test_labels_of_summaries() -> None:
    for name, kind in (("majority", torch.int64), ("mod_p_mean", torch.float64)):
        task = make_task(name)
        batch = task.sample(2, task.next_length(5), generator("labels"), "matched")
        assert summary_labels(batch).dtype is kind
