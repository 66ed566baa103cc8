"""Direct contributions to the answer's logit: parts add up to the whole, and a handmade head's are known."""

from __future__ import annotations

import math
from itertools import pairwise

import pytest
import torch

from circuits.attention.attention_scores import cached_inputs, scores_at
from circuits.heads.contributions import CarriedSets, answer_logits, contribution_statistics, split
from tests.support.every_encoding import EXAMPLES, said
from workbench.models import HookedTransformer, ModelConfig
from workbench.models.handmade.attention_heads import induction_model
from workbench.models.handmade.transformers import majority
from workbench.models.transformer.tie_sets import in_tie_set
from workbench.tasks import make_task

RETRIEVAL = make_task("kgram_retrieval", symbols=10)


def advantage(logits: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
    """Of vectors ``[sequence, out]``, by a loop."""
    found = []
    for row, target in zip(logits.detach().double(), targets.tolist(), strict=True):
        others = [float(x) for i, x in enumerate(row) if i != target]
        found.append(float(row[target]) - sum(others) / len(others))
    return torch.tensor(found, dtype=torch.float64)


@pytest.mark.parametrize("after", [False, True], ids=["", "norm after attention"])
@pytest.mark.parametrize("normalized", ["LN", None])
@pytest.mark.parametrize("positions", EXAMPLES, ids=said)
def test_all_parts_together_are_the_logits(positions: object, normalized: str | None, after: bool) -> None:
    """Embedding, heads (set and rest), biases: nothing of an attention-only model's answer is left out or counted twice."""
    cfg = ModelConfig(
        d_vocab=RETRIEVAL.d_vocab, d_vocab_out=RETRIEVAL.d_vocab_out, n_layers=2, d_model=12, n_heads=3, n_ctx=32,
        attn_only=True, positions=positions, normalization_type=normalized, norm_after_attention=after,
    )  # fmt: skip
    model = HookedTransformer(cfg, seed=1).eval()
    with torch.no_grad():
        for block in model.blocks:
            block.attn.W_V.mul_(20)
            block.attn.b_O.normal_(generator=torch.Generator().manual_seed(1))
            if after:
                block.ln1_post.w.normal_(generator=torch.Generator().manual_seed(2))
                block.ln1_post.b.normal_(generator=torch.Generator().manual_seed(3))
        model.ln_final.w.normal_(generator=torch.Generator().manual_seed(0)) if normalized else None
        batch = RETRIEVAL.sample(6, 20, torch.Generator().manual_seed(0), "matched")
        logits, cache = model.run_with_cache(batch.tokens)
    targets = batch.targets[:, -1]
    scale = (cache["blocks.1.hook_resid_post"][:, -1].var(-1, correction=0) + cfg.eps).sqrt().double()
    total = torch.zeros(6, dtype=torch.float64)
    for layer, inputs in enumerate(cached_inputs(cfg, cache)):
        scores = scores_at(inputs, [20])
        parts = split(inputs, scores, in_tie_set(scores)[:, :, 0], cache[f"blocks.{layer}.attn.hook_v"])
        whole = parts.inside + parts.outside
        for z in (parts.inside, parts.outside):
            total += torch.from_numpy(answer_logits(model, layer, z, scale, targets, whole)).sum(-1)
    constants = [block.attn.b_O for block in model.blocks]
    if after:  # the bias is a part of what is normalized, and each part is divided by the same scale
        scales = [cache[f"blocks.{layer}.ln1_post.hook_scale"][:, -1] for layer in range(cfg.n_layers)]
        constants = [
            (block.attn.b_O - block.attn.b_O.mean()) / scale_after * block.ln1_post.w + block.ln1_post.b
            for block, scale_after in zip(model.blocks, scales, strict=True)
        ]
    stream = cache["blocks.0.hook_resid_pre"][:, -1] + sum(constants)
    if normalized:
        stream = (stream - stream.mean(-1, keepdim=True)) / cache["ln_final.hook_scale"][:, -1] * model.ln_final.w
        stream = stream + model.ln_final.b
    total += advantage(stream @ model.unembed.W_U + model.unembed.b_U, targets)
    torch.testing.assert_close(total, advantage(logits[:, -1], targets), rtol=1e-4, atol=1e-5)


def test_of_a_handmade_matching_head_set_and_odds_are_known() -> None:
    """Margin m over K keys, c of them matching: the set's odds are c e^m / (K - c), and it alone says the answer."""
    margin, n = 4.0, 40
    model = induction_model(10, margin)
    batch = RETRIEVAL.sample(32, n, torch.Generator().manual_seed(0), "matched")
    with torch.no_grad():
        _, cache = model.run_with_cache(batch.tokens)
    inputs = cached_inputs(model.cfg, cache)[1]
    every = scores_at(inputs, [n])
    parts = split(inputs, every, in_tie_set(every)[:, :, 0], cache["blocks.1.attn.hook_v"])
    scores = every[:, 0, 0]
    matching = (scores > scores.amax(-1, keepdim=True) - 1).sum(-1)
    expected = (matching * math.exp(margin) / (scores.shape[1] - matching)).log()
    torch.testing.assert_close(parts.log_odds[:, 0], expected.double(), rtol=1e-4, atol=1e-4)
    said = answer_logits(model, 1, parts.inside, torch.ones(32), batch.targets[:, -1])
    assert (said > 0).all()


def test_the_set_is_carried_to_lengths_where_it_is_outvoted() -> None:
    """Where attention has dissolved, the nearest hardmax is everything: its own set would say nothing of the failure."""
    lengths = [20, 80, 320, 2000]
    found = contribution_statistics(induction_model(10, 5.0), RETRIEVAL, trained=20, lengths=lengths, sequences=32)
    odds = [found.value("set_log_odds", layer=1, head=0, length=n) for n in lengths]
    assert all(before - 0.2 > after for before, after in pairwise(odds))
    said = [found.value("answer_logit_set", layer=1, head=0, length=n) for n in lengths]
    assert said[0] > 2 * said[-1] > 0
    far = next(r for r in found.rows if r["length"] == 2000 and r["layer"] == 1 and r["quantity"] == "set_log_odds")
    assert "as at 20" in far["note"]


def test_a_set_that_grows_with_length_is_carried_as_a_share() -> None:
    """Half of all keys stand out by 9, at every length."""
    sets = CarriedSets(trained=40)

    def half(keys: int) -> torch.Tensor:
        return 9.0 * (torch.arange(keys) % 2 == 0).expand(5, 1, keys)

    for length in (10, 40):
        chosen = sets.choose(length, half(length))
        notes = sets.notes
        sets.learn(length, half(length).shape[-1])
        assert notes == [""]
    chosen, notes = sets.choose(400, half(400)), sets.notes
    assert torch.equal(chosen, half(400) > 0)
    assert notes == ["set: top 0.5 of all keys, as at 40"]


def test_where_the_set_is_everything_there_are_no_odds() -> None:
    found = contribution_statistics(majority(), make_task("majority"), trained=13, lengths=[13], sequences=8)
    rows = [r for r in found.rows if r["quantity"] == "set_log_odds" and r["layer"] == 0]
    assert {r["status"] for r in rows} == {"undefined"}
    assert found.value("answer_logit_rest", layer=0, length=13) == 0


def test_numbers_are_no_answers_with_logits() -> None:
    task = make_task("mod_p_mean")
    cfg = ModelConfig(d_vocab=task.d_vocab, d_vocab_out=task.d_vocab_out, n_layers=1, d_model=8, n_heads=2, n_ctx=32)
    found = contribution_statistics(HookedTransformer(cfg, seed=0).eval(), task, trained=9, lengths=[9], sequences=4)
    assert {r["status"] for r in found.rows} == {"not_applicable"}
