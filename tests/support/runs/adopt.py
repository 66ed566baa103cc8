"""What tests of several tiers share. Foreign checkpoints become a run with the same outputs, or one sentence says why not."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import save_file

from tests.support.limits import HANGS_S
from workbench.models import HookedTransformer, ModelConfig
from workbench.runs import Run
from workbench.runs.adoption.adopt import Foreign, adopt
from workbench.tasks import make_task

TASK = make_task("majority")
SIZES = {"d_vocab": 3, "d_vocab_out": 2, "n_layers": 2, "d_model": 16, "n_heads": 2, "n_ctx": 24, "d_mlp": 20}
CONFIG = {
    **SIZES, "d_head": 8, "act_fn": "relu", "normalization_type": "LN",
    "positional_embedding_type": "standard", "attn_only": False, "dtype": "torch.float32", "device": "cpu",
}  # fmt: skip


def own(seed: int = 0, **changes: Any) -> HookedTransformer:
    return HookedTransformer(ModelConfig(**{**SIZES, "positions": "learned", "act_fn": "relu", **changes}), seed=seed)


def foreign(folder: Path, models: dict[str, HookedTransformer], config: dict[str, Any] | None = CONFIG) -> Path:
    """A folder as another program would leave it: weights with buffers among them, and a config."""
    folder.mkdir()
    for name, model in models.items():
        weights = {k: v.detach() for k, v in model.state_dict().items()}
        weights |= {"blocks.0.attn.mask": torch.ones(2, 2), "blocks.0.attn.IGNORE": torch.tensor(-1e5)}
        (folder / name).parent.mkdir(exist_ok=True)
        save_file(weights, folder / name) if name.endswith("safetensors") else torch.save(weights, folder / name)
    if config is not None:
        (folder / "config.json").write_text(json.dumps(config))
    return folder


def take(source: Path, out: Path, **fields: Any) -> Run:
    return adopt(Foreign(**{"source": source, "task": TASK, "lengths": (1, 9), **fields}), out)


# ---- the real thing ---------------------------------------------------------------------------------
THEIRS = """
import json, sys, torch
from pathlib import Path
from safetensors.torch import load_file, save_file
from transformer_lens import HookedTransformer, HookedTransformerConfig
root = Path(sys.argv[1])
tokens = load_file(root / "tokens.tensor")["tokens"]
for kind in ("standard", "rotary", "alibi"):
    folder, expected = root / kind, {}
    folder.mkdir()
    for step in (0, 300):
        torch.manual_seed(step)
        cfg = HookedTransformerConfig(
            n_layers=2, d_model=16, n_ctx=40, d_head=8, n_heads=2, d_vocab=3, d_vocab_out=2, act_fn="gelu",
            positional_embedding_type=kind, device="cpu")
        model = HookedTransformer(cfg)
        for p in model.parameters():
            p.data += 0.1 * torch.randn(p.shape)
        weights = {k: v.contiguous() for k, v in model.state_dict().items()}
        save_file(weights, folder / f"step_{step}.safetensors") if step else torch.save(weights, folder / "step_0.pt")
        with torch.no_grad():
            expected[str(step)] = model(tokens)
    plain = {k: str(v) if k == "dtype" else v for k, v in cfg.to_dict().items()}
    (folder / "config.json").write_text(json.dumps(plain))
    save_file(expected, folder / "logits.expected")
    model.process_weights_()
    torch.save(model.state_dict(), folder / "folded_1.pth")
"""


@pytest.fixture(scope="module")
def theirs(tmp_path_factory: pytest.TempPathFactory, upstream: dict[str, str]) -> Path:
    """Folders of checkpoints, configs and logits that TransformerLens 3.9.0 wrote."""
    root = tmp_path_factory.mktemp("theirs")
    save_file({"tokens": TASK.sample(4, 39, torch.Generator().manual_seed(0)).tokens}, root / "tokens.tensor")
    words = [sys.executable, "-c", THEIRS, str(root)]
    done = subprocess.run(words, capture_output=True, text=True, timeout=HANGS_S, env=upstream)
    assert done.returncode == 0, done.stderr
    return root
