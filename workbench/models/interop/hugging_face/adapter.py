"""Models of transformers with TransformerLens's hooks: one attention function of ours, and hooks on the model's
modules.

transformers passes queries, keys and values to a function that is registered under a name (``AttentionInterface``).
They are already rotated and normalized as the model does it. Our function passes them through hooks, and uses a fused
kernel unless a hook reads scores or pattern. Hooks on the model's own modules read the residual stream;
:mod:`.families` lists the paths of these modules.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Literal, NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn import functional as F

from workbench.models.base.architecture import Architecture
from workbench.models.base.layers import has_hooks
from workbench.models.base.lens_parts import ActivationCache, HookedRootModule, HookPoint
from workbench.models.interop.hugging_face.families import Family, PretrainedError, family_of
from workbench.models.positions.learned import Learned
from workbench.models.positions.rotary import Rotary
from workbench.models.transformer.scores import ScoreInputs

ATTENTION = "workbench"
"""The name of our attention function in transformers."""


class PretrainedConfig(Architecture):
    """The config of an opened pretrained model, with the fields that measurements need; see :class:`Architecture`.

    Attributes:
        model_type: transformers' name of the architecture.
        n_heads, n_key_heads: number of heads of queries, and of keys and values.
        d_head: width of a head.
        parallel: whether attention and MLP of a block read the same input, so that there is no stream between them.
        scales, soft_caps, windows: by layer, see :class:`workbench.models.transformer.scores.ScoreInputs`.
        rope_parameters: the rotary settings of the model's own config, unchanged. ``positions`` has only the base and a
            linear scaling, of full attention if layers differ. Scores are computed from queries and keys that the model
            itself has rotated, so neither field changes them.
    """

    kind: ClassVar[str] = "pretrained"
    title: ClassVar[str] = "pretrained model"
    model: ClassVar[str] = "workbench.models.interop.hugging_face.opening:refuse_new"

    architecture: Literal["pretrained"] = "pretrained"
    model_type: str
    n_heads: int
    n_key_heads: int
    d_head: int
    parallel: bool = False
    normalization_type: Literal["LN", "RMS"] | None = "LN"  # type: ignore[assignment]  # ours have no RMSNorm
    rope_parameters: Mapping[str, Any] | None = None
    attention: Literal["softmax"] = "softmax"
    attn_only: bool = False
    scales: tuple[float, ...]
    soft_caps: tuple[float | None, ...]
    windows: tuple[int | None, ...]

    def __init__(self, **data: Any) -> None:
        super().__init__(**data)

    @property
    def variant(self) -> str:
        return self.model_type

    @property
    def resid_mid(self) -> bool:
        return not self.parallel

    @property
    def n_key_value_heads(self) -> int | None:  # type: ignore[override]  # None where each head has its own
        return None if self.n_key_heads == self.n_heads else self.n_key_heads

    def score_hooks(self, layer: int) -> list[str]:
        turned = "rot_" if self.positions.turns else ""
        return [f"blocks.{layer}.attn.hook_{turned}{part}" for part in "qk"]

    def score_inputs(self, layer: int, cache: Any) -> ScoreInputs:
        # Eight bits behind the point are too few for sums over keys: what was computed is kept, and read in more.
        q, k = (_widened(cache[name]) for name in self.score_hooks(layer))
        return ScoreInputs(q, k, scale=self.scales[layer], soft_cap=self.soft_caps[layer], window=self.windows[layer])


class AttentionPoints(nn.Module):
    """The hooks of one layer's attention, and the function that transformers calls in it.

    Attributes:
        change: changes which keys the layer sees (:mod:`.visible_keys`); None = none.
    """

    def __init__(self, turned: bool) -> None:
        super().__init__()
        self.hook_v, self.hook_z = HookPoint(), HookPoint()
        self.hook_attn_scores, self.hook_pattern = HookPoint(), HookPoint()
        self.turned = turned
        self.change: Callable[[ScoreInputs], ScoreInputs] | None = None
        if turned:
            self.hook_rot_q, self.hook_rot_k = HookPoint(), HookPoint()
        else:
            self.hook_q, self.hook_k = HookPoint(), HookPoint()

    def forward(
        self,
        query: Float[Tensor, "batch head pos d_head"],
        key: Float[Tensor, "batch key_head pos d_head"],
        value: Float[Tensor, "batch key_head pos d_head"],
        mask: Tensor | None,
        scale: float,
        soft_cap: float | None,
        window: int | None,
    ) -> Float[Tensor, "batch pos head d_head"]:
        """The output of each head. ``mask`` is True if a query sees a key; None = causal attention to all keys."""
        q, k, v = (x.transpose(1, 2) for x in (query, key, value))
        hook_q, hook_k = (self.hook_rot_q, self.hook_rot_k) if self.turned else (self.hook_q, self.hook_k)
        q, k, v = hook_q(q), hook_k(k), self.hook_v(v)
        inputs = ScoreInputs(q, k, scale=scale, soft_cap=soft_cap, window=window)
        if self.change is not None:
            inputs = self.change(inputs)
            mask = ~inputs.later(range(q.shape[1]), k.shape[1])
        if soft_cap is not None or has_hooks(self.hook_attn_scores, self.hook_pattern):
            scores = self.hook_attn_scores(inputs.scores(range(q.shape[1])))
            pattern = self.hook_pattern(inputs.pattern(scores))
            every_v = v.repeat_interleave(q.shape[2] // v.shape[2], dim=2)
            z = torch.einsum("bhqk,bkhe->bqhe", pattern, every_v)
        else:
            z = F.scaled_dot_product_attention(
                q.transpose(1, 2), k.transpose(1, 2), v.transpose(1, 2), attn_mask=mask, is_causal=mask is None,
                scale=scale, enable_gqa=q.shape[2] != k.shape[2],
            ).transpose(1, 2)  # fmt: skip
        read: Tensor = self.hook_z(z)
        return read


class BlockPoints(nn.Module):
    """The hooks of one transformer block."""

    def __init__(self, family: Family, parallel: bool) -> None:
        super().__init__()
        self.attn = AttentionPoints(family.turned)
        self.hook_resid_pre, self.hook_attn_out = HookPoint(), HookPoint()
        if not parallel:
            self.hook_resid_mid = HookPoint()
        self.hook_mlp_out, self.hook_resid_post = HookPoint(), HookPoint()
        self.parallel = parallel
        self._before: Tensor | None = None

    def attach(self, block: nn.Module, family: Family) -> None:
        """Put the hooks on a block of the model."""
        attention = block.get_submodule(family.attention)
        object.__setattr__(attention, "_workbench_points", self.attn)
        block.register_forward_pre_hook(self._enter, with_kwargs=True)
        block.get_submodule(family.attention_out).register_forward_hook(_first(self._attention))
        block.get_submodule(family.mlp_out).register_forward_hook(_first(self.hook_mlp_out))
        block.register_forward_hook(_first(self._leave))

    def _enter(self, block: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if args:
            self._before = self.hook_resid_pre(args[0])
            return (self._before, *args[1:]), kwargs
        self._before = self.hook_resid_pre(kwargs["hidden_states"])
        return args, {**kwargs, "hidden_states": self._before}

    def _attention(self, out: Tensor) -> Tensor:
        out = self.hook_attn_out(out)
        if self.parallel or not has_hooks(self.hook_resid_mid):
            return out
        assert self._before is not None
        middle = self._before + out
        edited = self.hook_resid_mid(middle)
        # The model adds its own input to what attention gives, so an edit of the sum is one of what is added.
        return out if edited is middle else edited - self._before

    def _leave(self, out: Tensor) -> Tensor:
        self._before = None
        after: Tensor = self.hook_resid_post(out)
        return after


class FinalPoints(nn.Module):
    """The hook after the last normalization."""

    def __init__(self) -> None:
        super().__init__()
        self.hook_normalized = HookPoint()


class PretrainedModel(HookedRootModule):  # type: ignore[misc]  # the base ships no usable types
    """A causal model of transformers; see :class:`workbench.models.base.protocol.HookedModel`.

    Args:
        module: a causal language model of one of our families, with our attention function (see :mod:`.opening`).

    Attributes:
        refused: hooks that failed the self test -> the reason; they are not in ``hook_dict``.
        tokenizer: that of its folder, or None.
    """

    def __init__(self, module: nn.Module) -> None:
        super().__init__()
        family = family_of(module.config.model_type)  # type: ignore[arg-type, union-attr]
        self.cfg: PretrainedConfig = _config(module, family)
        self.family, self.refused, self.tokenizer = family, dict[str, str](), None
        self.module = module.eval()
        self.hook_embed, self.ln_final = HookPoint(), FinalPoints()
        self.blocks = nn.ModuleList(BlockPoints(family, self.cfg.parallel) for _ in range(self.cfg.n_layers))
        base = module.get_submodule(family.base)
        base.get_submodule(family.embed).register_forward_hook(_first(self.hook_embed))
        base.get_submodule(family.final).register_forward_hook(_first(self.ln_final.hook_normalized))
        blocks: Any = base.get_submodule(family.blocks)
        for points, block in zip(self.blocks, blocks, strict=True):
            points.attach(block, family)  # type: ignore[operator]
        self.setup()

    def forward(
        self,
        tokens: Int[Tensor, "batch pos"],
        position_ids: Int[Tensor, "rows pos"] | Float[Tensor, "rows pos"] | None = None,
        *,
        return_type: Literal["logits"] | None = "logits",
        positions: Int[Tensor, " asked"] | None = None,
    ) -> Any:
        """Return the logits ``[batch, pos, out]``.

        Args:
            tokens: token ids.
            position_ids: ids per token, in any order, with gaps and repeats; fractions only if positions are rotary.
                None = 0, 1, 2, ...
            return_type: None = no logits are computed.
            positions: indices of the positions whose logits are needed; None = all.
        """
        ids = None if position_ids is None else position_ids.expand_as(tokens)
        stack = self.module.get_submodule(self.family.base)
        # Without a mask, transformers splits a sequence wherever its ids jump or repeat.
        every_token = torch.ones_like(tokens)
        hidden = stack(
            input_ids=tokens, attention_mask=every_token, position_ids=ids, use_cache=False
        ).last_hidden_state
        if return_type is None:
            return None
        return self.read_out(hidden if positions is None else hidden[:, positions])

    def final_norm(self, stream: Float[Tensor, "*rows d_model"]) -> Float[Tensor, "*rows d_model"]:
        """The output of the last normalization for rows of the residual stream."""
        norm = self.module.get_submodule(self.family.base).get_submodule(self.family.final)
        made: Tensor = norm(stream)
        return made

    def read_out(self, hidden: Float[Tensor, "*rows d_model"]) -> Float[Tensor, "*rows out"]:
        """Logits from the output of the last normalization."""
        logits: Tensor = self.module.get_output_embeddings()(hidden)  # type: ignore[operator]
        cap = getattr(self.module.config, "final_logit_softcapping", None)
        return logits if cap is None else (logits / cap).tanh() * cap

    def run_with_cache(
        self, *args: Any, return_cache_object: bool = True, remove_batch_dim: bool = False, **kwargs: Any
    ) -> tuple[Tensor, Any]:
        """Logits and an ``ActivationCache``, as in TransformerLens, without keeping a graph."""
        with torch.set_grad_enabled(bool(kwargs.get("incl_bwd", False))):
            out, cache = super().run_with_cache(*args, remove_batch_dim=remove_batch_dim, **kwargs)
        if return_cache_object:
            cache = ActivationCache(cache, self, has_batch_dim=not remove_batch_dim)
        return out, cache

    def score_hooks(self, layer: int) -> list[str]:
        """Names of the activations from which the attention scores of a layer are computed."""
        return self.cfg.score_hooks(layer)


def register() -> None:
    """Register our attention function in transformers."""
    from transformers import AttentionInterface
    from transformers.masking_utils import AttentionMaskInterface, sdpa_mask
    from transformers.utils import logging

    def mask_of_all(*, attention_mask: Tensor | None = None, **options: Any) -> Tensor | None:
        """The mask of a layer: ``[pos, pos]`` where it has a window, and not one for each string; none is padded."""
        padded = attention_mask is not None and not bool(attention_mask.all())
        mask: Tensor | None = sdpa_mask(attention_mask=attention_mask if padded else None, **options)
        return mask

    logging.disable_progress_bar()
    logging.set_verbosity_error()  # what it warns of is refused here in a sentence, or does not matter

    AttentionInterface.register(ATTENTION, _attend)
    AttentionMaskInterface.register(ATTENTION, mask_of_all)


def _attend(
    module: Any, query: Tensor, key: Tensor, value: Tensor, attention_mask: Tensor | None, **options: Any
) -> tuple[Tensor, None]:
    """The function that transformers calls instead of its own attention."""
    layer: AttentionPoints = module._workbench_points
    form = _form(module)
    given = (options.get("scaling", form.scale), options.get("softcap"), options.get("sliding_window"))
    if given != (form.scale, form.soft_cap, form.window) or options.get("s_aux") is not None:
        raise PretrainedError(
            f"attention of {type(module).__name__} is called with scale, soft cap and window {given}, but its module "
            f"states {tuple(form)}; or it is called with an attention sink. LengthLens cannot read attention of this "
            "form"
        )
    return layer(query, key, value, attention_mask, *form), None


class ScoreForm(NamedTuple):
    """How attention scores are computed from q . k in one layer; see
    :class:`workbench.models.transformer.scores.ScoreInputs`.
    """

    scale: float
    soft_cap: float | None
    window: int | None


def _form(attention: Any) -> ScoreForm:
    """The form of a layer's scores, from the layer's own module or else from the config."""
    window = getattr(attention, "sliding_window", getattr(attention.config, "sliding_window", None))
    return ScoreForm(attention.scaling, getattr(attention, "attn_logit_softcapping", None), window)


def _config(module: nn.Module, family: Family) -> PretrainedConfig:
    config: Any = module.config
    blocks: Any = module.get_submodule(family.base).get_submodule(family.blocks)
    forms = [_form(block.get_submodule(family.attention)) for block in blocks]
    heads = config.num_attention_heads
    width = getattr(config, "head_dim", None) or config.hidden_size // heads
    parallel = bool(getattr(config, "use_parallel_residual", False))
    rope = getattr(config, "rope_parameters", None) if family.turned else None
    norm = module.get_submodule(family.base).get_submodule(family.final)
    return PretrainedConfig(
        model_type=config.model_type, d_vocab=config.vocab_size, n_layers=len(blocks), d_model=config.hidden_size,
        n_ctx=config.max_position_embeddings, n_heads=heads, d_head=width, parallel=parallel,
        n_key_heads=getattr(config, "num_key_value_heads", None) or heads,
        positions=_rotary(rope) if family.turned else Learned(), rope_parameters=rope,
        normalization_type="RMS" if "RMS" in type(norm).__name__ else "LN", eps=_eps(norm),
        initializer_range=config.initializer_range,
        scales=tuple(form.scale for form in forms), soft_caps=tuple(form.soft_cap for form in forms),
        windows=tuple(form.window for form in forms),
    )  # fmt: skip


def _rotary(stated: Mapping[str, Any] | None) -> Rotary:
    """The rotary settings of a config, as far as our encoding can express them."""
    own = (stated or {}).get("full_attention", stated or {})  # Gemma 3 turns its windowed layers by another base
    scaled = {"scaling": "linear", "factor": own["factor"]} if own.get("rope_type") == "linear" else {}
    return Rotary(**({"base": own["rope_theta"]} if "rope_theta" in own else {}), **scaled)


def _eps(norm: nn.Module) -> float:
    """The number that a normalization adds to the mean square. Modules name it differently, and OLMo's uses torch's
    default.
    """
    return float(getattr(norm, "eps", getattr(norm, "variance_epsilon", 1e-5)))


def _widened(x: Tensor) -> Tensor:
    return x.float() if x.dtype in (torch.bfloat16, torch.float16) else x


def _first(act: Callable[[Tensor], Tensor]) -> Callable[[nn.Module, Any, Any], Any]:
    """A forward hook that applies ``act`` to a module's output, or to the first part of it."""

    def hook(module: nn.Module, args: Any, out: Any) -> Any:
        return (act(out[0]), *out[1:]) if isinstance(out, tuple) else act(out)

    return hook
