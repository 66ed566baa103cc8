"""Scores made again from q and k against the model's own, and their pooling against brute force."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from circuits import attention_sample, score_inputs, scores_at, stream_scores
from circuits.scores import cached_inputs, pool_attention, score_hooks
from workbench.models import HookedTransformer, ModelConfig
from workbench.runs.load import weights_bytes
from workbench.tasks.base import Batch

Make = Callable[..., Batch]


def make_model(positions: str, n_ctx: int = 64) -> HookedTransformer:
    cfg = ModelConfig(
        d_vocab=3, d_vocab_out=2, n_layers=2, d_model=16, n_heads=2, n_ctx=n_ctx, positions=positions,
        initializer_range=0.6,
    )  # fmt: skip
    return HookedTransformer(cfg, seed=0).eval()


def random_tokens(batch: int, pos: int) -> torch.Tensor:
    return torch.randint(0, 3, (batch, pos), generator=torch.Generator().manual_seed(1))


@pytest.mark.parametrize("positions", ["none", "learned", "rotary"])
def test_scores_equal_the_models_own(positions: str, asked: Make) -> None:
    model = make_model(positions)
    batch = asked(random_tokens(3, 20))
    names = [f"blocks.{layer}.attn.hook_attn_scores" for layer in range(2)]
    _, own = model.run_with_cache(batch.tokens, names_filter=names)
    inputs = score_inputs(model, batch)
    assert len(inputs) == 2
    for layer, (q, k) in enumerate(inputs):
        found = scores_at(q, k, [0, 7, 19], model.attn_score_scale)
        expected = own[names[layer]][:, :, [0, 7, 19]]
        assert found.shape == (3, 2, 3, 20)
        assert torch.equal(found.isinf(), expected.isinf())
        assert torch.allclose(found, expected, atol=1e-5)
        assert model.score_hooks(layer) == score_hooks(model.cfg)[layer]


@pytest.mark.parametrize("block", [1, 7, 20, 100])
def test_streaming_gives_every_query_once(block: int) -> None:
    q, k = torch.randn(2, 2, 20, 3, 4, generator=torch.Generator().manual_seed(0))
    whole = scores_at(q, k, range(20))
    seen = []
    for queries, scores in stream_scores(q, k, block=block):
        assert scores.shape[-1] == queries.stop
        assert torch.allclose(scores, whole[:, :, queries.start : queries.stop, : queries.stop], atol=1e-6)
        seen += list(queries)
    assert seen == list(range(20))


def test_keys_after_the_query_are_masked_whatever_they_hold() -> None:
    q, k = torch.randn(2, 1, 12, 1, 4, generator=torch.Generator().manual_seed(0))
    changed = k.clone()
    changed[:, 6:] = 1e6
    assert torch.equal(scores_at(q, k, [5]), scores_at(q, changed, [5]))
    assert scores_at(q, k, [5])[0, 0, 0, 6:].isneginf().all()
    assert scores_at(q, k, [5])[0, 0, 0, :6].isfinite().all()


@pytest.mark.parametrize(("size", "cells"), [(10, 16), (16, 16), (17, 16), (50, 16), (600, 7)])
def test_pooling_agrees_with_loops_over_cells(size: int, cells: int) -> None:
    q, k = torch.randn(2, 1, size, 1, 4, generator=torch.Generator().manual_seed(size))
    found = pool_attention(q, k, cells)
    scores = scores_at(q, k, range(size))[0, 0].numpy()
    pattern = torch.tensor(scores).softmax(-1).numpy()
    pool = found["pool"]
    side = len(found["cell_starts"])
    assert side == -(-size // pool) <= cells
    rng = np.random.default_rng(0)
    for i, j in [(0, 0), (side - 1, 0), (side - 1, side - 1), *rng.integers(0, side, (20, 2))]:
        rows = range(i * pool, min((i + 1) * pool, size))
        entries = [(a, b) for a in rows for b in range(j * pool, (j + 1) * pool) if b <= a]
        for name, values in (("scores", scores), ("pattern", pattern)):
            if not entries:
                assert np.isnan(found[name][i, j])
                assert np.isnan(found[f"{name}_max"][i, j])
                continue
            inside = [values[e] for e in entries]
            assert found[name][i, j] == pytest.approx(np.mean(inside), abs=1e-6)
            assert found[f"{name}_max"][i, j] == pytest.approx(np.max(inside), abs=1e-6)
        assert found["row_keys"][i] == pytest.approx(np.mean([a + 1 for a in rows]))
    assert found["last_pattern"] == pytest.approx(pattern[-1], abs=1e-6)


def write_run(folder: Path, model: HookedTransformer) -> None:
    import hashlib

    data = weights_bytes(model)
    step = folder / "steps" / "00000000"
    step.mkdir(parents=True)
    (step / "model.safetensors").write_bytes(data)
    meta = {"step": 0, "sha256": hashlib.sha256(data).hexdigest(), "trained_ids": None}
    (step / "meta.json").write_text(json.dumps(meta))
    config = {
        "format": 1,
        "id": "0",
        "task": {"name": "majority", "parameters": {}},
        "model": model.cfg.model_dump(mode="json"),
        "training": {"trained_length": 9},
        "seeds": {"init": 0, "data": 0, "evaluation": 0, "probe": 0},
    }
    (folder / "run.json").write_text(json.dumps(config))


def test_a_sample_holds_what_the_model_did(tmp_path: Path) -> None:
    model = make_model("rotary")
    write_run(tmp_path / "run", model)
    sample = attention_sample(str(tmp_path / "run"), step=0, law="matched", length=15, layer=1, head=1, seed=4)
    ids = torch.tensor([[["<bos>", "0", "1"].index(t) for t in sample["tokens"]]])
    name = "blocks.1.attn.hook_pattern"
    logits, cache = model.run_with_cache(ids, names_filter=[name])
    assert np.tril(sample["pattern"]) == pytest.approx(np.tril(cache[name][0, 1].numpy()), abs=1e-6)
    assert np.isnan(sample["pattern"][np.triu_indices(16, 1)]).all()
    assert sample["pattern"].dtype == sample["scores"].dtype == np.float32
    assert np.nansum(sample["pattern"], 1) == pytest.approx(np.ones(16), abs=1e-5)
    assert (sample["pool"], sample["trained"], sample["length"]) == (1, 9, 15)
    assert sample["row_keys"] == list(range(1, 17))
    assert sample["labels"] == sample["tokens"]
    for i, (target, correct) in enumerate(zip(sample["targets"], sample["correct"], strict=True)):
        if i % 2 == 0:
            assert (target, correct) == (None, None)
            continue
        ones = sample["tokens"][1 : i + 1].count("1")
        assert target == ("1" if 2 * ones > i else "0")
        assert correct == (str(int(logits[0, i].argmax())) == target)
    plain = {k: v.tolist() if isinstance(v, np.ndarray) else v for k, v in sample.items()}
    assert json.loads(json.dumps(plain))["head"] == 1


def test_a_sample_is_its_seed_and_is_pooled_on_request(tmp_path: Path) -> None:
    write_run(tmp_path / "run", make_model("none"))

    def draw(seed: int, cells: int = 512) -> dict[str, object]:
        return attention_sample(str(tmp_path / "run"), 0, "matched", 41, 0, 0, seed, cells)

    assert draw(0)["tokens"] == draw(0)["tokens"] != draw(1)["tokens"]
    pooled = draw(0, cells=8)
    assert pooled["pool"] == 6
    assert np.asarray(pooled["pattern"]).shape == (7, 7)
    assert pooled["labels"][:2] == ["0-5", "6-11"]  # type: ignore[index]
    assert pooled["labels"][-1] == "36-41"  # type: ignore[index]
    assert len(pooled["tokens"]) == 42  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("layer", "head", "message"), [(2, 0, "no layer 2"), (0, 5, "no head 5"), (-1, 0, "no layer -1")]
)
def test_heads_that_do_not_exist_are_refused(layer: int, head: int, message: str, tmp_path: Path) -> None:
    write_run(tmp_path / "run", make_model("none"))
    with pytest.raises(ValueError, match=message):
        attention_sample(str(tmp_path / "run"), 0, "matched", 15, layer, head, 0)


def test_scores_that_q_and_k_do_not_hold_are_refused() -> None:
    cfg = SimpleNamespace(positions=SimpleNamespace(name="alibi"), n_layers=1)
    with pytest.raises(ValueError, match="under alibi positions"):
        score_hooks(cfg)
    with pytest.raises(KeyError, match="no attention q and k"):
        cached_inputs({})
    with pytest.raises(ValueError, match="at least one query"):
        next(stream_scores(torch.zeros(1, 2, 1, 2), torch.zeros(1, 2, 1, 2), block=0))
