"""What models compute, held for every encoding with every option, every id sampler and every architecture by the registry.

References in plain numpy say that the numbers are right; these say that none of them changes: new weights of a seed, outputs
and attention at lengths from 1 to beyond the context, configs with all that is filled in, and ids drawn by seed.
"""

from __future__ import annotations

import itertools
from typing import Any

import pytest
import torch

from tests.support.held import Held, digest
from tests.support.models.reference import ENCODINGS, OPTIONS, build, tokens
from workbench.core.canonical import leaves
from workbench.models import HookedTransformer, ModelConfig
from workbench.models.architectures import ARCHITECTURES, make_config, make_model
from workbench.models.positions import ENCODINGS as REGISTERED
from workbench.models.positions import ID_SAMPLERS, PositionError, make_encoding
from workbench.models.positions.encoding import attention_of_layer, shared_of
from workbench.models.ssm.config import SSMConfig
from workbench.models.ssm.hidden_attention import effective_hooks, effective_inputs

LENGTHS = (1, 18, 30)
"""The last is beyond the context of 24."""
TIED = frozenset(("none/hardmax", "limit/hardmax", "limit/all/hardmax", "relative/hardmax"))
"""Equal tokens tie there, and the last bit decides: references say what these compute."""
MORE: dict[str, dict[str, Any]] = {
    **{name: options for name, options in OPTIONS.items() if name not in TIED},
    "attn_only": {"positions": "alibi", "attn_only": True, "n_heads": 3, "d_head": 5},
    "gelu_new": {"act_fn": "gelu_new", "d_mlp": (3, 7), "eps": 0.1},
    "silu": {"act_fn": "silu", "positions": "learned", "n_layers": 3},
    "relu, no LayerNorm": {"act_fn": "relu", "normalization_type": None, "positions": "limit", "log_scaling": "local"},
    "tied to all": {"tied": True, "d_vocab_out": 5},
    "norm after attention": {"norm_after_attention": True},
    "predicted": {"ids": "predicted", "positions": "rotary"},
    "one wide head": {"n_heads": 1, "d_head": 4, "log_scaling": "all", "positions": {"name": "sinusoidal", "base": 9.0}},
}  # fmt: skip
"""Every encoding with every log scaling and attention, and what else a config can say."""
SSMS: dict[str, dict[str, Any]] = {
    f"{gates}{' time-invariant' * fixed}, conv {conv}, norm {norm}": {
        "gates": gates, "time_invariant": fixed, "d_conv": conv, "normalization_type": norm,
    }
    for (gates, conv), fixed, norm in itertools.product([("nonnegative", 4), ("signed", 1)], (False, True), ("LN", None))
}  # fmt: skip


RNNS: dict[str, dict[str, Any]] = {
    f"{cell}, start {start}, norm {norm}": {**fields, "initial_state": start, "normalization_type": norm}
    for (cell, fields), (start, norm) in itertools.product(
        {
            "gru": {}, "elman": {"cell": "elman", "residual": False}, "relu": {"cell": "elman", "nonlinearity": "relu"},
        }.items(),
        [("zeros", "LN"), ("ones", None), ("trained", "LN")],
    )
}  # fmt: skip


def finite(values: torch.Tensor) -> torch.Tensor:
    return values.detach().masked_fill(~values.isfinite(), 0.0)


def test_outputs_and_attention_of_transformers(held: Held) -> None:
    held({name: _of_a_transformer(build(options).double().eval()) for name, options in MORE.items()})


def _of_a_transformer(model: HookedTransformer) -> list[Any]:
    outputs, attention = [], []
    for pos in LENGTHS[: 2 if model.cfg.positions.table else 3]:
        with torch.no_grad():
            plain = model(tokens(2, pos, seed=pos))
        seen, cache = model.run_with_cache(tokens(2, pos, seed=pos), return_cache_object=False)
        assert torch.allclose(plain, seen, atol=1e-9)
        outputs.append(plain.flatten())
        attention += [finite(cache[hook].double()).flatten() for hook in cache if "scores" in hook or "pattern" in hook]
    return [digest(torch.cat(outputs)), digest(torch.cat(attention))]


