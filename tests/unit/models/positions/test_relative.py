"""The relative bias of T5: its buckets, its one table, and that it is trained."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from tests.support.models.reference import build, tokens
from workbench.models import HookedTransformer, ModelConfig
from workbench.models.interop.upstream_lens import UpstreamError, upstream_fields
from workbench.models.positions import PositionError, Relative
from workbench.runs import Run
from workbench.tasks import make_task
from workbench.training.config import RunConfig, Seeds, TrainingConfig
from workbench.training.trainer import Trainer

# First lags of the buckets, worked out by hand: with 8 and 64 they double; with 32 and 128 the wide ones begin at
# 16 * 8^(k / 16), rounded up.
STARTS = [
    (8, 64, (0, 1, 2, 3, 4, 8, 16, 32)),
    (2, 2, (0, 1)),
    (5, 16, (0, 1, 2, 4, 8)),
    (6, 4, (0, 1, 2, 3, 4, 4)),
    (32, 128, (*range(16), 16, 19, 21, 24, 27, 31, 35, 40, 46, 52, 59, 67, 77, 87, 99, 113)),
]


@pytest.mark.parametrize(("buckets", "max_distance", "starts"), STARTS)
def test_buckets_begin_where_the_paper_has_them(buckets: int, max_distance: int, starts: tuple[int, ...]) -> None:
    scheme = Relative(buckets=buckets, max_distance=max_distance)
    assert scheme.starts == starts
    lags = torch.arange(-3, 3 * max_distance)
    expected = [max(b for b, start in enumerate(starts) if start <= max(lag, 0)) for lag in lags.tolist()]
    assert scheme.bucket(lags).tolist() == expected
    assert expected[-1] == buckets - 1
    assert expected[3 + max_distance] == buckets - 1, "max_distance itself is in the last bucket"


@pytest.mark.parametrize(("buckets", "max_distance", "single"), [(8, 64, 4), (32, 128, 16), (2, 2, 1), (6, 4, 4)])
def test_as_many_lags_as_are_alone_in_their_bucket(buckets: int, max_distance: int, single: int) -> None:
    scheme = Relative(buckets=buckets, max_distance=max_distance)
    of_lag = scheme.bucket(torch.arange(4 * max_distance)).tolist()
    assert scheme.single == single
    assert all(of_lag.count(of_lag[lag]) == 1 for lag in range(single))
    assert of_lag.count(of_lag[single]) > 1


def test_settings_that_do_not_fit_are_refused() -> None:
    sizes = {"d_vocab": 3, "n_layers": 1, "d_model": 4, "n_heads": 1, "n_ctx": 8}
    with pytest.raises(PositionError, match="max_distance"):
        ModelConfig(**sizes, positions={"name": "relative", "max_distance": 16})
    with pytest.raises(PositionError, match="max_distance"):
        ModelConfig(**sizes, positions={"name": "relative", "num_buckets": 16})
    with pytest.raises(PositionError, match="buckets=1"):
        ModelConfig(**sizes, positions={"name": "relative", "buckets": 1})


def test_all_layers_share_one_table_and_each_query_shows_its_own() -> None:
    model, x = build("relative/none").double(), tokens()
    named = [name for name, _ in model.named_parameters() if "bias" in name]
    assert named == ["pos_bias.W_bias"]
    assert model.pos_bias["W_bias"].shape == (2, 8)
    hooks = [f"blocks.{layer}.attn.hook_bucket_bias" for layer in range(2)]
    _, cache = model.run_with_cache(x, names_filter=hooks)
    for hook in hooks:
        assert cache[hook].shape == (3, 12, 2, 8)
        assert bool((cache[hook] == model.pos_bias["W_bias"]).all())


def test_a_constant_added_to_every_bucket_changes_nothing() -> None:
    model, x = build("relative/none").double(), tokens()
    with torch.no_grad():
        before = model(x)
        model.pos_bias["W_bias"] += 5.0
        assert torch.allclose(model(x), before, atol=1e-10)
        model.pos_bias["W_bias"][:, 0] += 5.0
        assert not torch.allclose(model(x), before, atol=1e-2)


def test_it_is_drawn_by_the_seed_alone() -> None:
    cfg = build("relative/none").cfg
    first, again, other = (HookedTransformer(cfg, seed=seed).pos_bias["W_bias"] for seed in (1, 1, 2))
    assert torch.equal(first, again)
    assert not torch.equal(first, other)
    assert 0 < float(first.detach().std()) < 1


def test_a_run_trains_it_and_opens_again(tmp_path: Path) -> None:
    task = make_task("majority")
    model = ModelConfig(
        d_vocab=task.d_vocab, d_vocab_out=task.d_vocab_out, n_layers=2, d_model=8, n_heads=2, n_ctx=16,
        positions={"name": "relative", "buckets": 6, "max_distance": 12},
    )  # fmt: skip
    law = TrainingConfig(steps=8, warmup=0, batch_size=16, curriculum={"law": "uniform", "low": 5, "high": 11})
    config = RunConfig(task=task, model=model, training=law, seeds=Seeds(init=1, data=2))
    Trainer(config, tmp_path / "run").run()
    run = Run.open(tmp_path / "run")
    first, last = run.load(0), run.load(8)
    assert run.config["model"]["positions"] == {"name": "relative", "buckets": 6, "max_distance": 12}
    moved = (last.pos_bias["W_bias"] - first.pos_bias["W_bias"]).abs()
    assert bool((moved[:, :-1] > 0).all()), "of every bucket that training lengths reach"


def test_transformer_lens_has_no_such_encoding() -> None:
    with pytest.raises(UpstreamError, match="TransformerLens's"):
        upstream_fields(build("relative/none").cfg)


@pytest.mark.parametrize(("buckets", "far", "starts", "single"), [
    (2, 2, (0, 1), 1), (4, 4, (0, 1, 2, 3), 3), (8, 16, (0, 1, 2, 3, 4, 6, 8, 12), 4), (8, 5, (0, 1, 2, 3, 4, 5, 5, 5), 5), (3, 2, (0, 1, 2), 2), (6, 100, (0, 1, 2, 3, 10, 32), 3),
])  # fmt: skip
def test_where_buckets_begin(buckets: int, far: int, starts: tuple[int, ...], single: int) -> None:
    encoding = Relative(buckets=buckets, max_distance=far)
    assert encoding.starts == starts
    wanted = [max(b for b, start in enumerate(starts) if start <= max(lag, 0)) for lag in range(-3, 40)]
    assert encoding.bucket(torch.arange(-3, 40)).tolist() == wanted
    assert encoding.single == single
    assert Relative.reach(encoding.model_dump(exclude={"name"})).locality == single - 1
    assert Relative.reach({}).locality is None
