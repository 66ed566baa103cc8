"""Does our model compute what TransformerLens's own HookedTransformer computes? Same weights in, all activations out.

``PYTHONPATH=.upstream python -m workbench.models.conformance`` prints the table (``make upstream`` fetches version
3.9.0 into that folder), and ``--json`` the same with every hook by name.
"""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from importlib.metadata import version
from typing import Any

import torch
from torch import Tensor

from workbench.models.config import ModelConfig
from workbench.models.transformer import HookedTransformer

TOLERANCE = 1e-5
SIZES = {"d_vocab": 7, "n_layers": 2, "d_model": 32, "n_heads": 4, "d_vocab_out": 5, "n_ctx": 48}
CASES: dict[str, dict[str, Any]] = {
    "none": {"positions": "none"},
    "learned": {"positions": "learned"},
    "rotary": {"positions": "rotary"},
    "rotary, base 100, linear x 4": {
        "positions": {"name": "rotary", "base": 100.0, "scaling": "linear", "factor": 4.0}
    },
    "rotary, base 100, ntk x 4": {"positions": {"name": "rotary", "base": 100.0, "scaling": "ntk", "factor": 4.0}},
    "alibi": {"positions": "alibi"},
    "alibi, 3 heads": {"positions": "alibi", "n_heads": 3, "d_head": 8},
    "learned, attention only": {"positions": "learned", "attn_only": True},
    "none, no LayerNorm, relu, narrow MLP": {"act_fn": "relu", "normalization_type": None, "d_mlp": 9},
    "rotary, gelu_new": {"positions": "rotary", "act_fn": "gelu_new"},
    "none, silu": {"act_fn": "silu"},
}


@dataclass(frozen=True)
class Comparison:
    """Our model beside TransformerLens's with the same weights, on the same tokens.

    Attributes:
        case: what kind of model.
        logits: largest difference of a logit.
        activations: largest difference of any shared activation.
        at: the hook where that is.
        hooks: names of the hooks that both have; all were compared.
        ours: hooks that only our model has.
    """

    case: str
    logits: float
    activations: float
    at: str
    hooks: tuple[str, ...]
    ours: tuple[str, ...]

    @property
    def conforms(self) -> bool:
        return max(self.logits, self.activations) <= TOLERANCE


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
    upstream = model.to_upstream()
    tokens = torch.randint(0, cfg.d_vocab, (3, cfg.n_ctx), generator=generator)
    shared = [name for name in model.hook_dict if name in upstream.hook_dict]
    logits, own = model.run_with_cache(tokens, names_filter=shared)
    with torch.no_grad():
        others, theirs = upstream.run_with_cache(tokens, names_filter=shared)
    differences = {name: difference(own[name], theirs[name]) for name in shared}
    worst = max(differences, key=lambda name: differences[name])
    return Comparison(
        case=case,
        logits=difference(logits, others),
        activations=differences[worst],
        at=worst,
        hooks=tuple(shared),
        ours=tuple(name for name in model.hook_dict if name not in upstream.hook_dict),
    )


def difference(a: Tensor, b: Tensor) -> float:
    """Largest |a - b|; infinite for other shapes, or where one holds -inf or NaN and the other does not."""
    if a.shape != b.shape or not torch.equal(a.isfinite(), b.isfinite()):
        return math.inf
    return float((a - b)[b.isfinite()].abs().max())


def table(found: list[Comparison]) -> Iterator[str]:
    """The comparisons as lines of text, and the kinds of hooks."""
    width = max(len(one.case) for one in found)
    yield f"{'model':{width}}  hooks  largest difference of logits, of activations (where)"
    for one in found:
        ok = "" if one.conforms else f"  ABOVE {TOLERANCE:g}"
        yield f"{one.case:{width}}  {len(one.hooks):5}  {one.logits:.1e}, {one.activations:.1e} ({one.at}){ok}"
    yield "hooks compared: " + ", ".join(sorted({kind(name) for one in found for name in one.hooks}))
    yield "hooks of ours alone: " + (", ".join(sorted({kind(n) for one in found for n in one.ours})) or "none")


def kind(hook: str) -> str:
    """A hook's name without the number of its block."""
    parts = hook.split(".")
    return ".".join("{l}" if part.isdigit() else part for part in parts)


def main(arguments: list[str]) -> int:
    """Print the table; the exit status is 1 if anything differs by more than the tolerance."""
    from workbench.models.upstream import UpstreamError

    torch.set_num_threads(1)
    try:
        found = [compare(case) for case in CASES]
    except UpstreamError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    if "--json" in arguments:
        print(json.dumps([{**asdict(one), "conforms": one.conforms} for one in found]))
    else:
        print(f"against TransformerLens {version('transformer-lens')}, tolerance {TOLERANCE:g}")
        print("\n".join(table(found)))
    return 0 if all(one.conforms for one in found) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
