"""Figures: pure functions from rows of the measurement table to plotly figures. No torch, no files.

Every public name is registered where it is defined (:mod:`workbench.figures.offered`). It is imported at first use,
since plotly is slow to load. Type checkers and editors read the import lines below instead, which import all public
names of each module.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable
from functools import cache
from importlib import import_module
from pkgutil import walk_packages
from typing import TYPE_CHECKING, Any

from workbench.core.suggest import nearest

if TYPE_CHECKING:
    from workbench.figures.circuit.circuit_graph import *
    from workbench.figures.circuit.circuits_over_length import *
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
    from workbench.figures.panels.forks import *
    from workbench.figures.panels.lines_of_runs import *
    from workbench.figures.panels.many_configurations import *
    from workbench.figures.panels.many_seeds import *
    from workbench.figures.panels.phase_diagram import *
    from workbench.figures.panels.plateau import *
    from workbench.figures.panels.restored_shares import *
    from workbench.figures.panels.selectivity import *
    from workbench.figures.panels.training_curves import *
    from workbench.figures.pictures.attended_distance import *
    from workbench.figures.pictures.code_fan import *
    from workbench.figures.pictures.event_order import *
    from workbench.figures.pictures.failure_anatomy import *
    from workbench.figures.pictures.intervention_matrix import *
    from workbench.figures.pictures.verdict_states import *
    from workbench.figures.registry import Figure
    from workbench.figures.sequence.answer_maps import *
    from workbench.figures.sequence.attention_pattern import *
    from workbench.figures.sequence.sequence_data import *
    from workbench.figures.sequence.sequence_view import *
    from workbench.figures.sequence.wrong_string import *
    from workbench.figures.style.design_tokens import *
    from workbench.figures.style.multiples_axis import *
    from workbench.figures.style.sparklines import *
    from workbench.figures.style.verdict_styles import *
    from workbench.figures.text.diagnosis_sentence import *
    from workbench.figures.text.evidence import *
    from workbench.figures.text.in_context_sentence import *
    from workbench.figures.text.run_sentences import *


@cache
def _offered() -> dict[str, Any]:
    for module in walk_packages(__path__, f"{__name__}."):
        import_module(module.name)
    offered: dict[str, Any] = import_module(f"{__name__}.offered").OFFERED
    return offered


def figure_by_name(name: str) -> Figure[...]:
    """Return the figure with a name; raises KeyError if there is none."""
    public = _offered()[name]
    if not isinstance(public, import_module(f"{__name__}.registry").Figure):
        raise KeyError(name)
    figure: Figure[...] = public
    return figure


def __getattr__(name: str) -> Any:
    if name == "__all__":
        return sorted(_offered())
    public = None if name.startswith("__") else _offered().get(name)
    if public is None and name.endswith("_data"):
        return _data_of(name)
    if public is None:
        raise AttributeError(f"there is no figure {name!r}: {nearest(name, _offered(), 'dir(figures) lists all')}")
    return public


def _data_of(name: str) -> Callable[..., Any]:
    """The rows of a figure by the name that their function had up to version 0.1."""
    figure = name.removesuffix("_data")
    try:
        rows = figure_by_name(figure).data
    except KeyError:
        raise AttributeError(f"workbench.figures has no {name!r}") from None
    # The caller is two frames up, or three if the name came through lengthlens.figures.
    level = 4 if sys._getframe(2).f_globals.get("__name__") == "lengthlens._forwarding" else 3
    warnings.warn(f"{name} is now {figure}.data; version 0.2 removes the old name", DeprecationWarning, level)
    return rows


def __dir__() -> list[str]:
    return sorted(_offered())
