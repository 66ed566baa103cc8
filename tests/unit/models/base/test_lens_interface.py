"""What users of TransformerLens call beside a forward pass; equality with its own class stands in test_conformance."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from transformer_lens import patching
from transformer_lens.head_detector import detect_head

from tests.support.models.reference import build, tokens
from workbench.models.base.lens_interface import LensUseError
from workbench.models.base.without_attention import NoHeadsError
from workbench.models.handmade.attention_heads import left_neighbour_model
from workbench.models.positions import ENCODINGS
from workbench.models.ssm.config import SSMConfig
from workbench.models.ssm.model import HookedSSM
from workbench.tasks import make_task
from workbench.tasks.tokens import TaskTokenizer


def with_task(name: str = "parity", **parameters: Any) -> Any:
    model = build("none", d_vocab=3)
    model.tokenizer = TaskTokenizer.of(make_task(name, **parameters))
    return model


def test_texts_become_the_tasks_tokens_and_back() -> None:
    model = with_task()
    task = make_task("parity")
    bos, zero, one = range(3)
    assert task.tokens_names[zero] == "0"
    assert model.to_tokens("0110").tolist() == [[bos, zero, one, one, zero]]
    assert model.to_tokens("0110", prepend_bos=False).tolist() == [[zero, one, one, zero]]
    assert model.to_tokens(["01", "10"]).tolist() == [[bos, zero, one], [bos, one, zero]]
    assert model.to_str_tokens("01") == [task.tokens_names[bos], "0", "1"]
    assert model.to_str_tokens(["01", "10"]) == [[task.tokens_names[bos], "0", "1"], [task.tokens_names[bos], "1", "0"]]
    assert (model.to_single_token("1"), model.to_single_str_token(1)) == (one, "0")
    assert model.to_string([1, 2]) == "0 1"
    given = torch.tensor([[0, 1, 2]])
    assert model.to_tokens(given) is given


def test_what_has_no_answer_is_refused_in_words() -> None:
    bare, model = build("none"), with_task()
    for call, said in (
        (lambda: bare.to_tokens("01"), "has no names of its tokens"),
        (lambda: model.to_tokens(["01", "011"]), "different numbers of tokens, .3, 4., and texts are not padded"),
        (lambda: model.to_single_token("01"), "'01' has 2 tokens; give a text of one token"),
        (lambda: bare(tokens(), return_type="logit"), "return_type is logits, loss, both or None, not 'logit'"),
        (lambda: bare(tokens(), return_type="loss"), "needs outputs that are its tokens"),
        (lambda: bare.all_composition_scores("O"), "mode is Q, K or V, not 'O'"),
        (lambda: bare.run_with_cache(tokens(batch=2), remove_batch_dim=True), "needs one sequence"),
    ):
        with pytest.raises(LensUseError, match=said):
            call()


@pytest.mark.parametrize(
    ("switch", "instead"),
    [
        ("use_attn_result", "compute_head_results"),
        ("use_split_qkv_input", "hook_q"),
        ("use_hook_mlp_in", "hook_resid_mid"),
        ("use_attn_in", "hook_resid_pre"),
    ],
)
def test_switches_are_taken_where_they_change_nothing(switch: str, instead: str) -> None:
    model = build("none")
    set_switch = getattr(model, f"set_{switch}")
    set_switch(False)
    with pytest.raises(LensUseError, match=f"{switch}"):
        set_switch(True)
    model.set_ungroup_grouped_query_attention(True)
    assert model.cfg.n_key_value_heads is None


def test_a_stopped_pass_is_the_residual_stream_there() -> None:
    model, x = build("rotary").eval().double(), tokens()
    _, cache = model.run_with_cache(x)
    for stop, name, layer in ((0, "resid_pre", 0), (1, "resid_post", 0), (-1, "resid_post", 0), (2, "resid_post", 1)):
        assert torch.allclose(model(x, stop_at_layer=stop), cache[name, layer], atol=1e-12)
    assert model(x, return_type=None) is None


def test_the_loss_is_that_of_the_next_token() -> None:
    model, x = build("learned", d_vocab_out=5).eval().double(), tokens()
    with torch.no_grad():
        both, loss = model(x, return_type="both"), model(x, return_type="loss")
    log_probs = both.logits.log_softmax(-1)
    wanted = -torch.stack([log_probs[i, j, x[i, j + 1]] for i in range(len(x)) for j in range(x.shape[1] - 1)]).mean()
    assert float(both.loss) == pytest.approx(float(wanted), abs=1e-12)
    assert float(loss) == pytest.approx(float(wanted), abs=1e-12)


@pytest.mark.parametrize("positions", ENCODINGS)
def test_one_sequence_loses_its_batch_axis_in_every_activation(positions: str) -> None:
    model, x = build(positions), tokens(batch=1)
    _, whole = model.run_with_cache(x)
    _, bare = model.run_with_cache(x, remove_batch_dim=True)
    assert set(bare) == set(whole)
    assert all(torch.equal(bare[name], whole[name][0]) for name in whole)


def test_a_previous_token_head_is_detected() -> None:
    """The first head's whole mass lies one token back, but for the first query, which sees itself alone."""
    model = left_neighbour_model(symbols=5, score=8.0)
    ids = (tokens(batch=1, pos=9) % 5).clamp(min=1)
    scores = detect_head(model, ids, "previous_token_head")
    assert float(scores[0, 0]) == pytest.approx(8 / 9, abs=1e-3)
    _, cache = model.run_with_cache(ids)
    mass = cache["pattern", 0][0, 0].diagonal(-1).sum() / 9
    assert float(scores[0, 0]) == pytest.approx(float(mass), abs=1e-6)


