"""Mechanism: what attention does as the prefix grows, from exactly computed scores.

The names below are loaded on first use, so that importing the package needs no torch.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from workbench.core.lazy import face

if TYPE_CHECKING:
    from circuits.attention.all_queries import sweep_statistics
    from circuits.attention.attention_scores import attention_sample, score_inputs, scores_at, stream_scores
    from circuits.automaton_of_states import StateAutomaton, extract_automaton
    from circuits.connections.measurement import connection_statistics
    from circuits.hardmax.measurement import Hardmax, HardmaxResult, hardmax_statistics
    from circuits.heads.contributions import contribution_statistics
    from circuits.heads.head_scores import head_statistics
    from circuits.interchange.measurement import interchange_statistics
    from circuits.interventions.ablate_components import ablate
    from circuits.interventions.ablation import ablation_statistics
    from circuits.interventions.attention_swaps import swap_statistics
    from circuits.interventions.head_effect import head_effect_statistics
    from circuits.interventions.patch_activations import patch
    from circuits.positional.measurement import positional_statistics
    from circuits.sensitivity import function_statistics
    from circuits.sparsity.few_tokens import FewTokens, few_tokens
    from circuits.sparsity.measurement import sparsity_statistics

__distribution__ = "lengthlens"

__all__ = [
    "FewTokens",
    "Hardmax",
    "HardmaxResult",
    "StateAutomaton",
    "ablate",
    "ablation_statistics",
    "attention_sample",
    "connection_statistics",
    "contribution_statistics",
    "extract_automaton",
    "few_tokens",
    "function_statistics",
    "hardmax_statistics",
    "head_effect_statistics",
    "head_statistics",
    "interchange_statistics",
    "patch",
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
        "Hardmax": "hardmax.measurement",
        "HardmaxResult": "hardmax.measurement",
        "StateAutomaton": "automaton_of_states",
        "ablate": "interventions.ablate_components",
        "ablation_statistics": "interventions.ablation",
        "attention_sample": "attention.attention_scores",
        "connection_statistics": "connections.measurement",
        "contribution_statistics": "heads.contributions",
        "extract_automaton": "automaton_of_states",
        "few_tokens": "sparsity.few_tokens",
        "function_statistics": "sensitivity",
        "hardmax_statistics": "hardmax.measurement",
        "head_effect_statistics": "interventions.head_effect",
        "head_statistics": "heads.head_scores",
        "interchange_statistics": "interchange.measurement",
        "patch": "interventions.patch_activations",
        "positional_statistics": "positional.measurement",
        "score_inputs": "attention.attention_scores",
        "scores_at": "attention.attention_scores",
        "sparsity_statistics": "sparsity.measurement",
        "stream_scores": "attention.attention_scores",
        "swap_statistics": "interventions.attention_swaps",
        "sweep_statistics": "attention.all_queries",
    },
)
