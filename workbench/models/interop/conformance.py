"""Compares our model with TransformerLens's own HookedTransformer: the same weights, and all activations.

``PYTHONPATH=.upstream python -m workbench.models.interop.conformance`` prints the table (``make upstream`` fetches
version 3.9.0 into that folder). With ``--json`` it prints the same with every hook by name.
"""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field
from importlib.metadata import version
from typing import Any

import torch
from torch import Tensor
from transformer_lens.head_detector import detect_head

from workbench.models.base.lens_parts import ActivationCache
from workbench.models.interop.upstream_lens import UpstreamError, to_upstream
from workbench.models.positions.registry import ENCODINGS
from workbench.models.transformer.config import ModelConfig
from workbench.models.transformer.model import HookedTransformer

TOLERANCE = 1e-5
SIZES = {"d_vocab": 7, "n_layers": 2, "d_model": 32, "n_heads": 4, "d_vocab_out": 5, "n_ctx": 48}
CASES: dict[str, dict[str, Any]] = {
    **{name: {"positions": name} for name, encoding in ENCODINGS.items() if encoding.upstream},
    "rotary, base 100, linear x 4": {
        "positions": {"name": "rotary", "base": 100.0, "scaling": "linear", "factor": 4.0}
    },
    "rotary, base 100, ntk x 4": {"positions": {"name": "rotary", "base": 100.0, "scaling": "ntk", "factor": 4.0}},
    "alibi, 3 heads": {"positions": "alibi", "n_heads": 3, "d_head": 8},
    "learned, attention only": {"positions": "learned", "attn_only": True},
    "none, no LayerNorm, relu, narrow MLP": {"act_fn": "relu", "normalization_type": None, "d_mlp": 9},
    "rotary, gelu_new": {"positions": "rotary", "act_fn": "gelu_new"},
    "none, silu": {"act_fn": "silu"},
    "learned, outputs are tokens": {"positions": "learned", "d_vocab_out": 7},
    "learned, tied": {"positions": "learned", "d_vocab_out": 6, "tied": True},
}


@dataclass(frozen=True)
class Comparison:
    """The differences between our model and TransformerLens's with the same weights, on the same tokens.

    Attributes:
        case: the kind of model.
        logits: largest difference of a logit.
        activations: largest difference of any shared activation.
        at: the hook with that difference.
        hooks: names of the hooks that both models have; all were compared.
        ours: hooks that only our model has.
        utilities: methods of model and cache that users of TransformerLens call -> largest difference of the results.
    """

    case: str
    logits: float
    activations: float
    at: str
    hooks: tuple[str, ...]
    ours: tuple[str, ...]
    utilities: dict[str, float] = field(default_factory=dict)

    @property
    def conforms(self) -> bool:
        return max(self.logits, self.activations, *self.utilities.values()) <= TOLERANCE


def compare(case: str, seed: int = 0) -> Comparison:
    """Compare one case of ``CASES`` on sequences of the full context.

    Raises:
        UpstreamError: if the installed TransformerLens has no HookedTransformer.
    """
    cfg = ModelConfig(**{**SIZES, **CASES[case]})
    model, generator = HookedTransformer(cfg, seed=seed).eval(), torch.Generator().manual_seed(seed)
    with torch.no_grad():  # biases and gains start at 0 and 1, where a forgotten one would not show
        for parameter in model.parameters():
            parameter.add_(0.1 * torch.randn(parameter.shape, generator=generator))
    upstream = to_upstream(model)
    tokens = torch.randint(0, cfg.d_vocab, (3, cfg.n_ctx), generator=generator)
    shared = [name for name in model.hook_dict if name in upstream.hook_dict]
    logits, own = model.run_with_cache(tokens, names_filter=shared)
    with torch.no_grad():
        upstream_logits, theirs = upstream.run_with_cache(tokens, names_filter=shared)
    differences = {name: largest_difference(own[name], theirs[name]) for name in shared}
    worst = max(differences, key=lambda name: differences[name])
    return Comparison(
        case=case,
        logits=largest_difference(logits, upstream_logits),
        activations=differences[worst],
        at=worst,
        hooks=tuple(shared),
        ours=tuple(name for name in model.hook_dict if name not in upstream.hook_dict),
        utilities=compare_utilities(model, upstream, tokens),
    )


