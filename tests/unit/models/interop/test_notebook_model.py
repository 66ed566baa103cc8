"""Models in a notebook: of TransformerLens or of a user's own, tested before they are measured."""

from __future__ import annotations

import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from torch import nn

from tests.support.models.pretrained_folders import save_folder
from tests.support.places import ROOT
from workbench.measure import make_measurement, run
from workbench.measure.registry import measurements
from workbench.models.interop.hugging_face.opening import open_folder
from workbench.models.interop.notebook_model import NotebookModelError, notebook_model
from workbench.tasks import make_task

PAGE = (ROOT / "docs" / "your_own_model.md").read_text(encoding="utf-8")
TOKENS = torch.randint(0, 3, (2, 9), generator=torch.Generator().manual_seed(2))


@pytest.fixture
def names() -> dict[str, Any]:
    """What the first block of the page defines."""
    found: dict[str, Any] = {"__name__": "page"}
    block = re.search(r"^```python\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
    assert block is not None
    exec(compile(block[1], "your_own_model.md", "exec", dont_inherit=True), found)
    torch.manual_seed(0)
    return found


def test_the_model_of_the_page_is_measured_as_it_computes(names: dict[str, Any]) -> None:
    model = names["MyModel"]()
    read = notebook_model(model)
    assert read.refused == {}
    assert set(read.hook_dict) == {f"blocks.0.attn.hook_{one}" for one in ("q", "k", "pattern")}
    logits, cache = read.run_with_cache(TOKENS)
    assert torch.equal(logits, model(TOKENS))
    attention = model.blocks[0]["attn"]
    q = attention.q(model.embed(TOKENS)).unflatten(-1, (2, -1))
    assert torch.equal(cache["blocks.0.attn.hook_q"], q)
    with torch.no_grad():

        def silent(value: torch.Tensor, hook: Any) -> torch.Tensor:
            assert hook.name == "blocks.0.attn.hook_pattern"
            return torch.zeros_like(value)

        edited = read.run_with_hooks(TOKENS, fwd_hooks=[("blocks.0.attn.hook_pattern", silent)])
        assert torch.allclose(edited, model.unembed(model.embed(TOKENS) + attention.o.bias))
        assert torch.equal(model(TOKENS), logits), "taken off again"
    found = run(
        make_measurement("circuits.hardmax"), model, make_task("majority"), trained=7, lengths=[7], sequences=64
    )
    rows = found.frame()
    assert {*rows[(rows["quantity"] == "hardmax_distance") & (rows["status"] == "ok")]["head"]} == {0, 1}
    behaviour = run(
        make_measurement("behaviour"), model, make_task("majority"), trained=7, lengths=[7, 9], sequences=64
    )
    assert 0 <= behaviour.value("accuracy", law="matched", length=7, mode="teacher_forced") <= 1


def test_a_bridge_gives_what_our_own_adapter_gives(tmp_path: Path) -> None:
    from transformer_lens.model_bridge import TransformerBridge

    folder = save_folder("gpt2", tmp_path / "m", tokenizer=True, vocab_size=40)
    bridge, own = TransformerBridge.boot_transformers(str(folder)), open_folder(folder)
    read = notebook_model(bridge)
    assert (read.cfg.normalization_type, read.cfg.positions.name) == ("LN", "learned")
    shared = {*read.hook_dict} & {*own.hook_dict}
    assert {f"blocks.1.attn.hook_{one}" for one in ("q", "k", "v", "z", "pattern")} <= shared
    with torch.no_grad():
        found, seen = read.run_with_cache(TOKENS, names_filter=sorted(shared))
        wanted, expected = own.run_with_cache(TOKENS)
    assert torch.allclose(found, wanted, atol=1e-4)
    # Scores are masked by other numbers; what is normalised is theirs before, and ours behind, the last norm's weights.
    other = {name for name in shared if name.endswith(("hook_attn_scores", "ln_final.hook_normalized"))}
    for name in sorted(shared - other):
        assert torch.allclose(seen[name], expected[name], atol=1e-4), name
    rows = [
        run(make_measurement("circuits.hardmax"), model, [TOKENS], trained=8).frame()  # type: ignore[list-item]
        for model in (bridge, own)
    ]
    one, other = (frame[frame["quantity"] == "hardmax_distance"]["value"].to_numpy() for frame in rows)
    assert len(one) > 0
    assert one == pytest.approx(other, abs=1e-4)


def test_what_a_hook_shows_must_be_what_the_model_computes(names: dict[str, Any]) -> None:
    model = names["MyModel"]()
    attention = model.blocks[0]["attn"]
    attention.q.weight.data *= 3
    model.cfg.attn_scale = 1.0  # the model divides by more
    model.hook_embed = nn.Identity()  # through which nothing goes
    refused = notebook_model(model).refused
    assert refused == {
        "blocks.0.attn.hook_q": "the pattern that the model shows does not come out of it",
        "blocks.0.attn.hook_k": "the pattern that the model shows does not come out of it",
        "hook_embed": "it never fires",
    }
    found = run(
        make_measurement("circuits.hardmax"), model, make_task("majority"), trained=7, lengths=[7], sequences=64
    )
    assert {*found.frame()["status"]} == {"not_applicable"}
    assert "it reads blocks.0.attn.hook_q, which this model in memory does not have" in found.frame()["note"].iloc[0]


def test_a_model_that_sees_ahead_is_refused(names: dict[str, Any]) -> None:
    class SeesAhead(names["MyModel"]):
        def forward(self, tokens: torch.Tensor) -> torch.Tensor:
            return super().forward(tokens) + self.embed(tokens).mean(1, keepdim=True)[..., :2]

    with pytest.raises(NotebookModelError, match="causal"):
        notebook_model(SeesAhead())


class Counter(nn.Module):
    """Answers majority exactly, as any torch module might: no ``cfg``, no hooks, no parameters."""

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        lead = ((tokens == 2).float() - (tokens == 1).float()).cumsum(1)
        return torch.stack([-lead, lead], -1)


def test_a_plain_module_gets_a_behaviour_verdict() -> None:
    def verdict(module: nn.Module) -> str:
        rows = run(make_measurement("behaviour"), module, make_task("majority"), trained=15, sequences=512).frame()
        (label,) = rows[rows["quantity"] == "verdict"]["label"]
        return str(label)

    assert verdict(Counter()) == "scale-robust"

    class Forgetful(Counter):
        def forward(self, tokens: torch.Tensor) -> torch.Tensor:
            return super().forward(torch.where(torch.arange(tokens.shape[1]) < 18, tokens, 0))

    assert verdict(Forgetful()) == "length-coupled"


@pytest.mark.parametrize("name", sorted(measurements()))
def test_what_needs_hooks_says_so_of_a_plain_module(name: str) -> None:
    rows = run(
        make_measurement(name), Counter(), make_task("majority"), trained=7, lengths=[7, 15], sequences=16
    ).frame()
    if name.partition(".")[0] == "behaviour":
        assert "failed" not in {*rows["status"]}
        return
    assert {*rows["status"]} == {"not_applicable"}
    assert {*rows["note"]} - {""}
    if name in ("circuits.hardmax", "probes.summary", "circuits.ablation", "dynamics", "diagnosis"):
        assert rows["note"].iloc[0] == (
            "it reads activations or weights, and this plain module has no hooks; docs/your_own_model.md shows how to "
            "add them"
        )


def test_a_module_that_cannot_answer_the_task_gets_a_sentence() -> None:
    def refused(model: Any, words: str) -> None:
        with pytest.raises(NotebookModelError, match=words) as error:
            run(make_measurement("behaviour"), model, make_task("majority"), trained=7, lengths=[7])
        assert "\n" not in str(error.value)

    refused(nn.Linear(2, 2), r"Linear cannot be called with tokens \[batch, pos\] from 0 to 2: ")
    refused(
        nn.Embedding(2, 2),
        r"Embedding cannot be called with tokens \[batch, pos\] from 0 to 2: IndexError: index out of range",
    )
    refused(nn.Embedding(3, 4), "gives 4 outputs for each token, but its task has 2")
    refused(nn.Identity(), "outputs of the model need the shape")
    refused(lambda tokens: tokens, "function is not a torch.nn.Module: .*your_own_model.md shows it")

    class SeesAhead(Counter):
        def forward(self, tokens: torch.Tensor) -> torch.Tensor:
            return super().forward(tokens.flip(1)).flip(1)

    refused(SeesAhead(), "the model is not causal")
    bare = nn.Linear(2, 2)
    with pytest.raises(NotebookModelError, match="Linear"):
        notebook_model(bare)
    bare.cfg = SimpleNamespace(n_layers=1, n_heads=1, d_model=2, n_ctx=8, d_vocab=3)  # type: ignore[assignment]
    with pytest.raises(NotebookModelError, match="Linear"):
        notebook_model(bare)


def test_other_ids_than_its_own_are_refused(names: dict[str, Any]) -> None:
    read = notebook_model(names["MyModel"]())
    with pytest.raises(NotebookModelError, match="position_ids"):
        read(TOKENS, torch.arange(9)[None] + 1)


def test_a_bridge_whose_queries_are_not_yet_turned_is_found_out(tmp_path: Path) -> None:
    from transformer_lens.model_bridge import TransformerBridge

    folder = save_folder("gpt_neox", tmp_path / "m", tokenizer=True)
    refused = notebook_model(TransformerBridge.boot_transformers(str(folder))).refused
    for name in ("blocks.0.attn.hook_q", "blocks.1.attn.hook_k"):
        assert refused[name] == "the pattern that the model shows does not come out of it"
