"""What comes before attention, computed once per pair of token and id: the same model, fewer rows, nothing hidden."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from models.reference import OPTIONS, build, tokens

from workbench.models import HookedTransformer
from workbench.models import pairs as module
from workbench.models.attention import Attention
from workbench.models.pairs import FEWEST, pairs
from workbench.models.transformer import BEFORE_ATTENTION

BATCH, POS, VOCAB, CONTEXT = 20, 12, 5, 24
EVERY = pytest.mark.parametrize("name", OPTIONS)


def offsets() -> torch.Tensor:
    """Ids of a random offset per sequence."""
    return torch.arange(POS)[None] + torch.randint(0, 12, (BATCH, 1), generator=torch.Generator().manual_seed(4))


@pytest.fixture(autouse=True)
def _small_batches_count(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "FEWEST", 0)


@pytest.fixture
def rows(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many rows reached each projection to queries, keys and values."""
    counted: list[int] = []
    project = Attention.project

    def counting(self: Attention, x: torch.Tensor) -> torch.Tensor:
        counted.append(x.shape[0] * x.shape[1])
        return project(self, x)

    monkeypatch.setattr(Attention, "project", counting)
    return counted


def outcome(model: HookedTransformer, x: torch.Tensor, ids: torch.Tensor | None, *hooks: Any) -> list[torch.Tensor]:
    """Outputs, and the gradient of an uneven function of them in every weight."""
    model.zero_grad(set_to_none=True)
    out = model.run_with_hooks(x, ids, fwd_hooks=list(hooks))
    weights = torch.randn(out.shape, generator=torch.Generator().manual_seed(2)).to(out.dtype)
    (out * weights).mean().backward()
    return [out.detach(), *(p.grad.clone() for p in model.parameters())]


def apart(one: list[torch.Tensor], other: list[torch.Tensor]) -> float:
    return max(float((a - b).abs().max()) for a, b in zip(one, other, strict=True))


def expected_rows(model: HookedTransformer, ids: torch.Tensor | None) -> int:
    """Pairs of block 0, written down for each scheme; all places where there is no table."""
    columns = {"learned": POS if ids is None else CONTEXT, "sinusoidal": POS, "limit": 3}
    name = model.cfg.positions.name
    if model.cfg.attention == "hardmax" or (name == "sinusoidal" and ids is not None):
        return BATCH * POS
    return VOCAB * columns.get(name, 1)


@EVERY
@pytest.mark.parametrize("ids", [None, offsets()], ids=["arange", "offsets"])
def test_outputs_and_gradients_are_those_of_the_ordinary_path(
    name: str, ids: torch.Tensor | None, rows: list[int]
) -> None:
    x = tokens(BATCH, POS)
    for dtype, close in ((torch.float64, 1e-12), (torch.float32, 1e-5)):
        model = build(name).to(dtype)
        rows.clear()
        found, exact = outcome(model.train(), x, ids), outcome(model.eval(), x, ids)
        assert apart(found, exact) < close
        assert rows == [expected_rows(model, ids), BATCH * POS, BATCH * POS, BATCH * POS]


@pytest.mark.parametrize("name", ["learned", "limit", "sinusoidal", "rotary"])
def test_a_hook_on_what_is_skipped_sees_and_edits_every_place(name: str, rows: list[int]) -> None:
    model, x = build(name), tokens(BATCH, POS)
    clean = outcome(model.train(), x, None)
    assert rows[0] < BATCH * POS
    hooks = [hook for hook in BEFORE_ATTENTION if hook in model.hook_dict]
    assert len(hooks) == (4 if name == "rotary" else 5)
    for hook in hooks:

        def edit(value: torch.Tensor, hook: Any) -> torch.Tensor:
            assert value.shape[:2] == (BATCH, POS)
            return value * torch.linspace(0.5, 1.5, POS)[None, :, None]

        rows.clear()
        found, exact = outcome(model.train(), x, None, (hook, edit)), outcome(model.eval(), x, None, (hook, edit))
        assert rows[0] == BATCH * POS
        assert apart(found, exact) == 0
        assert apart(found, clean) > 1e-4, f"{hook} is a silent no-op"


def test_a_hook_on_gradients_of_what_is_skipped_sees_every_place() -> None:
    model, seen = build("learned").train(), []
    with model.hooks(bwd_hooks=[("blocks.0.hook_resid_pre", lambda grad, hook: seen.append(grad.shape))]):
        model(tokens(BATCH, POS)).sum().backward()
    assert seen == [(BATCH, POS, 16)]


@pytest.mark.parametrize("name", ["learned", "rotary"])
def test_queries_keys_and_values_are_hooked_at_every_place(name: str, rows: list[int]) -> None:
    model, x = build(name).double(), tokens(BATCH, POS)

    def edit(value: torch.Tensor, hook: Any) -> torch.Tensor:
        assert value.shape == (BATCH, POS, 2, 8)
        return value * torch.linspace(0.5, 1.5, POS, dtype=value.dtype)[None, :, None, None]

    for part in "qkv":
        hook = (f"blocks.0.attn.hook_{part}", edit)
        rows.clear()
        found, exact = outcome(model.train(), x, None, hook), outcome(model.eval(), x, None, hook)
        assert rows[0] < rows[2] == BATCH * POS
        assert apart(found, exact) < 1e-12


def test_a_model_that_is_measured_keeps_its_bits(rows: list[int]) -> None:
    model, x = build("learned"), tokens(BATCH, POS)
    exact = model.eval()(x)
    with torch.no_grad():
        assert torch.equal(model.train()(x), exact)
    assert set(rows) == {BATCH * POS}


@pytest.mark.parametrize("name", ["none", "learned", "limit", "sinusoidal"])
def test_the_choice_does_not_look_at_the_tokens(name: str) -> None:
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