def compare_utilities(model: HookedTransformer, upstream: Any, tokens: Tensor) -> dict[str, float]:
    """Call -> largest difference between the two results; infinite if their types differ.

    ``to_tokens`` is not compared: TransformerLens's needs a tokenizer, and ours has that of the task.
    """
    differences: dict[str, float] = {}
    sides = (model, upstream)
    for name in ("W_E", "W_U", "W_Q", "W_K", "W_V", "W_O", "b_Q", "b_K", "b_V", "b_O", "b_U"):
        differences[name] = largest_difference(*(getattr(side, name) for side in sides))
    for name in () if model.cfg.attn_only else ("W_in", "W_out", "b_in", "b_out"):
        differences[name] = largest_difference(*(getattr(side, name) for side in sides))
    for name in ("OV", "QK"):
        differences[name] = largest_difference(*(getattr(side, name).AB for side in sides))
    for mode in ("Q", "K", "V"):
        differences[f"all_composition_scores({mode})"] = largest_difference(
            *(side.all_composition_scores(mode) for side in sides)
        )
    differences["all_head_labels"] = 0.0 if model.all_head_labels() == upstream.all_head_labels() else math.inf
    last, full = model.cfg.n_layers, not model.cfg.attn_only
    differences["accumulated_bias"] = largest_difference(
        *(side.accumulated_bias(last, include_mlp_biases=full) for side in sides)
    )
    answers = torch.arange(model.cfg.d_vocab_out)
    differences["tokens_to_residual_directions"] = largest_difference(
        *(side.tokens_to_residual_directions(answers) for side in sides)
    )
    for stop in (0, 1, -1):
        differences[f"stop_at_layer={stop}"] = largest_difference(*(side(tokens, stop_at_layer=stop) for side in sides))
    differences["return_type=None"] = 0.0 if all(side(tokens, return_type=None) is None for side in sides) else math.inf
    if model.cfg.d_vocab_out == model.cfg.d_vocab:
        for per_call in ("loss", "both"):
            results = [side(tokens, return_type=per_call) for side in sides]
            losses = [result if per_call == "loss" else result.loss for result in results]
            differences[f"return_type={per_call}"] = largest_difference(*losses)
    caches = [side.run_with_cache(tokens)[1] for side in sides]
    differences |= compare_caches(caches, answers, tokens, full)
    upstream.to_tokens = lambda ids, *_, **__: ids  # it has no tokenizer, and is given ids
    for head in ("previous_token_head", "duplicate_token_head", "induction_head"):
        one_string = tokens[:1, : model.cfg.n_ctx - 1]
        differences[f"detect_head({head})"] = largest_difference(
            *(detect_head(side, one_string, head) for side in sides)
        )
    return differences


def compare_caches(caches: list[Any], answers: Tensor, tokens: Tensor, full: bool) -> dict[str, float]:
    """Call -> largest difference, for methods of ``ActivationCache`` that use the model."""
    calls: dict[str, Callable[[Any], tuple[Tensor, list[str]]]] = {
        "decompose_resid": lambda cache: cache.decompose_resid(apply_ln=True, return_labels=True),
        "accumulated_resid": lambda cache: cache.accumulated_resid(apply_ln=True, return_labels=True),
        "stack_head_results": lambda cache: cache.stack_head_results(apply_ln=True, return_labels=True),
        "get_full_resid_decomposition": lambda cache: cache.get_full_resid_decomposition(
            expand_neurons=full, apply_ln=True, return_labels=True
        ),
    }
    # What a cache works out it keeps, and warns when it is asked again: each call has one of its own.
    differences = {
        name: labelled_difference(*(call(ActivationCache(dict(cache.cache_dict), cache.model)) for cache in caches))
        for name, call in calls.items()
    }
    target = tokens % len(answers)
    attributions = [cache.logit_attrs(cache.accumulated_resid(), target, has_batch_dim=True) for cache in caches]
    return {**differences, "logit_attrs": largest_difference(*attributions)}


def labelled_difference(a: tuple[Tensor, list[str]], b: tuple[Tensor, list[str]]) -> float:
    """Largest difference of components of equal label; infinite if the labels differ.

    TransformerLens has no model without positions. Such a model has a table of zeros there, which is left out.
    """
    (ours, names), (theirs, others) = a, b
    kept = [i for i, name in enumerate(others) if name in names or name != "pos_embed"]
    if names != [others[i] for i in kept]:
        return math.inf
    return largest_difference(ours, theirs[kept])


def largest_difference(a: Tensor, b: Tensor) -> float:
    """Largest |a - b|; infinite for different shapes, or if only one of the two has -inf or NaN at an index."""
    if a.shape != b.shape or not torch.equal(a.isfinite(), b.isfinite()):
        return math.inf
    return float((a - b).detach()[b.isfinite()].abs().max())


def comparison_lines(comparisons: list[Comparison]) -> Iterator[str]:
    """The comparisons as lines of text, and the kinds of hooks."""
    width = max(len(comparison.case) for comparison in comparisons)
    yield f"{'model':{width}}  hooks  largest difference of logits, of activations (where)"
    for comparison in comparisons:
        ok = "" if comparison.conforms else f"  ABOVE {TOLERANCE:g}"
        largest = f"{comparison.logits:.1e}, {comparison.activations:.1e} ({comparison.at})"
        yield f"{comparison.case:{width}}  {len(comparison.hooks):5}  {largest}{ok}"
    yield "hooks compared: " + ", ".join(
        sorted({hook_kind(name) for comparison in comparisons for name in comparison.hooks})
    )
    worst: dict[str, float] = {}
    for comparison in comparisons:
        for name, value in comparison.utilities.items():
            worst[name] = max(worst.get(name, 0.0), value)
    if worst:
        yield f"utilities compared, largest difference {max(worst.values()):.1e}: {', '.join(worst)}"
    yield "hooks of ours alone: " + (
        ", ".join(sorted({hook_kind(n) for comparison in comparisons for n in comparison.ours})) or "none"
    )


def hook_kind(hook: str) -> str:
    """A hook's name without the number of its block."""
    parts = hook.split(".")
    return ".".join("{l}" if part.isdigit() else part for part in parts)


def main(arguments: list[str]) -> int:
    """Print the table; the exit status is 1 if anything differs by more than the tolerance."""
    torch.set_num_threads(1)
    try:
        comparisons = [compare(case) for case in CASES]
    except UpstreamError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    if "--json" in arguments:
        print(json.dumps([{**asdict(comparison), "conforms": comparison.conforms} for comparison in comparisons]))
    else:
        print(f"against TransformerLens {version('transformer-lens')}, tolerance {TOLERANCE:g}")
        print("\n".join(comparison_lines(comparisons)))
    return 0 if all(comparison.conforms for comparison in comparisons) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
