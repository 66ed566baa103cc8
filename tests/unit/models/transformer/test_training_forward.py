"""What training need not compute: the same outputs and gradients from fewer rows, and nothing hidden from a hook."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from tests.support.models.reference import OPTIONS, build, tokens
from workbench.models import HookedSSM, HookedTransformer, SSMConfig
from workbench.models.base.layers import TiedUnembed, Unembed
from workbench.models.transformer import distinct_inputs as module
from workbench.models.transformer.attention import Attention
from workbench.models.transformer.distinct_inputs import FEWEST, pairs
from workbench.models.transformer.supervised_positions import supervised_positions

BATCH, POS, VOCAB, CONTEXT = 20, 12, 5, 24
EVERY = pytest.mark.parametrize("name", OPTIONS)
SOME = pytest.mark.parametrize("name", ["learned", "limit", "sinusoidal", "rotary"])


def offsets() -> torch.Tensor:
    """Ids of a random offset per sequence."""
    return torch.arange(POS)[None] + torch.randint(0, 12, (BATCH, 1), generator=torch.Generator().manual_seed(4))


def ragged() -> torch.Tensor:
    """Places asked for: some sequences many, some one, one none; seven in twenty."""
    mask = torch.rand(BATCH, POS, generator=torch.Generator().manual_seed(5)) < 0.35
    mask[0], mask[1], mask[2, :3] = False, False, True
    mask[1, -1] = True
    return mask


@pytest.fixture(autouse=True)
def _small_batches_count(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "FEWEST", 0)


@pytest.fixture
def rows(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many rows reached each projection to queries, keys and values, and the read-out."""
    counted: list[int] = []

    def counting(cls: type, name: str) -> None:
        plain = getattr(cls, name)

        def wrapped(self: Any, x: torch.Tensor) -> torch.Tensor:
            counted.append(x.shape[0] * x.shape[1])
            return plain(self, x)

        monkeypatch.setattr(cls, name, wrapped)

    counting(Attention, "project")
    counting(Unembed, "forward")
    counting(TiedUnembed, "forward")
    return counted


def outcome(
    model: HookedTransformer, ids: torch.Tensor | None, asked: torch.Tensor | None, *hooks: Any
) -> list[torch.Tensor]:
    """Outputs where asked, and the gradient in every weight of a function of them that treats no two alike."""
    model.zero_grad(set_to_none=True)
    out = model.run_with_hooks(tokens(BATCH, POS), ids, asked, fwd_hooks=list(hooks))
    assert out.shape == (BATCH, POS, 3)
    weights = torch.randn(out.shape, generator=torch.Generator().manual_seed(2)).to(out.dtype)
    wanted = (out * weights)[torch.ones(BATCH, POS, dtype=torch.bool) if asked is None else asked]
    wanted.mean().backward()
    return [wanted.detach(), *(p.grad.clone() for p in model.parameters())]


def apart(one: list[torch.Tensor], other: list[torch.Tensor]) -> float:
    return max(float((a - b).abs().max()) for a, b in zip(one, other, strict=True))


def pairs_of(model: HookedTransformer, ids: torch.Tensor | None) -> int:
    """Rows of block 0, written down for each scheme; all places where there is no table."""
    columns = {"learned": POS if ids is None else CONTEXT, "sinusoidal": POS, "limit": 3}
    name = model.cfg.positions.name
    if model.cfg.attention == "hardmax" or (name == "sinusoidal" and ids is not None):
        return BATCH * POS
    return VOCAB * columns.get(name, 1)


@EVERY
@pytest.mark.parametrize(("ids", "asked"), [(None, ragged()), (offsets(), None)], ids=["asked", "offsets"])
def test_outputs_and_gradients_are_those_of_the_ordinary_path(
    name: str, ids: torch.Tensor | None, asked: torch.Tensor | None, rows: list[int]
) -> None:
    for dtype, close in ((torch.float64, 1e-12), (torch.float32, 1e-5)):
        model = build(name).to(dtype)
        rows.clear()
        found, exact = outcome(model.train(), ids, asked), outcome(model.eval(), ids, asked)
        assert apart(found, exact) < close
        whole = BATCH * POS
        read_out = whole if asked is None else int(asked.sum())
        assert rows == [pairs_of(model, ids), whole, read_out, whole, whole, whole]


def test_models_without_mlps_or_with_one_block_are_the_same_too() -> None:
    for changes in ({"attn_only": True}, {"n_layers": 1}, {"n_layers": 1, "attn_only": True}):
        model = build("learned", **changes).double()
        assert apart(outcome(model.train(), None, ragged()), outcome(model.eval(), None, ragged())) < 1e-12


