"""Id samplers against their definitions, encodings against closed forms, and what bad input gets."""

from __future__ import annotations

import itertools
import random
from collections import Counter
from typing import Any

import pytest
import torch

from workbench.models import ModelConfig
from workbench.models.positions import (
    ENCODINGS,
    ID_SAMPLERS,
    Alibi,
    Coupled,
    Pose,
    PositionError,
    RandomSubset,
    Rotary,
    id_sampler,
    make_encoding,
)


def seeded(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


# ---- id samplers ----------------------------------------------------------------------------------------
@pytest.mark.parametrize("chunks", [2, 3, 5])
@pytest.mark.parametrize("pos", [1, 2, 7, 19])
def test_pose_ids_rise_strictly_and_jump_at_most_once_per_cut(chunks: int, pos: int) -> None:
    ids = Pose(chunks=chunks).training(500, pos, 20, seeded())
    assert ids.shape == (500, pos)
    assert int(ids.min()) >= 1
    assert int(ids.max()) <= 19
    steps = ids.diff(dim=1)
    assert bool((steps >= 1).all())
    assert int((steps > 1).sum(1).max() if pos > 1 else 0) <= chunks - 1
    assert Pose(chunks=chunks).evaluation(pos, 20).tolist() == [list(range(1, pos + 1))]


def test_pose_with_two_chunks_has_the_law_of_its_definition() -> None:
    """All draws of the definition, enumerated, against frequencies; l = 3, n_ctx = 6."""
    length, n_ctx = 3, 6
    expected: Counter[tuple[int, ...]] = Counter()
    for cut, a, b in itertools.product(range(1, length), *[range(1, n_ctx - length + 1)] * 2):
        first = range(min(a, b), min(a, b) + cut)
        second = range(max(a, b) + cut, max(a, b) + length)
        expected[*first, *second] += 1
    total, draws = expected.total(), 40_000
    found = Counter(map(tuple, Pose().training(draws, length, n_ctx, seeded()).tolist()))
    assert set(found) == set(expected)
    for ids, count in expected.items():
        assert found[ids] / draws == pytest.approx(count / total, abs=0.012), ids


def test_random_subsets_are_sorted_distinct_and_uniform() -> None:
    law, n_ctx, pos, draws = RandomSubset(), 6, 3, 40_000
    ids = law.training(draws, pos, n_ctx, seeded())
    found = Counter(map(tuple, ids.tolist()))
    assert set(found) == set(itertools.combinations(range(n_ctx), pos))
    assert all(count / draws == pytest.approx(1 / 20, abs=0.006) for count in found.values())
    assert law.training(2, 6, 6, seeded()).tolist() == [list(range(6))] * 2


def test_random_subsets_of_evaluation_depend_on_the_number_of_tokens_alone() -> None:
    law = RandomSubset()
    assert not law.consistent
    for pos in (1, 10, 40):
        before = torch.get_rng_state()
        first, again = law.evaluation(pos, 100), law.evaluation(pos, 100)
        assert torch.equal(first, again)
        assert torch.equal(torch.get_rng_state(), before), "evaluation must not touch the global generator"
        assert first.unique().shape == (pos,)
        assert int(first.max()) < 100
    assert law.evaluation(40, 100)[0, :10].tolist() != law.evaluation(10, 100)[0].tolist()


# BOS b1..b4 SEP b'1..b'4, and a chain of two assignments with input-dependent ids.
PARITY = [0, 1, 2, 3, 4, 0, 1, 2, 3, 4]
CHAIN = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 0, 6, 7, 8, 9, 10, 11]


@pytest.mark.parametrize("given", [PARITY, CHAIN], ids=["parity", "chain"])
def test_coupled_ids_are_shifted_together_and_zeros_stay(given: list[int]) -> None:
    coupled, n_ctx = torch.tensor([given]), 20
    law = Coupled()
    assert law.evaluation(len(given), n_ctx, coupled).tolist() == [given]
    ids = law.training(4000, len(given), n_ctx, seeded(), coupled)
    offsets = ids[:, 1] - coupled[0, 1]
    assert torch.equal(ids, torch.where(coupled == 0, 0, coupled + offsets[:, None]))
    room = n_ctx - 1 - max(given)
    counts = offsets.bincount(minlength=room + 1)
    assert len(counts) == room + 1, "every offset that fits, and no other"
    assert bool(((counts / 4000 - 1 / (room + 1)).abs() < 0.03).all())