def test_outputs_states_and_effective_attention_of_state_space_models(held: Held) -> None:
    fields = {
        "architecture": "ssm",
        "d_vocab": 5,
        "d_vocab_out": 3,
        "n_layers": 2,
        "d_model": 8,
        "n_ctx": 9,
        "d_state": 3,
    }
    held(
        {
            name: _of_an_ssm(make_model(make_config({**fields, **options}), seed=4).double())
            for name, options in SSMS.items()
        }
    )


def _of_an_ssm(model: Any) -> list[Any]:
    outputs, states, attention = [], [], []
    for pos in LENGTHS[:2]:
        x = tokens(2, pos, seed=pos)
        with torch.no_grad():
            plain = model(x)
        seen, cache = model.run_with_cache(x, return_cache_object=False)
        assert torch.allclose(plain, seen, atol=1e-9)
        hooks = sorted(hook for hook in cache if "mixer" in hook)
        assert set(effective_hooks(1)) <= set(hooks)
        outputs.append(plain.flatten())
        states += [cache[hook].flatten() / (1 + cache[hook].abs().mean()) for hook in hooks]
        attention.append(effective_inputs(model, cache, 1).weights(sorted({0, pos // 2, pos - 1})).flatten())
    return [digest(torch.cat(parts)) for parts in (outputs, states, attention)]


def test_outputs_and_states_of_recurrent_networks(held: Held) -> None:
    fields = {"architecture": "rnn", "d_vocab": 5, "d_vocab_out": 3, "n_layers": 2, "d_model": 8, "n_ctx": 9}
    held(
        {
            name: _of_an_rnn(make_model(make_config({**fields, **options}), seed=4).double())
            for name, options in RNNS.items()
        }
    )


def _of_an_rnn(model: Any) -> list[Any]:
    outputs, states = [], []
    for pos in LENGTHS[:2]:
        logits, cache = model.run_with_cache(tokens(2, pos, seed=pos), return_cache_object=False)
        outputs.append(logits.flatten())
        states += [cache[hook].flatten() for hook in sorted(cache) if "mixer" in hook]
    return [digest(torch.cat(parts)) for parts in (outputs, states)]


# ---- new models and their configs ----------------------------------------------------------------------
SIZES: dict[str, Any] = {"d_vocab": 6, "d_vocab_out": 3, "n_layers": 2, "d_model": 12, "n_heads": 3, "n_ctx": 20}
CONFIGS: dict[str, dict[str, Any]] = {
    **{name: {"positions": settings} for name, settings in ENCODINGS.items()},
    **{f"ids {name}": {"ids": name} for name in ID_SAMPLERS},
    **{f"scaling {scaling}": {"positions": "limit", "log_scaling": scaling} for scaling in ("none", "all", "local", "learned")},
    **{f"attention {kind}": {"attention": kind} for kind in ("softmax", "hardmax", "linear")},
    "attn_only": {"attn_only": True, "d_head": 5},
    "widths of MLPs": {"d_mlp": (5, 9), "normalization_type": None, "initializer_range": 0.3},
    "one width": {"d_mlp": 7, "act_fn": "relu", "eps": 1e-3},
    "tied": {"tied": True},
    "tied to all": {"tied": True, "d_vocab_out": 6},
    "norm after attention": {"norm_after_attention": True},
    "defaults": {"d_vocab_out": 0, "d_head": 0, "d_mlp": 0},
    **{f"ssm {name}": {"architecture": "ssm", "n_heads": 0, **options} for name, options in SSMS.items()},
    "ssm sizes": {"architecture": "ssm", "n_heads": 0, "d_model": 80, "d_state": 5, "d_inner": 7},
    **{f"rnn {name}": {"architecture": "rnn", "n_heads": 0, **options} for name, options in RNNS.items()},
    "rnn sizes": {"architecture": "rnn", "n_heads": 0, "d_hidden": 7, "initial_gain": 0.5},
}  # fmt: skip


def test_new_models_of_a_seed_and_all_that_their_configs_say(held: Held) -> None:
    held({name: _new(name) for name in CONFIGS})


def _new(name: str) -> list[Any]:
    cfg = make_config({**SIZES, **CONFIGS[name]})
    model = make_model(cfg, seed=5)
    weights = {key: value for key, value in model.state_dict().items() if bool(value.any())}
    usual = leaves(
        make_config(
            {**SIZES, **({"architecture": cfg.kind, "n_heads": 0} if cfg.kind in ("ssm", "rnn") else {})}
        ).model_dump(mode="json")
    )
    written = leaves(cfg.model_dump(mode="json"))
    said = {
        "written": written if name in ("defaults", "ssm sizes", "rnn sizes") else {k: v for k, v in written.items() if usual.get(k, usual) != v},
        "also": [cfg.least_numbers, cfg.variant, cfg.resid_mid, cfg.n_key_value_heads, cfg.gated_mlp, *cfg.score_hooks(1)],
    }  # fmt: skip
    if isinstance(cfg, ModelConfig):
        said |= {"scale": cfg.attn_scale, "mlp": [cfg.mlp_width(layer) for layer in range(2)]}
        said |= {"rows": [cfg.tied_rows.start, cfg.tied_rows.stop], "factor": model.attn_score_scale}
    assert cfg.least_numbers <= sum(value.numel() for value in model.state_dict().values())
    shapes = [size for _, value in sorted(model.state_dict().items()) for size in (*value.shape, -1)]
    spread = [float(value.double().abs().sum()) for _, value in sorted(weights.items())]
    return [said, digest(shapes), digest(spread), digest(torch.cat([value.flatten() for value in weights.values()]))]


def test_the_architectures_are_those_above() -> None:
    assert set(ARCHITECTURES) == {"transformer", "ssm", "rnn", "pretrained"}, "hold what a new one computes, too"


# ---- encodings -----------------------------------------------------------------------------------------
def test_what_encodings_give_and_say_of_themselves(held: Held) -> None:
    held({name: _of_an_encoding(name) for name in ENCODINGS})


def _of_an_encoding(name: str) -> dict[str, Any]:
    encoding = make_encoding(ENCODINGS[name])
    model = build({"positions": ENCODINGS[name]}).double()
    kinds = [key for key in vars(type(encoding)) | vars(type(encoding).__mro__[1]) if not key.startswith("_")]
    flags = {
        key: getattr(encoding, key) for key in sorted(kinds) if isinstance(getattr(encoding, key, None), bool | str)
    }
    table, terms = encoding.bias_by_lag(model, 1, 40), encoding.limit_terms(model, 1)
    reach = type(encoding).reach(encoding.model_dump(exclude={"name"}))
    ids = torch.tensor([[0, 1, 2, 5, 23, 11, 3]])
    turn = encoding.turn(ids, 8, torch.float64)
    like = attention_of_layer(model, 0).W_Q
    return {
        "flags": flags, "shift": encoding.shift, "rows": [encoding.rows(n) for n in (1, 24)],
        "before": encoding.before_attention,
        "own": {key: list(value.shape) for key, value in encoding.attention_parameters(3).items()},
        "shared": {key: list(value.shape) for key, value in encoding.shared_parameters(3).items()},
        "fixed": digest(encoding.fixed_weights(3, like)) if encoding.biased and not encoding.bias_hook else None,
        "weights": digest(encoding.bias_weights(attention_of_layer(model, 1), shared_of(model), like).detach()) if encoding.biased else None,
        "by lag": None if table is None else digest(table),
        "terms": None if terms is None else [digest(part) for part in (terms.vectors, terms.phi, terms.far)],
        "turn": None if turn is None else [digest(part) for part in turn],
        "turned": digest(encoding.rotate(torch.arange(7.0 * 8).view(1, 7, 1, 8).double(), turn)) if turn else None,
        "vectors": digest(model.pos_embed(ids, torch.float64).detach()) if encoding.added else None,
        "reach": [None if one is None else [one.period, one.locality, list(one.ids), one.step] for one in (reach, type(encoding).reach({}))],
        "upstream": encoding.upstream_fields(8) if encoding.upstream else None,
    }  # fmt: skip


def test_every_registered_encoding_has_examples() -> None:
    assert {settings["name"] for settings in ENCODINGS.values()} == set(REGISTERED)


# ---- id samplers -----------------------------------------------------------------------------------------
PLACES = [(1, 2), (1, 9), (6, 7), (6, 9), (13, 40)]
LAWS: dict[str, dict[str, Any]] = {
    **{name: {"name": name} for name in ID_SAMPLERS},
    "pose of 4": {"name": "pose", "chunks": 4},
    "coupled, no offset": {"name": "coupled", "offset": False},
}


def test_ids_of_a_seed(held: Held) -> None:
    held({name: _ids(name) for name in LAWS})


def _ids(name: str) -> dict[str, Any]:
    law = make_config({**SIZES, "ids": LAWS[name]}).ids
    found: dict[str, Any] = {"flags": [law.consistent, law.coupled, law.predicted]}
    for pos, n_ctx in PLACES:
        coupled = torch.tensor([[(7 * i) % (pos // 2 + 1) for i in range(pos)]]) if law.coupled else None
        drawn = law.training(3, pos, n_ctx, torch.Generator().manual_seed(pos + n_ctx), coupled)
        asked = law.evaluation(pos, n_ctx, coupled)
        assert int(drawn.max()) < n_ctx
        found[f"{pos} of {n_ctx}"] = [digest(drawn), digest(asked), digest(law.shift_ids(asked, 3))]
    return found


@pytest.mark.parametrize(("name", "pos", "least"), [
    ("random_offset", 6, 6), ("random_offset", 1, 1), ("random_subset", 6, 6), ("pose", 6, 7), ("pose", 1, 2),
])  # fmt: skip
def test_a_law_needs_so_many_ids_and_no_fewer(name: str, pos: int, least: int) -> None:
    law = ID_SAMPLERS[name]()
    law.check(pos, least)
    assert law.training(2, pos, least, torch.Generator().manual_seed(0)).shape == (2, pos)
    with pytest.raises(PositionError, match="n_ctx"):
        law.check(pos, least - 1)


def test_coupled_ids_need_room_for_the_largest_of_them_alone() -> None:
    law, given = ID_SAMPLERS["coupled"](), torch.tensor([[0, 1, 4, 2]])
    for seed in range(4):
        assert law.training(2, 4, 5, torch.Generator().manual_seed(seed), given).tolist() == [[0, 1, 4, 2]] * 2
    with pytest.raises(PositionError, match="n_ctx"):
        law.training(2, 4, 4, torch.Generator().manual_seed(0), given)
    law.check(1000, 1)  # how many it needs is known with a batch only
    ID_SAMPLERS["arange"]().check(1000, 1)


@pytest.mark.parametrize("name", ["learned", "none", "rotary", "alibi", "sinusoidal"])
def test_which_ids_are_refused(name: str) -> None:
    encoding = make_encoding(name)
    encoding.check(torch.tensor([[0, 7]]), 8)
    encoding.check(torch.zeros(1, 0, dtype=torch.long), 8)
    with pytest.raises(PositionError, match="start at 0"):
        encoding.check(torch.tensor([[3, -2]]), 8)
    half = torch.tensor([[0.5]])
    if encoding.between or not encoding.reads_ids:
        encoding.check(half, 8)
    else:
        with pytest.raises(PositionError, match="ids"):
            encoding.check(half, 8)
    if encoding.table:
        with pytest.raises(PositionError, match="id 8"):
            encoding.check(torch.tensor([[8]]), 8)
    else:
        encoding.check(torch.tensor([[8]]), 8)


# ---- what is refused at the edge ---------------------------------------------------------------------------
@pytest.mark.parametrize(("good", "bad", "says"), [
    ({"d_head": 5, "d_model": 13}, {"d_model": 13}, "n_heads"),
    ({"d_mlp": (3, 4)}, {"d_mlp": (3,)}, "2 layers"),
    ({"tied": True, "d_vocab_out": 6}, {"tied": True, "d_vocab_out": 7}, "tied"),
    ({"positions": "limit", "log_scaling": "local"}, {"positions": "alibi", "log_scaling": "local"}, "scales"),
    ({"attention": "linear", "positions": "learned"}, {"attention": "linear", "positions": "alibi"}, "scores"),
    ({"attention": "linear"}, {"attention": "linear", "positions": "rotary"}, "scores"),
    ({"attention": "hardmax", "log_scaling": "all"}, {"attention": "linear", "log_scaling": "all"}, "scale"),
    ({"positions": {"name": "relative", "buckets": 8, "max_distance": 5}}, {"positions": {"name": "relative", "buckets": 8, "max_distance": 4}}, "buckets"),
    ({"positions": "rotary", "d_head": 2}, {"positions": "rotary", "d_head": 3}, "even d_head"),
    ({"positions": {"name": "rotary", "scaling": "ntk", "factor": 2.0}, "d_head": 4}, {"positions": {"name": "rotary", "scaling": "ntk", "factor": 2.0}, "d_head": 2}, "d_head"),
    ({"positions": {"name": "rotary", "scaling": "linear", "factor": 1.5}}, {"positions": {"name": "rotary", "scaling": "linear", "factor": 1.0}}, "factor"),
    ({"positions": {"name": "rotary", "factor": 1.0}}, {"positions": {"name": "rotary", "factor": 1.5}}, "factor"),
    ({"positions": "sinusoidal"}, {"positions": "sinusoidal", "d_model": 9}, "even d_model"),
    ({"initializer_range": 0.1, "eps": 0.0}, {"eps": -0.1}, "eps"),
])  # fmt: skip
def test_the_last_config_that_fits_and_the_first_that_does_not(
    good: dict[str, Any], bad: dict[str, Any], says: str
) -> None:
    make_config({**SIZES, **good})
    with pytest.raises((ValueError, PositionError), match=says):
        make_config({**SIZES, **bad})


def test_step_sizes_of_a_state_space_model_may_be_equal_and_not_reversed() -> None:
    sizes = {"d_vocab": 3, "n_layers": 1, "d_model": 4, "n_ctx": 4}
    equal = SSMConfig(**sizes, dt_min=0.01, dt_max=0.01)
    model: Any = make_model(equal)
    assert torch.nn.functional.softplus(model.blocks[0].mixer.b_dt).tolist() == pytest.approx([0.01] * 8, rel=1e-4)
    with pytest.raises(ValueError, match="dt_min"):
        SSMConfig(**sizes, dt_min=0.02, dt_max=0.01)
    assert [SSMConfig(**{**sizes, "d_model": width}).dt_rank for width in (1, 64, 65, 80, 81)] == [4, 4, 5, 5, 6]
    assert [SSMConfig(**{**sizes, "d_model": width}).d_inner for width in (1, 5)] == [2, 10]


def test_training_draws_and_gives_what_evaluation_gives(held: Held) -> None:
    """The short way of training, with gradients: only where asked, once per pair of token and id."""
    found = {}
    for name in ("none", "learned", "limit", "rotary", "relative"):
        model = build({"positions": name}, d_mlp=6).double().train()
        x = tokens(60, 18, seed=2)
        asked = torch.zeros(60, 18, dtype=torch.bool)
        asked[:, 4::5] = True
        logits = model(x, None, asked)
        assert bool((logits[~asked] == 0).all())
        assert torch.allclose(logits[asked], model.eval()(x)[asked], atol=1e-9)
        logits.square().sum().backward()
        gradients = [parameter.grad for parameter in model.parameters() if parameter.grad is not None]
        assert len(gradients) == len([*model.parameters()])
        found[name] = [digest(logits.detach()), digest([float(one.abs().sum()) for one in gradients])]
    held(found)


def test_what_a_pass_returns() -> None:
    model = HookedTransformer(ModelConfig(**{**SIZES, "d_vocab_out": 6}), seed=1)
    x = tokens(2, 5)
    logits, loss = model(x, return_type="both")
    assert torch.equal(model(x, return_type="loss"), loss)
    wanted = torch.nn.functional.cross_entropy(logits[:, :-1].flatten(0, 1), x[:, 1:].flatten())
    assert torch.allclose(loss, wanted)
    assert model(x, return_type=None) is None
    assert torch.equal(model(x, stop_at_layer=-1), model(x, stop_at_layer=1))
    assert not torch.equal(model(x, stop_at_layer=0), model(x, stop_at_layer=1))
    assert torch.equal(model(x, stop_at_layer=0), model.embed(x))
    with pytest.raises(ValueError, match="return_type"):
        model(x, return_type="logit")
