"""Our transformers as TransformerLens's bridge: the same logits, activations and edits; what has no bridge is refused."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from tests.support.places import ROOT
from workbench.models import HookedSSM, HookedTransformer, ModelConfig, SSMConfig, to_bridge
from workbench.models.errors import PositionError
from workbench.models.interop.bridge import ARCHITECTURE
from workbench.models.interop.upstream_lens import UpstreamError

TOLERANCE = 1e-5
SETTINGS: list[dict[str, Any]] = [
    *({"positions": name} for name in ("none", "learned", "rotary", "alibi", "sinusoidal", "relative", "limit")),
    *({"positions": "none", "log_scaling": name} for name in ("all", "learned")),
    {"positions": "none", "attention": "linear"},
    {"positions": "rotary", "attn_only": True, "normalization_type": None},
    {"positions": "learned", "tied": True, "d_vocab_out": 5},
]


def zeros(x: Tensor, hook: object) -> Tensor:
    return torch.zeros_like(x)


def random_model(**settings: Any) -> HookedTransformer:
    """A model whose weights are all random, biases and gains too."""
    sizes = {"n_layers": 2, "d_model": 16, "n_heads": 2, "n_ctx": 32, "d_vocab": 5, "d_vocab_out": 3}
    model = HookedTransformer(ModelConfig(**sizes | settings)).eval()
    generator = torch.Generator().manual_seed(0)
    with torch.no_grad():
        for weight in model.parameters():
            weight.normal_(0, 0.5, generator=generator)
    return model


@pytest.fixture
def tokens() -> Tensor:
    return torch.randint(0, 5, (3, 9), generator=torch.Generator().manual_seed(1))


@pytest.mark.parametrize("settings", SETTINGS, ids=lambda settings: "_".join(map(str, settings.values())))
def test_logits_activations_and_edits_agree(settings: dict[str, Any], tokens: Tensor) -> None:
    model = random_model(**settings)
    bridge = to_bridge(model)
    with torch.no_grad():
        ours, our_cache = model.run_with_cache(tokens)
        theirs, their_cache = bridge.run_with_cache(tokens)
        assert torch.allclose(ours, theirs, atol=TOLERANCE)
        shared = [name for name in our_cache if name in their_cache and not name.endswith("attn_scores")]
        assert len(shared) >= 17
        for name in shared:
            assert torch.allclose(our_cache[name], their_cache[name], atol=TOLERANCE), name
        for name in ("blocks.0.attn.hook_pattern", "blocks.1.attn.hook_z"):
            edited = [m.run_with_hooks(tokens, fwd_hooks=[(name, zeros)]) for m in (model, bridge)]
            assert torch.allclose(*edited, atol=TOLERANCE), name
            assert not torch.allclose(edited[0], ours, atol=TOLERANCE), "the edit has an effect"


def test_the_bridge_is_a_copy(tokens: Tensor) -> None:
    model = random_model(positions="learned")
    bridge = to_bridge(model)
    before = model(tokens)
    with torch.no_grad():
        for weight in bridge.parameters():
            weight.zero_()
    assert torch.equal(model(tokens), before)
    assert not bridge(tokens).any()


def test_positions_are_read_and_checked_as_ours_are(tokens: Tensor) -> None:
    model = random_model(positions="learned")
    bridge = to_bridge(model)
    ids = torch.arange(9)[None] + 4
    with torch.no_grad():
        assert torch.allclose(model(tokens, ids), bridge(tokens, position_ids=ids), atol=TOLERANCE)
    with pytest.raises(PositionError, match="32"):
        bridge(torch.zeros(1, 33, dtype=torch.long))
    mask = torch.ones_like(tokens)
    mask[0, 0] = 0
    with pytest.raises(ValueError, match="padding"):
        bridge(tokens, attention_mask=mask)


def test_a_model_without_heads_is_refused() -> None:
    ssm = HookedSSM(SSMConfig(n_layers=1, d_model=8, n_ctx=16, d_vocab=3, d_vocab_out=2))
    with pytest.raises(UpstreamError, match="not state-space model"):
        to_bridge(ssm)


def test_transformer_lens_finds_the_entry_point(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from transformer_lens.factories import architecture_adapter_factory as factory

    from workbench.models.interop.bridge_module import LengthLensAdapter

    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    group = project["entry-points"]["transformer_lens.architectures"]
    installed = tmp_path / "installed_lengthlens-1.dist-info"
    installed.mkdir()
    (installed / "METADATA").write_text("Metadata-Version: 2.1\nName: installed-lengthlens\nVersion: 1\n")
    lines = "".join(f"{name} = {place}\n" for name, place in group.items())
    (installed / "entry_points.txt").write_text(f"[transformer_lens.architectures]\n{lines}")
    monkeypatch.syspath_prepend(str(tmp_path))
    theirs = factory.ArchitectureAdapterFactory
    known = {name: adapter for name, adapter in theirs._adapters.items() if name != ARCHITECTURE}
    monkeypatch.setattr(theirs, "_adapters", known)
    monkeypatch.setattr(theirs, "_entry_points_discovered", False)
    theirs.discover_entry_points()
    assert theirs._adapters[ARCHITECTURE] is LengthLensAdapter