def test_coupled_ids_have_an_offset_of_their_own_in_every_row() -> None:
    coupled = torch.tensor([[0, 1, 2, 0, 2], [0, 7, 8, 9, 9]])
    ids = torch.cat([Coupled().training(2, 5, 10, seeded(s), coupled) for s in range(50)])
    assert set(ids[1::2, 1].tolist()) == {7}, "9 is the largest id there is"
    assert set(ids[::2, 1].tolist()) == set(range(1, 9))


@pytest.mark.parametrize("name", ID_SAMPLERS)
def test_training_ids_fit_the_context_and_come_from_the_generator_alone(name: str) -> None:
    law, coupled = id_sampler(name), torch.tensor([PARITY])
    ids, again, other = (law.training(64, 10, 32, seeded(s), coupled) for s in (1, 1, 2))
    assert torch.equal(ids, again)
    assert name == "arange" or not torch.equal(ids, other)
    assert 0 <= int(ids.min()) <= int(ids.max()) < 32
    assert ids.shape in ((64, 10), (1, 10))


@pytest.mark.parametrize("name", [n for n, law in ID_SAMPLERS.items() if law.consistent and not law.coupled])
def test_consistent_laws_give_a_prefix_the_same_ids(name: str) -> None:
    law = id_sampler(name)
    assert torch.equal(law.evaluation(30, 64)[:, :11], law.evaluation(11, 64))


def test_offsets_and_ids_agree_with_plain_python() -> None:
    """Chunks of PoSE once more, by the words of its definition on the numbers that were drawn."""
    rng = random.Random(0)
    for _ in range(50):
        pos, n_ctx, chunks = rng.randint(2, 9), rng.randint(12, 30), rng.randint(2, 4)
        g, seed = seeded(0), rng.randint(0, 999)
        g.manual_seed(seed)
        cuts = sorted(torch.randint(1, pos, (1, chunks - 1), generator=g)[0].tolist())
        starts = sorted(torch.randint(1, n_ctx - pos + 1, (1, chunks), generator=g)[0].tolist())
        ids, bounds = [], [0, *cuts, pos]
        for chunk, (first, last) in enumerate(itertools.pairwise(bounds)):
            ids += [starts[chunk] + place for place in range(first, last)]
        assert Pose(chunks=chunks).training(1, pos, n_ctx, seeded(seed)).tolist() == [ids]


# ---- encodings --------------------------------------------------------------------------------------
def test_alibi_slopes_are_the_published_ones() -> None:
    def slopes(heads: int, dtype: torch.dtype = torch.float32) -> torch.Tensor:
        return Alibi().fixed_weights(heads, torch.zeros((), dtype=dtype))[:, 0]

    assert slopes(8).tolist() == [2.0**-i for i in range(1, 9)]
    assert slopes(16)[1::2].tolist() == [2.0**-i for i in range(1, 9)]
    assert slopes(16)[0].item() == pytest.approx(2**-0.5)
    assert slopes(2, torch.float64).dtype == torch.float64