def test_patches_of_heads_on_a_state_space_model_are_refused_not_empty() -> None:
    model = HookedSSM(SSMConfig(d_vocab=5, n_layers=2, d_model=8, n_ctx=24)).eval()
    assert SSMConfig(d_vocab=5, n_layers=2, d_model=8, n_ctx=24, n_heads=0).model_dump(mode="json")["n_heads"] == 0
    _, cache = model.run_with_cache(tokens())
    for patch in (
        patching.get_act_patch_attn_head_out_all_pos, patching.get_act_patch_attn_head_q_all_pos,
        patching.get_act_patch_attn_head_k_all_pos, patching.get_act_patch_attn_head_pattern_all_pos,
    ):  # fmt: skip
        with pytest.raises(NoHeadsError, match="attention"):
            patch(model, tokens(seed=1), cache, lambda logits: logits.sum())
    found = patching.get_act_patch_resid_pre(model, tokens(seed=1), cache, lambda logits: logits.sum())
    assert found.shape == (2, 12)
    assert (model.cfg.n_heads == 0, int(model.cfg.n_heads), bool(model.cfg.n_heads)) == (True, 0, False)


def test_the_gradient_at_ln1_is_the_whole_one() -> None:
    """One LayerNorm for queries, keys and values: its gradient is that of all three paths, by finite differences."""
    model, x = build("none").eval().double(), tokens(batch=1, pos=5)
    name, seen = "blocks.0.ln1.hook_normalized", {}

    def keep(gradient: torch.Tensor, hook: Any) -> None:
        seen[name] = gradient.clone()

    with model.hooks(bwd_hooks=[(name, keep)]):
        model(x)[0, -1, 0].backward()
    at, step = (0, 2, 3), 1e-6

    def moved(by: float) -> float:
        def edit(value: torch.Tensor, hook: Any) -> torch.Tensor:
            value = value.clone()
            value[at] += by
            return value

        with torch.no_grad():
            return float(model.run_with_hooks(x, fwd_hooks=[(name, edit)])[0, -1, 0])

    assert float(seen[name][at]) == pytest.approx((moved(step) - moved(-step)) / (2 * step), rel=1e-5)
