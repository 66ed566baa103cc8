"""Figures: pure functions from rows of the measurement table to plotly figures. No torch, no files.

What is importable from here is registered where it is defined (:mod:`workbench.figures.registry`, ``door``,
``offered``) and loaded when first asked for, since plotly is slow to load. Type checkers and editors read the lines
below instead, which take over all public names that a module defines.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from workbench.figures.circuit.circuit_graph import *
    from workbench.figures.circuit.connection_curve import *
    from workbench.figures.errors import *
    from workbench.figures.heads.head_curves import *
    from workbench.figures.heads.head_facts import *
    from workbench.figures.heads.head_map import *
    from workbench.figures.heads.head_maps import *
    from workbench.figures.heads.head_pictures import *
    from workbench.figures.in_context.changed_heads import *
    from workbench.figures.in_context.held_by_layer import *
    from workbench.figures.in_context.in_context_curve import *
    from workbench.figures.in_context.inducing_heads import *
    from workbench.figures.panels.accuracy import *
    from workbench.figures.panels.any_quantity import *
    from workbench.figures.panels.any_quantity_notebook import *
    from workbench.figures.panels.bound_parts import *
    from workbench.figures.panels.code_coupling import *
    from workbench.figures.panels.decodability import *
    from workbench.figures.panels.differences import *
    from workbench.figures.panels.failure_length import *
    from workbench.figures.panels.many_configurations import *
    from workbench.figures.panels.many_seeds import *
    from workbench.figures.panels.phase_diagram import *
    from workbench.figures.panels.plateau import *
    from workbench.figures.panels.restored_shares import *
    from workbench.figures.panels.selectivity import *
    from workbench.figures.panels.training_curves import *
    from workbench.figures.registry import Registered
    from workbench.figures.sequence.attention_pattern import *
    from workbench.figures.sequence.sequence_data import *
    from workbench.figures.sequence.sequence_view import *
    from workbench.figures.style.design_tokens import *
    from workbench.figures.style.multiples_axis import *
    from workbench.figures.style.sparklines import *
    from workbench.figures.style.verdict_styles import *
    from workbench.figures.text.sentences import *

HOMES = (
    "circuit.circuit_graph",
    "circuit.connection_curve",
    "errors",
    "heads.head_curves",
    "heads.head_facts",
    "heads.head_map",
    "heads.head_maps",
    "heads.head_pictures",
    "in_context.changed_heads",
    "in_context.held_by_layer",
    "in_context.in_context_curve",
    "in_context.inducing_heads",
    "panels.accuracy",
    "panels.any_quantity",
    "panels.any_quantity_notebook",
    "panels.bound_parts",
    "panels.code_coupling",
    "panels.decodability",
    "panels.differences",
    "panels.failure_length",
    "panels.many_configurations",
    "panels.many_seeds",
    "panels.phase_diagram",
    "panels.plateau",
    "panels.restored_shares",
    "panels.selectivity",
    "panels.training_curves",
    "sequence.attention_pattern",
    "sequence.sequence_data",
    "sequence.sequence_view",
    "style.design_tokens",
    "style.multiples_axis",
    "style.sparklines",
    "style.verdict_styles",
    "text.sentences",
)
"""Modules that register what is offered here."""


def _offered() -> dict[str, Any]:
    for home in HOMES:
        import_module(f"{__name__}.{home}")
    offered: dict[str, Any] = import_module(f"{__name__}.offered").OFFERED
    return offered


def registered(name: str) -> Registered:
    """A figure by its name, with the function that gives its rows; raises KeyError for any other name."""
    _offered()
    figures: dict[str, Registered] = import_module(f"{__name__}.registry").FIGURES
    return figures[name]


def __getattr__(name: str) -> Any:
    if name == "__all__":
        return sorted(_offered())
    found = None if name.startswith("__") else _offered().get(name)
    if found is None:
        raise AttributeError(f"workbench.figures has no {name!r}")
    return found


def __dir__() -> list[str]:
    return sorted(_offered())