def test_rotary_scalings_slow_what_they_say() -> None:
    ids, d_head = torch.tensor([[3]]), 8

    def angles(**parameters: Any) -> torch.Tensor:
        cos, signed_sin = Rotary(**parameters).turn(ids, d_head, torch.float64)
        return torch.atan2(signed_sin, cos)[0, 0, 0, d_head // 2 :]

    plain, linear = angles(base=100.0), angles(base=100.0, scaling="linear", factor=4.0)
    ntk = angles(base=100.0, scaling="ntk", factor=4.0)
    assert plain[0].item() == pytest.approx(3.0)
    assert torch.allclose(linear, plain / 4, atol=1e-12)
    assert ntk[0].item() == pytest.approx(plain[0].item()), "the fastest pair stays"
    assert ntk[-1].item() == pytest.approx(plain[-1].item() / 4), "the slowest is slowed by the factor"


# ---- bad input --------------------------------------------------------------------------------------
MODEL = {"d_vocab": 3, "n_layers": 1, "d_model": 4, "n_heads": 1, "n_ctx": 8}


@pytest.mark.parametrize(("changes", "sentence"), [
    ({"positions": "rotory"}, "rotary"),
    ({"positions": "zzz"}, "sinusoidal"),
    ({"ids": "random_ofset"}, "random_offset"),
    ({"positions": {"name": "limit", "periode": 3}}, "'periode'"),
    ({"positions": {"name": "limit", "period": 0}}, "period=0"),
    ({"positions": {"name": "alibi", "slope": 1}}, "'slope'"),
    ({"positions": {"name": "rotary", "scaling": "ntk"}}, "factor"),
    ({"positions": {"name": "rotary", "factor": 2.0}}, "scaling"),
    ({"ids": {"name": "pose", "chunks": 1}}, "chunks=1"),
])  # fmt: skip
def test_unknown_schemes_and_parameters_are_named(changes: dict[str, Any], sentence: str) -> None:
    with pytest.raises(PositionError, match=sentence):
        ModelConfig(**{**MODEL, **changes})


@pytest.mark.parametrize(("changes", "sentence"), [
    ({"positions": "rotary", "d_head": 3}, "d_head"),
    ({"positions": {"name": "rotary", "scaling": "ntk", "factor": 2.0}, "d_head": 2}, "d_head"),
    ({"positions": "sinusoidal", "d_model": 5}, "d_model"),
    ({"log_scaling": "local"}, "limit"),
    ({"attention": "linear", "log_scaling": "all"}, "attention"),
    ({"attention": "linear", "positions": "alibi"}, "sinusoidal"),
    ({"attention": "linear", "positions": "rotary"}, "rotary"),
])  # fmt: skip
def test_what_does_not_go_together_is_refused(changes: dict[str, Any], sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        ModelConfig(**{**MODEL, **changes})


@pytest.mark.parametrize(("name", "least"), [("random_offset", 20), ("pose", 21), ("random_subset", 20)])
def test_lengths_without_ids_are_refused(name: str, least: int) -> None:
    law = id_sampler(name)
    law.check(20, least)
    for refused in (lambda: law.check(20, least - 1), lambda: law.training(1, 20, least - 1, seeded())):
        with pytest.raises(PositionError, match="n_ctx"):
            refused()


BELOW = torch.tensor([[2, 0, -1]])


def test_ids_are_shifted_as_training_shifts_them() -> None:
    """Special tokens keep the id 0 that the task gives them; where ids just count, the first has it by its place."""
    ids = torch.tensor([[0, 3, 1, 2]])
    assert id_sampler("arange").shift_ids(ids, 5).tolist() == [[5, 8, 6, 7]]
    assert Coupled().shift_ids(ids, 5).tolist() == [[0, 8, 6, 7]]


def test_coupled_ids_that_do_not_exist_or_fit_are_refused() -> None:
    with pytest.raises(PositionError, match="batch"):
        Coupled().evaluation(4, 16)
    for law in (Coupled(), id_sampler("predicted")):
        for use in (
            lambda law=law: law.evaluation(3, 16, BELOW),
            lambda law=law: law.training(1, 3, 16, seeded(), BELOW),
        ):
            with pytest.raises(PositionError, match="start at 0"):
                use()
    with pytest.raises(PositionError, match="n_ctx"):
        Coupled().training(2, 10, 4, seeded(), torch.tensor([PARITY]))


def test_registries_know_every_scheme_by_its_own_name() -> None:
    assert all(make_encoding(name).name == name for name in ENCODINGS)
    assert all(id_sampler(name).name == name for name in ID_SAMPLERS)
    assert make_encoding(Rotary(base=5.0)).base == 5.0  # type: ignore[attr-defined]