@SOME
def test_any_hook_sees_and_edits_every_place(name: str, rows: list[int]) -> None:
    model = build(name)
    clean = outcome(model.train(), None, ragged())
    assert rows[0] < rows[1] > rows[2]

    def edit(value: torch.Tensor, hook: Any) -> torch.Tensor:
        assert value.shape[0] == BATCH
        assert POS in value.shape[1:3]
        if not value.is_floating_point():
            return 2 * value  # ids
        noise = torch.rand(value.shape, generator=torch.Generator().manual_seed(1))
        return value + noise if hook.name.endswith("attn_scores") else value * (1 + noise)  # scores hold -inf

    for hook in model.hook_dict:
        rows.clear()
        looked = (hook, edit)
        found, exact = outcome(model.train(), None, ragged(), looked), outcome(model.eval(), None, ragged(), looked)
        assert set(rows) == {BATCH * POS}
        assert apart(found, exact) == 0
        assert apart(found, clean) > 1e-4, f"{hook} is a silent no-op"


def test_a_hook_on_gradients_sees_every_place() -> None:
    model, seen = build("learned").train(), []
    names = ("blocks.0.hook_resid_pre", "blocks.1.hook_resid_post")
    with model.hooks(bwd_hooks=[(name, lambda grad, hook: seen.append(grad.shape)) for name in names]):
        model(tokens(BATCH, POS), None, ragged()).sum().backward()
    assert seen == [(BATCH, POS, 16)] * 2


def test_a_model_that_is_measured_keeps_its_bits(rows: list[int]) -> None:
    model, x = build("learned"), tokens(BATCH, POS)
    exact = model.eval()(x)
    with torch.no_grad():
        assert torch.equal(model.train()(x, None, ragged()), exact)
    assert torch.equal(model.eval()(x, None, ragged()), exact), "with gradients too"
    assert set(rows) == {BATCH * POS}


@pytest.mark.parametrize("name", ["none", "learned", "limit", "sinusoidal"])
def test_pairs_are_chosen_without_a_look_at_the_tokens(name: str) -> None:
    cfg, ids = build(name).cfg, torch.arange(POS)[None]
    for batch in (1, 2, 9, 10, 11, 40):
        drawn = {pairs(cfg, x, ids) is None for x in (torch.zeros(batch, POS, dtype=torch.long), tokens(batch, POS))}
        assert len(drawn) == 1


def test_pairs_are_left_where_they_are_too_many() -> None:
    cfg, ids = build("learned").cfg, torch.arange(POS)[None]
    assert pairs(cfg, tokens(9, POS), ids) is None, "60 pairs for 108 places"
    assert pairs(cfg, tokens(10, POS), ids) is not None, "60 for 120"
    assert pairs(cfg, tokens(BATCH - 1, POS), offsets()[1:]) is None, "120 pairs of the whole context for 228 places"


def test_small_batches_are_computed_as_they_are(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "FEWEST", FEWEST)
    cfg, ids = build("none").cfg, torch.arange(16)[None]
    assert pairs(cfg, tokens(FEWEST // 16, 16), ids) is not None
    assert pairs(cfg, tokens(FEWEST // 16 - 1, 16), ids) is None


def test_a_token_outside_the_vocabulary_is_refused_as_ever() -> None:
    model = build("learned").train()
    for wrong in (VOCAB, -1):
        with pytest.raises(IndexError):
            model(torch.full((BATCH, POS), wrong))


def test_all_places_are_computed_where_most_are_asked_for() -> None:
    mask = torch.ones(4, 8, dtype=torch.bool)
    mask[0] = False
    assert supervised_positions(mask) is not None, "three in four"
    mask[0, 0] = True
    assert supervised_positions(mask) is None


def test_outputs_that_nobody_asked_for_are_0() -> None:
    out = build("none").train().supervised_outputs(tokens(BATCH, POS), torch.arange(POS)[None], ragged())
    assert not out[~ragged()].any()
    assert bool(out[ragged()].any(-1).all())


def test_an_architecture_that_has_nothing_to_leave_out_answers_everywhere() -> None:
    model = HookedSSM(SSMConfig(d_vocab=5, n_layers=1, d_model=8, n_ctx=24)).train()
    x, ids = tokens(4, POS), torch.arange(POS)[None]
    assert torch.equal(model.supervised_outputs(x, ids, ragged()[:4]), model(x, ids))


def test_places_are_picked_while_they_are_three_quarters_at_most() -> None:
    mask = torch.tensor([[True, True, False, True], [True, True, True, False]])
    found = supervised_positions(mask)
    assert found is not None, "six of eight"
    assert found.index.tolist() == [0, 1, 3, 4, 5, 6]
    x = torch.arange(16.0).view(2, 4, 2)
    assert torch.equal(found.put(found.pick(x)), x * mask[..., None])
    mask[0, 2] = True
    assert supervised_positions(mask) is None, "seven of eight"
    assert supervised_positions(torch.zeros(2, 3, dtype=torch.bool)).index.tolist() == []  # type: ignore[union-attr]
