"""Against TransformerLens's own HookedTransformer 3.9.0, in processes that have it first on their path."""

from __future__ import annotations

import json
import subprocess
import sys

from workbench.models import HookedTransformer, ModelConfig
from workbench.models.interop.conformance import CASES

UTILITIES = {
    "W_E", "W_U", "W_Q", "W_K", "W_V", "W_O", "b_Q", "b_K", "b_V", "b_O", "b_U", "OV", "QK",
    "all_composition_scores(Q)", "all_composition_scores(K)", "all_composition_scores(V)", "all_head_labels",
    "accumulated_bias", "tokens_to_residual_directions", "stop_at_layer=0", "stop_at_layer=1", "stop_at_layer=-1",
    "return_type=None", "decompose_resid", "accumulated_resid", "stack_head_results", "get_full_resid_decomposition",
    "logit_attrs", "detect_head(previous_token_head)", "detect_head(duplicate_token_head)",
    "detect_head(induction_head)",
}  # fmt: skip


def run(environment: dict[str, str], *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, *words], env=environment, capture_output=True, text=True, timeout=500)


def test_every_case_agrees_in_logits_and_in_every_shared_hook(upstream: dict[str, str]) -> None:
    done = run(upstream, "-m", "workbench.models.interop.conformance", "--json")
    assert done.returncode == 0, done.stdout + done.stderr
    found = {one["case"]: one for one in json.loads(done.stdout)}
    assert set(found) == set(CASES)
    for case, one in found.items():
        print(f"{case}: {len(one['hooks'])} hooks, largest difference {max(one['logits'], one['activations']):.1e}")
        assert max(one["logits"], one["activations"]) <= 1e-5, one
        assert max(one["utilities"].values()) <= 1e-5, one["utilities"]
        assert set(one["utilities"]) >= UTILITIES
        assert ("return_type=loss" in one["utilities"]) == (case == "learned, outputs are tokens")
        assert set(one["ours"]) <= {"hook_position_ids"}, "TransformerLens knows every other hook"
        own = HookedTransformer(
            ModelConfig(d_vocab=7, **{"n_layers": 2, "d_model": 12, "n_heads": 2, "n_ctx": 8, **CASES[case]})
        )
        assert set(own.hook_dict) == {*one["hooks"], *one["ours"]}


def test_a_difference_would_show(upstream: dict[str, str]) -> None:
    """The same comparison with one weight of theirs changed by a thousandth."""
    code = """
import torch, workbench.models.interop.conformance as c
original = c.to_upstream
def changed(model):
    made = original(model)
    with torch.no_grad():
        made.blocks[0].attn.W_K[0, 0, 0] += 1e-3
    return made
c.to_upstream = changed
assert not c.compare("none").conforms
assert c.compare("none").activations > 1e-4
"""
    done = run(upstream, "-c", code)
    assert done.returncode == 0, done.stderr
