"""Scores made again from q and k against the model's own, and their pooling against brute force."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch

from circuits import attention_sample, score_inputs, scores_at, stream_scores
from circuits.attention.attention_scores import cached_inputs, pool_attention, score_hooks
from tests.support.every_encoding import EXAMPLES, said
from workbench.models import HookedTransformer, ModelConfig
from workbench.models.transformer.scores import ScoreInputs
from workbench.runs import Run
from workbench.runs.checkpoints import write_checkpoint, write_config
from workbench.runs.weights import weights_bytes
from workbench.tasks import make_task
from workbench.tasks.base import Batch

Make = Callable[..., Batch]


LIMIT = {"name": "limit", "period": 3, "locality": 4}
OPTIONS = [
    *({"positions": p, "log_scaling": s} for p in EXAMPLES for s in ("none", "all", "learned")),
    {"positions": LIMIT, "log_scaling": "local"},
    {"attention": "hardmax"}, {"attention": "hardmax", "positions": "alibi"}, {"attention": "linear"},
]  # fmt: skip


def make_model(positions: object = "none", n_ctx: int = 64, **options: object) -> HookedTransformer:
    cfg = ModelConfig(
        d_vocab=3, d_vocab_out=2, n_layers=2, d_model=16, n_heads=2, n_ctx=n_ctx, positions=positions,
        initializer_range=0.6, **options,
    )  # fmt: skip
    model = HookedTransformer(cfg, seed=0).eval()
    generator = torch.Generator().manual_seed(7)
    with torch.no_grad():  # what starts at 0 or 1 would hide a head or a lag taken for another
        for name, parameter in model.named_parameters():
            if name.endswith(("phi", "log_gain")):
                parameter.normal_(1.0, 0.5, generator=generator)
    return model


def noise(size: int, heads: int = 1) -> ScoreInputs:
    q, k = torch.randn(2, 2, size, heads, 4, generator=torch.Generator().manual_seed(size))
    return ScoreInputs(q, k)


def random_tokens(batch: int, pos: int) -> torch.Tensor:
    return torch.randint(0, 3, (batch, pos), generator=torch.Generator().manual_seed(1))


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_scores_equal_the_models_own(options: dict[str, object], asked: Make) -> None:
    model = make_model(**options)
    if model.cfg.attention != "hardmax":  # which sums in float64 and rounds, so that equal keys tie
        model.double()  # two orders of summation: in float32 their difference is the processor's
    batch = asked(random_tokens(3, 20))
    names = [f"blocks.{layer}.attn.hook_{kind}" for layer in range(2) for kind in ("attn_scores", "pattern")]
    _, own = model.run_with_cache(batch.tokens, names_filter=names)
    inputs = score_inputs(model, batch)
    assert len(inputs) == 2
    for layer, of_layer in enumerate(inputs):
        found = scores_at(of_layer, [0, 7, 19])
        expected = own[names[2 * layer]][:, :, [0, 7, 19]]
        assert found.shape == (3, 2, 3, 20)
        assert torch.equal(found.isinf(), expected.isinf())
        assert torch.allclose(found, expected, atol=1e-10)
        pattern = own[names[2 * layer + 1]][:, :, [0, 7, 19]]
        assert torch.allclose(of_layer.pattern(found), pattern, atol=1e-10)
        assert torch.allclose(of_layer.select(slice(1, 3), slice(1, 2)).scores([7]), found[1:, 1:, 1:2], atol=1e-10)


@pytest.mark.parametrize("positions", EXAMPLES, ids=said)
def test_scores_are_those_of_the_ids_the_model_was_given(positions: object) -> None:
    model, tokens = make_model(positions).double(), random_tokens(3, 12)
    ids = torch.tensor([[0, 3, 3, 9, 1, 4, 5, 7, 20, 2, 11, 12]])
    own = "blocks.1.attn.hook_attn_scores"
    _, cache = model.run_with_cache(tokens, ids, names_filter=[own, *score_hooks(model.cfg)])
    assert torch.allclose(cached_inputs(model.cfg, cache)[1].scores(range(12)), cache[own], atol=1e-10)


@pytest.mark.parametrize("block", [1, 7, 20, 100])
@pytest.mark.parametrize("positions", EXAMPLES, ids=said)
def test_streaming_gives_every_query_once(positions: object, block: int, asked: Make) -> None:
    inputs = score_inputs(make_model(positions, log_scaling="learned").double(), asked(random_tokens(2, 20)))[0]
    whole = scores_at(inputs, range(20))
    seen = []
    for queries, scores in stream_scores(inputs, block=block):
        assert scores.shape[-1] == queries.stop
        assert torch.allclose(scores, whole[:, :, queries.start : queries.stop, : queries.stop], atol=1e-10)
        seen += list(queries)
    assert seen == list(range(20))


def test_keys_after_the_query_are_masked_whatever_they_hold() -> None:
    inputs = noise(12)
    changed = ScoreInputs(inputs.q, inputs.k.clone())
    changed.k[:, 6:] = 1e6
    assert torch.equal(scores_at(inputs, [5]), scores_at(changed, [5]))
    assert scores_at(inputs, [5])[0, 0, 0, 6:].isneginf().all()
    assert scores_at(inputs, [5])[0, 0, 0, :6].isfinite().all()


@pytest.mark.parametrize(("size", "cells"), [(10, 16), (16, 16), (17, 16), (50, 16), (600, 7)])
def test_pooling_agrees_with_loops_over_cells(size: int, cells: int) -> None:
    inputs = noise(size)
    found = pool_attention(inputs, cells)
    scores = scores_at(inputs, range(size))[0, 0].numpy()
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


@pytest.mark.parametrize(
    ("queries", "keys", "cells"),
    [
        (range(300, 340), range(10, 25), 64),
        (range(20, 50), range(0, 50), 7),
        (range(0, 40), range(30, 600), 16),
        (range(590, 600), range(591, 600), 3),
    ],
)
def test_a_part_of_the_pattern_is_the_same_part_of_the_whole(queries: range, keys: range, cells: int) -> None:
    """Against loops over the whole pattern: weights stay those of all keys that a query sees."""
    inputs = noise(600)
    scores = scores_at(inputs, range(600))[0, 0].numpy()
    pattern = torch.tensor(scores).softmax(-1).numpy()
    found = pool_attention(inputs, cells, queries, keys)
    pool = found["pool"]
    assert pool == -(-max(len(queries), len(keys)) // cells)
    assert found["pattern_max"].shape == (-(-len(queries) // pool), -(-len(keys) // pool))
    for i, rows in enumerate(queries[at : at + pool] for at in range(0, len(queries), pool)):
        assert found["row_top"][i] == pytest.approx(max(scores[a, : a + 1].max() for a in rows), abs=1e-5)
        for j, columns in enumerate(keys[at : at + pool] for at in range(0, len(keys), pool)):
            entries = [(a, b) for a in rows for b in columns if b <= a]
            for name, values in (("scores", scores), ("pattern", pattern)):
                drawn = found[f"{name}_max"][i, j]
                assert drawn == pytest.approx(max(values[e] for e in entries), abs=1e-5) if entries else np.isnan(drawn)


def write_run(folder: Path, model: HookedTransformer) -> None:
    config = {
        "format": 1,
        "id": "0",
        "task": {"name": "majority", "parameters": {}},
        "model": model.cfg.model_dump(mode="json"),
        "training": {"steps": 1, "trained_length": 9},
        "seeds": {"init": 0, "data": 0, "evaluation": 0, "probe": 0},
    }
    write_config(folder, config)
    write_checkpoint(Run.open(folder), 0, weights_bytes(model), None)


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


@pytest.mark.parametrize(("layer", "head", "message"), [(2, 0, "layer 2"), (0, 5, "head 5"), (-1, 0, "layer -1")])
def test_heads_that_do_not_exist_are_refused(layer: int, head: int, message: str, tmp_path: Path) -> None:
    write_run(tmp_path / "run", make_model("none"))
    with pytest.raises(ValueError, match=message):
        attention_sample(str(tmp_path / "run"), 0, "matched", 15, layer, head, 0)


def test_a_cache_that_lacks_part_of_the_scores_is_refused() -> None:
    model, tokens = make_model("alibi"), random_tokens(1, 5)
    names = [name for name in score_hooks(model.cfg) if name != "hook_position_ids"]
    _, cache = model.run_with_cache(tokens, names_filter=names)
    with pytest.raises(KeyError, match="hook_position_ids"):
        cached_inputs(model.cfg, cache)
    with pytest.raises(ValueError, match="query"):
        next(stream_scores(noise(2), block=0))


@pytest.mark.parametrize("options", [{"attention": "hardmax"}, {"attention": "linear"}], ids=str)
def test_a_sample_shows_the_attention_that_the_model_has(options: dict[str, object], tmp_path: Path) -> None:
    model = make_model(**options)
    write_run(tmp_path / "run", model)
    sample = attention_sample(str(tmp_path / "run"), step=0, law="matched", length=15, layer=1, head=1, seed=4)
    ids = torch.tensor([[["<bos>", "0", "1"].index(t) for t in sample["tokens"]]])
    _, cache = model.run_with_cache(ids, names_filter=["blocks.1.attn.hook_pattern"])
    own = cache["blocks.1.attn.hook_pattern"][0, 1].numpy()
    assert np.tril(sample["pattern"]) == pytest.approx(np.tril(own), abs=1e-6)
    assert sample["last_pattern"] == pytest.approx(own[-1], abs=1e-6)


@pytest.mark.parametrize(("task", "several"), [("mod_p_mean", False), ("in_context_kgram", True)])
def test_a_sample_of_a_task_with_numbers_for_answers_has_numbers_for_targets(
    make_run: Callable[..., Run], task: str, several: bool
) -> None:
    made = make_task(task)
    sizes = {
        "d_vocab": made.d_vocab,
        "d_vocab_out": made.d_vocab_out,
        "n_layers": 1,
        "d_model": 8,
        "n_heads": 1,
        "n_ctx": 32,
    }
    length = made.next_length(12)
    run = make_run(HookedTransformer(ModelConfig(**sizes), seed=0), made, length)
    sample = attention_sample(str(run.path), run.steps[-1], "matched", length, 0, 0, seed=5)
    batch = made.sample(1, length, torch.Generator().manual_seed(5), law="matched", window=length)
    expected = batch.targets[0].reshape(batch.tokens.shape[1], -1)
    asked = batch.mask[0].tolist()
    assert any(asked)
    for target, row, here in zip(sample["targets"], expected.tolist(), asked, strict=True):
        assert target == ((row if several else row[0]) if here else None)
