"""What tests of several tiers share. Our models are TransformerLens's modules without its whole package, which opens as soon as it is asked for."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

from tests.support.limits import HANGS_S
from tests.support.places import ROOT

SLOW = "{'transformers', 'datasets', 'transformer_lens.evals'}"


def printed(code: str, *arguments: str) -> Any:
    """What a process of its own prints as JSON."""
    words = [sys.executable, "-c", code, *arguments]
    done = subprocess.run(words, capture_output=True, text=True, cwd=ROOT, timeout=HANGS_S)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.strip().splitlines()[-1])


PLACE = """
import json, sys
import torch
{first}
from workbench.models import HookedTransformer, ModelConfig
model = HookedTransformer(ModelConfig(d_vocab=3, n_layers=1, d_model=8, n_heads=2, n_ctx=8))
logits, cache = model.run_with_cache(torch.zeros(1, 4, dtype=torch.long))
before = sorted({SLOW} & set(sys.modules))
{second}
import transformer_lens
from transformer_lens.hook_points import HookPoint
print(json.dumps({{
    "before": before,
    "root": isinstance(model, transformer_lens.HookedRootModule),
    "hook": isinstance(model.hook_embed, HookPoint),
    "cache": isinstance(cache, transformer_lens.ActivationCache),
    "factored": isinstance(model.QK, transformer_lens.FactoredMatrix),
    "heads": list(cache.stack_head_results().shape),
    "opened": sorted({SLOW} & set(sys.modules)),
    "types": sorted({{type(sys.modules[name]).__name__ for name in list(sys.modules) if name.startswith("transformer_lens")}}),
}}))
"""
ORDERS = {
    "ours first": ("", ""),
    "theirs first": ("import transformer_lens; transformer_lens.patching", ""),
    "a module of theirs in between": ("", "from transformer_lens import patching"),
    "a class of theirs in between": ("", "from transformer_lens import HookedRootModule as R; assert isinstance(R, type)"),
    "a package of theirs in between": ("", "import transformer_lens.utilities as u; u.get_act_name('q', 0)"),
    "everything in between": ("", "from transformer_lens import *"),
}  # fmt: skip


def same_classes(order: str) -> None:
    """Assert that classes are the same in one order of imports."""
    first, second = ORDERS[order]
    found = printed(PLACE.format(first=first, second=second, SLOW=SLOW))
    assert found.pop("before") == ([] if not first else ["datasets", "transformer_lens.evals", "transformers"])
    assert found == {
        "root": True, "hook": True, "cache": True, "factored": True, "heads": [2, 1, 4, 8],
        "opened": ["datasets", "transformer_lens.evals", "transformers"], "types": ["module"],
    }  # fmt: skip
