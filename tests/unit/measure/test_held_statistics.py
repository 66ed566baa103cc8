"""Intervals, rows of one value per sequence, grids and evaluation strings: numbers that are held, and their bounds."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch

from tests.support.held import Held
from tests.support.measure.held_rows import held_rows, short
from workbench.measure import study as studies
from workbench.measure.grid import make_grid, near_multiples, readable
from workbench.measure.in_context.layers_read import spread
from workbench.measure.intervals import (
    all_equal,
    clopper_pearson,
    discordant,
    equal_ends,
    interval,
    jackknife,
    lower_limit,
    mean_ends,
    newcombe,
    resampled_means,
    sign_test,
    tango,
    upper_limit,
    wilson,
)
from workbench.measure.measurement import Grid, Quantity
from workbench.measure.model_study import ModelStudy, _parted
from workbench.measure.rows import add_note, difference_rows, mean_row, missing_row, p_quantity, share_row
from workbench.measure.study import Evaluation, chunks, forward, ids_in_intervals, within
from workbench.models import HookedTransformer, ModelConfig
from workbench.models.errors import PositionError
from workbench.tasks import make_task

COUNTS = [(k, n) for n in (1, 2, 7, 40, 256) for k in sorted({0, 1, n // 3, n - 1, n})]


def test_intervals_of_shares(held: Held) -> None:
    pairs = [(b, c, n) for n in (1, 5, 60) for b in (0, 1, n // 2, n) for c in (0, 1, n // 3) if b + c <= n]
    held({
        "wilson": short([wilson(*one, level) for one in COUNTS for level in (0.95, 0.8)]),
        "clopper_pearson": short([clopper_pearson(*one, level) for one in COUNTS for level in (0.95, 0.8)]),
        "limits": short([limit(*one, 0.01) for one in COUNTS for limit in (lower_limit, upper_limit)]),
        "tango": short([tango(*one, level) for one in pairs for level in (0.95, 0.8)]),
        "sign_test": short([sign_test(b, c) for b in (0, 1, 5, 30) for c in (0, 1, 2, 6, 30)]),
        "newcombe": short([newcombe(*a, *b, level) for a in COUNTS[::3] for b in COUNTS[::4] for level in (0.95, 0.8)]),
        "all_equal": short([all_equal(v, n, (-1, 3), level) for v in (-1, 0.5, 3) for n in (1, 9) for level in (0.95, 0.5)]),
    })  # fmt: skip


def test_intervals_by_resampling(held: Held) -> None:
    rng = np.random.default_rng(0)
    values = rng.normal(size=(12, 2, 3))
    values[3, 0, 1] = values[5:, 1, 2] = np.nan
    values[:, 1, 0] = np.nan
    means = resampled_means(values, np.random.default_rng(1), 30)
    assert means.shape == (30, 2, 3)
    whole = values[:, 0, 0]
    held({
        "means": short(means),
        "interval": short([interval(means), interval(means, 0.5)]),
        "mean_ends": [
            list(mean_ends(whole, np.random.default_rng(2), 50)),
            list(mean_ends(whole, np.random.default_rng(2))),
            list(mean_ends([2.0, 2.0], np.random.default_rng(2), 50, (0.0, 3.0))),
            list(mean_ends([2.0], np.random.default_rng(2), 50)),
            list(equal_ends(0.0, 4, (0.0, 1.0))),
        ],
        "jackknife": short([jackknife(whole), jackknife(whole[:2]), jackknife(whole, 0.5)]),
    })  # fmt: skip


@pytest.mark.parametrize("call", [
    lambda: tango(-1, 0, 5), lambda: tango(0, -1, 5), lambda: tango(3, 3, 5), lambda: tango(0, 0, 0),
    lambda: sign_test(-1, 0), lambda: sign_test(0, -1), lambda: discordant([0.5]), lambda: jackknife([1.0]),
    lambda: resampled_means([], np.random.default_rng(0)), lambda: resampled_means([1.0], np.random.default_rng(0), 1),
    lambda: resampled_means(np.float64(1), np.random.default_rng(0)), lambda: lower_limit(3, 2, 0.1),
    lambda: upper_limit(-1, 2, 0.1), lambda: wilson(0, 0),
])  # fmt: skip
def test_what_has_no_interval_is_refused(call: Any) -> None:
    with pytest.raises(ValueError, match=r"needs|are -1, 0 or 1"):
        call()


def test_the_least_that_has_one() -> None:
    assert tango(5, 0, 5)[1] == 1.0
    assert tango(0, 5, 5)[0] == -1.0
    assert tango(2, 3, 5)[0] < -0.2 < tango(2, 3, 5)[1]
    assert discordant([1, -1, 0, 1]) == (2, 1)
    assert discordant([]) == (0, 0)
    assert resampled_means([4.0], np.random.default_rng(0), 2).tolist() == [4.0, 4.0]
    assert (sign_test(0, 0), sign_test(3, 3), sign_test(1, 0)) == (1.0, 1.0, 1.0)
    assert sign_test(6, 0) == sign_test(0, 6) == pytest.approx(2 / 64)


# ---- rows ----------------------------------------------------------------------------------------
def test_rows_of_one_value_per_sequence(held: Held) -> None:
    rng = np.random.default_rng(0)
    where = {"quantity": "q", "law": "matched", "length": 4, "note": "as asked"}
    first, second = rng.random((2, 30)) < [[0.8], [0.4]]
    values = np.where(rng.random(30) < 0.2, np.nan, rng.random(30))
    held(held_rows([
        share_row(first, "none", **where), share_row([], "none", **where), share_row([False], "none", **where),
        mean_row(values, np.random.default_rng(1), 40, "none", **where),
        mean_row([0.1 + 0.2] * 3, np.random.default_rng(1), 40, "none", (0, 1), **where),
        mean_row([0.3] * 3, np.random.default_rng(1), 40, "none", **where),
        mean_row([np.nan, np.nan], np.random.default_rng(1), 40, "none", **where),
        mean_row([np.nan, 2.0], np.random.default_rng(1), 40, "none", (0, 2), **where),
        *difference_rows(first, second, "none", **where), *difference_rows([], [], "none", **where),
        *difference_rows(second, first, "none", **where), missing_row("censored", "why", **where),
    ]))  # fmt: skip


def test_notes_are_joined_where_there_are_some() -> None:
    assert add_note({"note": "a", "n": 1}, "b") == {"note": "a; b", "n": 1}
    assert (add_note({}, "b"), add_note({"note": "a"}, ""), add_note({}, "")) == (
        {"note": "b"},
        {"note": "a"},
        {"note": ""},
    )
    made = p_quantity("x", "this against that", ("half",))
    assert (made.name, made.low, made.high, made.interval, made.controls) == ("x_p", 0, 1, False, ("half",))
    assert made.bounds == (0.0, 1.0)
    assert Quantity("y", "", "", low=0).bounds is Quantity("y", "", "", high=0).bounds is None


# ---- grids ---------------------------------------------------------------------------------------
def test_the_grids_of_tasks(held: Held) -> None:
    found = {}
    for name in ("majority", "parity", "mod_p_mean", "parity_scratchpad", "aa_star", "uf"):
        task = make_task(name)
        trained = [task.next_length(n) for n in (3, 12, 50)]
        grids = [make_grid(task, n) for n in trained]
        chosen = make_grid(task, trained[1], [task.next_length(n) for n in (2, 30)])
        found[name] = short(
            [n for one in [*grids, chosen] for part in (one.lengths, one.inside, one.outside) for n in (*part, -1)]
        )
    held(found)


@pytest.mark.parametrize(
    ("factors", "found"),
    [((1,), [8]), ((2, 4), [16, 32]), ((0.01, 100), [4, 33]), ((1.4,), [8]), ((1.42,), [16]), ((), []), ((2, 2.1), [16]),
     ((4.1,), [33])],
)  # fmt: skip
def test_the_lengths_nearest_to_multiples(factors: tuple[float, ...], found: list[int]) -> None:
    assert near_multiples([4, 8, 16, 32, 33], 8, factors) == found
    assert near_multiples([], 8, factors) == []


def test_the_part_of_a_grid_that_can_be_read() -> None:
    task = make_task("majority")
    grid = Grid(9, (5, 9, 15, 17), (5, 9), (15, 17))
    cfg = ModelConfig(d_vocab=3, n_layers=1, d_model=4, n_heads=1, n_ctx=16, positions="learned")
    kept, why = readable(grid, task, cfg, strict=False)
    assert kept == Grid(9, (5, 9, 15), (5, 9), (15,))
    assert why.startswith("lengths from 17 on are not measured: ")
    whole, nothing = readable(grid, task, cfg.model_copy(update={"n_ctx": 18}), strict=True)
    assert (whole, nothing) == (grid, "")
    with pytest.raises(PositionError, match="length 17: "):
        readable(grid, task, cfg, strict=True)


def test_lengths_inside_and_outside_training() -> None:
    assert _parted(8, [4, 8, 9]) == Grid(8, (4, 8, 9), (4, 8), (9,), (4, 8, 9))
    assert _parted(None, [4, 8]) == Grid(0, (4, 8), (), (), (4, 8))


@pytest.mark.parametrize(
    ("layers", "count", "found"),
    [
        (30, 5, [5, 11, 17, 23, 29]),
        (4, 8, [0, 1, 2, 3]),
        (5, 2, [2, 4]),
        (7, 1, [6]),
        (1, 3, [0]),
        (10, 4, [2, 4, 7, 9]),
    ],
)
def test_layers_at_even_distances(layers: int, count: int, found: list[int]) -> None:
    assert spread(layers, count) == found


# ---- strings and passes --------------------------------------------------------------------------
def test_evaluation_strings(held: Held) -> None:
    """In blocks, cut out of the longest where prefixes are as good; further ones go on where the first ones end."""
    found = {}
    for name in ("majority", "flip_flop", "parity_scratchpad"):
        task = make_task(name)
        grid = make_grid(task, task.next_length(4))
        for law in ("matched", "challenge"):
            for consistent in (True, False):
                made = Evaluation(task, grid, 3, 65, consistent)
                length = grid.inside[-1]
                batch = made.batch(law, length)
                more = [one.tokens for one in made.further(law, length, 60, 130)]
                again = [one.tokens for one in made.further(law, length, 0, 2, "other")]
                assert len(batch) == 128
                assert torch.equal(torch.cat(more)[:68], batch.tokens[60:])
                assert sum(map(len, more)) == 70
                found[f"{name} {law} {consistent}"] = [
                    made.source_length(law, length), short(batch.tokens.numpy()), short(torch.cat(more).numpy()),
                    short(torch.cat(again).numpy()),
                ]  # fmt: skip
    held(found)


@pytest.mark.parametrize(
    ("positions", "size"), [(1, 64), (256, 64), (257, 32), (512, 32), (8192, 2), (8193, 1), (16_384, 1), (99_999, 1)]
)
def test_sequences_of_a_pass(positions: int, size: int) -> None:
    assert studies._chunk(positions) == size


def test_ids_that_are_covered() -> None:
    ids = np.arange(12)
    intervals = [[7, 9], [0, 2], [1, 4], [9, 9]]
    assert ids[ids_in_intervals(ids, intervals)].tolist() == [0, 1, 2, 3, 4, 7, 8, 9]
    assert within(np.array([0, 4, 7, 9]), intervals)
    assert not within(np.array([4, 5]), intervals)
    assert not ids_in_intervals(ids, []).any()
    assert ids_in_intervals(np.array([1, 3]), [[0, 9], [1, 2]]).all(), "a short interval inside a long one ends nothing"


def test_a_pass_in_chunks_is_the_pass() -> None:
    task = make_task("flip_flop")
    cfg = ModelConfig(d_vocab=task.d_vocab, d_vocab_out=task.d_vocab_out, n_layers=1, d_model=8, n_heads=1, n_ctx=32)
    model = HookedTransformer(cfg, seed=0).double().eval()
    batch = task.sample(5, 6, torch.Generator().manual_seed(0), "matched")
    assert [len(tokens) for tokens, _ in chunks(model, batch, chunk=2)] == [2, 2, 1]
    ids = torch.arange(7).expand(5, 7).clone() + torch.arange(5)[:, None]
    given = list(chunks(model, batch, ids, 2))
    assert [one[0, 0].item() for _, one in given] == [0, 2, 4]
    assert torch.allclose(forward(model, batch, [])["logits"], model(batch.tokens))
    with pytest.raises(KeyError, match="'nothing'"):
        forward(model, batch, ["nothing"])


def test_a_study_in_memory_counts_its_passes() -> None:
    task = make_task("majority")
    cfg = ModelConfig(d_vocab=3, d_vocab_out=2, n_layers=1, d_model=4, n_heads=1, n_ctx=16)
    model, other = (HookedTransformer(cfg, seed=seed).eval() for seed in (0, 1))
    one = ModelStudy(model, task, Grid(5, (5, 9), (5,), (9,)), 3, 0)
    assert one.cache("matched", 5, [], untrained=True) is None
    assert one.show("matched", 5, [], untrained=True) is False
    assert one.passes == 0
    clean = one.cache("matched", 5, [])
    assert clean is not None
    assert one.passes == 1
    batch = one.batch("matched", 5)
    assert len(batch) == 3
    assert len(list(one.further("matched", 5, 0, 2, []))) == 1
    one.answers(batch, [])
    assert one.passes == 3
    beside = ModelStudy(model, task, one.grid, 3, 0, other).cache("matched", 5, [], untrained=True)
    assert beside is not None
    assert not torch.equal(beside["logits"], clean["logits"])
    assert one.rng("a").random() == one.rng("a").random() != one.rng("b").random()
    assert (one.deep, one.step, one.run) == (True, 0, "memory")
    assert not SimpleNamespace(**vars(one)).trained_ids
