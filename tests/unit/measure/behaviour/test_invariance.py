"""Agreement under shifted ids and inserted fillers, on models whose answers are a formula."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from scipy.stats import binom

from workbench.measure.behaviour.invariance import (
    Invariance,
    answered_alike,
    insert_neutral_tokens,
    take_places,
    unseen_of,
)
from workbench.measure.intervals import wilson
from workbench.measure.measurement import Grid
from workbench.measure.model_study import ModelStudy, run
from workbench.measure.result import Result
from workbench.measure.settings import MeasurementError
from workbench.measure.study import Evaluation
from workbench.models import HookedTransformer, ModelConfig
from workbench.models.handmade.blank import blank
from workbench.models.handmade.state_space import flip_flop
from workbench.models.handmade.transformers import majority
from workbench.tasks import make_task
from workbench.tasks.base import Task

MAJORITY, PARITY = make_task("majority"), make_task("parity")
OCCURS = make_task("regular", regex="a*b(a|b)*")
W = 16
"""Training length, and how many tokens the length-coupled twins see."""


def measured(
    model: Any, task: Task, lengths: tuple[int, ...] | None = (W, 2 * W, 4 * W), sequences: int = 128, **settings: Any
) -> Result:
    """Lengths that are named are all measured; None = the grid of a run, and of it the factors of the settings."""
    return run(Invariance(**settings), model, task, trained=W, lengths=lengths, sequences=sequences)


def rows(found: Result, quantity: str, **where: Any) -> list[dict[str, Any]]:
    return [r for r in found.rows if r["quantity"] == quantity and all(r[k] == v for k, v in where.items())]


def b_occurs(window: int | None = None) -> HookedTransformer:
    """Is there a b? One uniform head writes (#b - 1/2) / K; with a window it sees the keys up to that id alone."""
    model = blank(
        ModelConfig(
            d_vocab=3, d_vocab_out=2, n_layers=1, d_model=6, n_heads=1, d_head=2, n_ctx=512, attn_only=True,
            normalization_type=None, positions="none" if window is None else "learned",
        )
    )  # fmt: skip
    one, bos, b, late, seen = range(5)
    weights = dict(model.named_parameters())
    with torch.no_grad():
        weights["embed.W_E"][:, one] = 1.0
        weights["embed.W_E"][0, bos] = 1.0
        weights["embed.W_E"][2, b] = 1.0
        weights["blocks.0.attn.W_V"][0, b, 1] = 1.0
        weights["blocks.0.attn.W_V"][0, bos, 1] = -0.5  # BOS is always seen, once
        weights["blocks.0.attn.W_O"][0, 1, seen] = 1.0
        weights["unembed.W_U"][seen, 1] = 1000.0
        if window is not None:
            weights["pos_embed.W_pos"][window + 1 :, late] = 1.0
            weights["blocks.0.attn.W_Q"][0, one, 0] = 1.0
            weights["blocks.0.attn.W_K"][0, late, 0] = -60.0 * model.cfg.attn_scale
    return model


def id_parity() -> HookedTransformer:
    """Answers by whether the last id is odd, whatever stands there."""
    model = blank(
        ModelConfig(
            d_vocab=3, d_vocab_out=2, n_layers=1, d_model=2, n_heads=1, d_head=2, n_ctx=200, attn_only=True,
            normalization_type=None, positions="learned",
        )
    )  # fmt: skip
    with torch.no_grad():
        model.pos_embed.W_pos[::2, 0] = 1.0
        model.pos_embed.W_pos[1::2, 0] = -1.0
        model.unembed.W_U[0, 1] = 1.0
    return model


# ---- shift ------------------------------------------------------------------------------------------
@pytest.mark.asserts("shift_agreement")
@pytest.mark.parametrize(("lengths", "read"), [
    (None, (W, 4 * W)), ((W, 2 * W, 4 * W), (W, 2 * W, 4 * W)), ((W, 3 * W), (W, 3 * W)),
])  # fmt: skip
def test_a_model_of_the_parity_of_its_id_flips_with_every_odd_shift(
    lengths: tuple[int, ...] | None, read: tuple[int, ...]
) -> None:
    found = measured(id_parity(), PARITY, lengths, offsets=(1, 2, 3), offset_factors=(), shift_factors=(1, 4))
    values = {(r["law"], r["length"], r["mode"]): r["value"] for r in rows(found, "shift_agreement")}
    assert values == {
        (law, n, f"by {o}"): float(o == 2) for law in ("matched", "challenge") for n in read for o in (1, 2, 3)
    }
    (row,) = rows(found, "shift_agreement", law="challenge", length=W, mode="by 3")
    assert (row["n"], row["low"], row["high"]) == (128, *wilson(0, 128))


def test_offsets_are_ids_and_multiples_of_n() -> None:
    found = measured(id_parity(), PARITY, None, offsets=(1,), offset_factors=(0.3, 1), shift_factors=(1,))
    assert [r["mode"] for r in rows(found, "shift_agreement", law="matched")] == ["by 1", "by 5", f"by {W}"]


@pytest.mark.parametrize("offset", [1, 7, 12, 17])
def test_a_window_by_ids_sees_the_fewer_tokens_the_further_they_are_shifted(offset: int) -> None:
    """The twin counts tokens of id up to W: W - o of them. Shifted past W it masks all keys alike, and counts them all."""
    n = 2 * W + 1
    found = measured(
        majority(window=W), MAJORITY, (15, n), 256, offsets=(offset,), offset_factors=(), shift_factors=(2,)
    )
    batch = study_strings(MAJORITY, (15, n), 256, n)
    lead = (2 * batch.tokens[:, 1:] - 3).cumsum(1)
    assert n not in (W, W - offset)
    seen = lead[:, n - 1] if offset > W else lead[:, W - offset - 1]
    expected = float(((lead[:, W - 1] > 0) == (seen > 0)).double().mean())
    assert found.value("shift_agreement", law="matched", length=n) == pytest.approx(expected)
    assert 0.5 < expected < 1


def study_strings(task: Task, lengths: tuple[int, ...], sequences: int, length: int, law: str = "matched") -> Any:
    grid = Grid(W, lengths, tuple(n for n in lengths if n <= W), tuple(n for n in lengths if n > W))
    return Evaluation(task, grid, 0, sequences).batch(law, length).rows(0, sequences)


def test_relative_encodings_do_not_notice_a_shift_and_no_encoding_has_none() -> None:
    sizes = {"d_vocab": 3, "d_vocab_out": 2, "n_layers": 2, "d_model": 16, "n_heads": 2, "n_ctx": 64}
    for positions in ("rotary", "alibi"):
        model = HookedTransformer(ModelConfig(**sizes, initializer_range=0.5, positions=positions), seed=1)
        found = measured(model.double().eval(), PARITY)
        assert {r["value"] for r in rows(found, "shift_agreement")} == {1.0}
    for net, task, lengths in ((majority(), MAJORITY, (15, 61)), (flip_flop(), make_task("flip_flop"), (15, 61))):
        nope = rows(measured(net, task, lengths), "shift_agreement")
        assert [(r["law"], r["status"], r["note"]) for r in nope] == [
            (law, "undefined", "the model reads no position ids") for law in ("matched", "challenge")
        ]


def test_ids_that_cannot_be_read_or_were_never_shown_are_told() -> None:
    found = measured(id_parity(), PARITY, None, offsets=(1, 190), offset_factors=(), shift_factors=(1,))
    (far,) = rows(found, "shift_agreement", law="matched", mode="by 190")
    assert far["status"] == "undefined"
    assert "can read ids up to 199 (n_ctx 200), but id 206 was asked for" in far["note"]

    class Trained:
        cfg = id_parity().cfg
        trained_ids = ((0, 2), (3, 17))

    assert unseen_of(Trained(), torch.arange(17)[None] + 1) == {}  # type: ignore[arg-type]
    assert unseen_of(Trained(), torch.arange(17)[None] + 4) == {  # type: ignore[arg-type]
        "status": "unseen_position",
        "note": "3 of 17 ids unseen in training",
    }
    Trained.cfg = majority().cfg
    assert unseen_of(Trained(), torch.arange(17)[None] + 4) == {}  # type: ignore[arg-type]


def test_rows_of_unseen_ids_keep_their_value_and_are_marked() -> None:
    grid = Grid(W, (W,), (W,), ())
    study = ModelStudy(id_parity(), PARITY, grid, 32, 0)
    study.trained_ids = [[0, W + 1]]  # type: ignore[assignment]  # BOS and W tokens from 0 or from 1 on
    found = Invariance(offsets=(1, 2), offset_factors=(), shift_factors=(1,)).finish(study)
    shifted = [r for r in found if r["quantity"] == "shift_agreement" and r["law"] == "matched"]
    assert [(r["mode"], r["value"], r["status"], r["note"]) for r in shifted] == [
        ("by 1", 0.0, "ok", ""),
        ("by 2", 1.0, "unseen_position", f"1 of {W + 1} ids unseen in training"),
    ]
    assert study.passes == 2 * 3


# ---- filler -----------------------------------------------------------------------------------------
@pytest.mark.asserts("filler_agreement")
def test_a_sound_model_takes_no_notice_of_fillers() -> None:
    found = measured(b_occurs(), OCCURS)
    values = {(r["law"], r["length"]): r["value"] for r in rows(found, "filler_agreement")}
    assert values == {(law, n): 1.0 for law in ("matched", "challenge") for n in (2 * W, 4 * W)}
    (row,) = rows(found, "filler_agreement", law="matched", length=4 * W)
    assert (row["mode"], row["target"], row["n"], row["low"]) == (f"from {W}", "a", 128, wilson(128, 128)[0])


@pytest.mark.parametrize("length", [2 * W, 4 * W])
def test_its_twin_that_sees_the_first_tokens_loses_what_fillers_push_out(length: int) -> None:
    """Each of m fillers goes to one of the n - 1 gaps before tokens 2 .. n, so the only b, at place p, moves by
    Bin(m, (p - 1) / (n - 1)), and is seen while it stays within the first W."""
    sequences = 512
    found = measured(b_occurs(window=W), OCCURS, sequences=sequences)
    assert {r["value"] for r in rows(found, "filler_agreement")} != {1.0}
    for law in ("matched", "challenge"):
        strings = study_strings(OCCURS, (W, 2 * W, 4 * W), sequences, W, law).tokens[:, 1:]
        assert int((strings == 2).sum(1).max()) == 1
        place = torch.where((strings == 2).any(1), (strings == 2).long().argmax(1) + 1, 0).numpy()
        stays = binom.cdf(W - place, length - W, np.maximum(place - 1, 0) / (W - 1))
        chance = np.where(place == 0, 1.0, stays)
        error = float(np.sqrt((chance * (1 - chance)).sum())) / sequences
        value = found.value("filler_agreement", law=law, length=length)
        assert value == pytest.approx(float(chance.mean()), abs=3 * error)
        assert 0.5 < value < 0.85
        assert 3 * error < 0.05


def test_where_nothing_is_neutral_or_nothing_longer_measured_that_is_said() -> None:
    (row, _) = rows(measured(majority(), MAJORITY, (15, 61)), "filler_agreement")
    assert (row["status"], row["note"]) == ("not_applicable", "the task states no neutral symbol")
    (row, _) = rows(measured(b_occurs(), OCCURS, (W,)), "filler_agreement")
    assert (row["status"], row["note"]) == ("undefined", "needs a measured length within training and one past it")


def test_a_symbol_that_is_not_neutral_is_found_out() -> None:
    class Wrong(type(MAJORITY)):  # type: ignore[misc]
        @property
        def neutral_tokens(self) -> tuple[int, ...]:
            return (2,)

    (row, _) = rows(measured(majority(), Wrong(), (15, 61)), "filler_agreement")
    assert row["status"] == "undefined"
    assert row["note"] == "majority states that 1 is neutral, but inserting it changes right answers"


@pytest.mark.parametrize("name", ["flip_flop", "needle", "cycle_navigation"])
def test_filled_strings_hold_the_old_tokens_in_order_and_fillers_elsewhere(name: str) -> None:
    task = make_task(name)
    batch = task.sample(60, 20, torch.Generator().manual_seed(0), "matched")
    made, places = insert_neutral_tokens(task, batch, 33, np.random.default_rng(0))
    assert made.tokens.shape == (60, 34)
    assert torch.equal(take_places(made.tokens, places), batch.tokens)
    assert (places.diff(dim=1) > 0).all()
    rest = torch.ones_like(made.tokens, dtype=torch.bool).scatter(1, places, False)
    assert set(made.tokens[rest].tolist()) == set(task.neutral_tokens)
    assert torch.equal(take_places(made.targets, places)[batch.mask], batch.targets[batch.mask])
    assert (places[:, -1] == 33).all()
    assert (places[:, 1] == 1).all() or name == "needle"


# ---- what counts as alike ---------------------------------------------------------------------------
def test_alike_is_by_argmax_and_of_numbers_within_the_tolerance() -> None:
    batch = MAJORITY.sample(2, 5, torch.Generator().manual_seed(0), "matched")
    a, b = torch.zeros(2, 6, 2), torch.zeros(2, 6, 2)
    a[:, -1] = torch.tensor([1.0, 2.0])
    b[:, -1] = torch.tensor([[0.5, 9.0], [2.0, 1.0]])
    assert answered_alike(MAJORITY, a, b, batch).tolist() == [True, False]
    real = make_task("mod_p_mean", tolerance=0.05)
    batch = real.sample(2, 12, torch.Generator().manual_seed(0), "matched")
    x, y = torch.zeros(2, 13, 1), torch.zeros(2, 13, 1)
    y[:, -1, 0] = torch.tensor([0.04, 0.06])
    asked = batch.mask[:, -1]
    assert bool(asked.all())
    assert answered_alike(real, x, y, batch).tolist() == [True, False]


@pytest.mark.parametrize(("settings", "said"), [
    ({"offsets": (0,)}, "offsets"),
    ({"offset_factors": (-1.0,)}, "offset_factors"),
    ({"filler_factors": (0.0,)}, "filler_factors"),
])  # fmt: skip
def test_bad_settings_are_refused(settings: dict[str, Any], said: str) -> None:
    with pytest.raises(MeasurementError, match=said):
        Invariance(**settings)
