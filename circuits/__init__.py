"""Mechanism: what attention does as the prefix grows, from scores computed exactly.

The names below are loaded on first use, so that importing the package needs no torch.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from circuits.ablation import ablation_statistics
    from circuits.contributions import contribution_statistics
    from circuits.function import function_statistics
    from circuits.hardmax import Hardmax, HardmaxResult, hardmax_statistics
    from circuits.heads import head_statistics
    from circuits.interchange import interchange_statistics
    from circuits.positional import positional_statistics
    from circuits.scores import attention_sample, score_inputs, scores_at, stream_scores
    from circuits.sparsity import sparsity_statistics
    from circuits.swaps import swap_statistics
    from circuits.sweep import sweep_statistics

__all__ = [
    "Hardmax",
    "HardmaxResult",
    "ablation_statistics",
    "attention_sample",
    "contribution_statistics",
    "function_statistics",
    "hardmax_statistics",
    "head_statistics",
    "interchange_statistics",
    "positional_statistics",
    "score_inputs",
    "scores_at",
    "sparsity_statistics",
    "stream_scores",
    "swap_statistics",
    "sweep_statistics",
]

_HOME = {
    "Hardmax": "circuits.hardmax",
    "HardmaxResult": "circuits.hardmax",
    "ablation_statistics": "circuits.ablation",
    "attention_sample": "circuits.scores",
    "contribution_statistics": "circuits.contributions",
    "function_statistics": "circuits.function",
    "hardmax_statistics": "circuits.hardmax",
    "head_statistics": "circuits.heads",
    "interchange_statistics": "circuits.interchange",
    "positional_statistics": "circuits.positional",
    "score_inputs": "circuits.scores",
    "scores_at": "circuits.scores",
    "sparsity_statistics": "circuits.sparsity",
    "stream_scores": "circuits.scores",
    "swap_statistics": "circuits.swaps",
    "sweep_statistics": "circuits.sweep",
}


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_HOME[name]), name)
