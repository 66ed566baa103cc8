"""Against TransformerLens's own HookedTransformer 3.9.0, in processes that have it first on their path."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tomllib

from tests.support.places import ROOT
from workbench.models import HookedTransformer, ModelConfig
from workbench.models.interop.conformance import CASES
from workbench.models.interop.upstream_lens import HOW

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


def test_a_model_of_version_3_9_trains_as_the_page_says(upstream: dict[str, str]) -> None:
    """The code of docs/transformer_lens.md, then one step of training by TransformerLens's own class."""
    page = (ROOT / "docs" / "transformer_lens.md").read_text()
    (code,) = [block for block in re.findall(r"```py\n(.*?)```", page, re.DOTALL) if "to_upstream" in block]
    code += """
import torch, transformer_lens
assert isinstance(model, transformer_lens.HookedTransformer)
batch = task.sample(8, 9, torch.Generator().manual_seed(0))
optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
losses = []
for _ in range(2):
    loss = task.losses(model(batch.tokens), batch).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    losses.append(float(loss))
assert losses[1] < losses[0], losses
"""
    done = run(upstream, "-c", code)
    assert done.returncode == 0, done.stderr


def test_the_extra_and_the_error_name_the_same_version(upstream: dict[str, str]) -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    assert extras["lens3"] == ["transformer-lens>=3.9,<4"]
    assert "extra lens3" in HOW
    done = run(upstream, "-c", "from importlib.metadata import version; print(version('transformer-lens'))")
    assert done.stdout.startswith("3.9."), done.stdout + done.stderr
