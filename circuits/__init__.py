"""Mechanism: what attention does as the prefix grows, from scores computed exactly.

The names below are loaded on first use, so that importing the package needs no torch.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from workbench.core.lazy import face

if TYPE_CHECKING:
    from circuits.attention.all_queries import sweep_statistics
    from circuits.attention.attention_scores import attention_sample, score_inputs, scores_at, stream_scores
    from circuits.connections.connections import connection_statistics
    from circuits.hardmax.hardmax import Hardmax, HardmaxResult, hardmax_statistics
    from circuits.heads.contributions import contribution_statistics
    from circuits.heads.head_scores import head_statistics
    from circuits.interchange.interchange import interchange_statistics
    from circuits.interventions.ablation import ablation_statistics
    from circuits.interventions.attention_swaps import swap_statistics
    from circuits.positional.positional import positional_statistics
    from circuits.sensitivity import function_statistics
    from circuits.sparsity.few_tokens import FewTokens, few_tokens
    from circuits.sparsity.sparsity import sparsity_statistics

__distribution__ = "lengthlens"

__all__ = [
    "FewTokens",
    "Hardmax",
    "HardmaxResult",
    "ablation_statistics",
    "attention_sample",
    "connection_statistics",
    "contribution_statistics",
    "few_tokens",
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

__getattr__, __dir__ = face(
    __name__,
    {
        "FewTokens": "sparsity.few_tokens",
        "Hardmax": "hardmax.hardmax",
        "HardmaxResult": "hardmax.hardmax",
        "ablation_statistics": "interventions.ablation",
        "attention_sample": "attention.attention_scores",
        "connection_statistics": "connections.connections",
        "contribution_statistics": "heads.contributions",
        "few_tokens": "sparsity.few_tokens",
        "function_statistics": "sensitivity",
        "hardmax_statistics": "hardmax.hardmax",
        "head_statistics": "heads.head_scores",
        "interchange_statistics": "interchange.interchange",
        "positional_statistics": "positional.positional",
        "score_inputs": "attention.attention_scores",
        "scores_at": "attention.attention_scores",
        "sparsity_statistics": "sparsity.sparsity",
        "stream_scores": "attention.attention_scores",
        "swap_statistics": "interventions.attention_swaps",
        "sweep_statistics": "attention.all_queries",
    },
)
