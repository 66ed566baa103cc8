"""Figures: pure functions from rows of the measurement table to plotly figures. No torch, no files."""

from __future__ import annotations

from importlib import import_module
from typing import Any

_HOMES = {
    "errors": ("NotApplicable", "NotMeasured", "NotShared", "Undefined"),
    "behaviour": (
        "accuracy_heatmap",
        "accuracy_heatmap_data",
        "accuracy_over_length",
        "accuracy_over_length_data",
        "accuracy_over_training",
        "accuracy_over_training_data",
    ),
    "failure": ("failure_length", "failure_length_data"),
    "representation": (
        "decodability_by_layer",
        "decodability_by_layer_data",
        "decodability_over_length",
        "decodability_over_length_data",
        "decodability_over_training",
        "decodability_over_training_data",
    ),
    "coupling": (
        "coupling_over_length",
        "coupling_over_length_data",
        "coupling_over_training",
        "coupling_over_training_data",
    ),
    "probing": (
        "erasure_over_length",
        "erasure_over_length_data",
        "selectivity_over_training",
        "selectivity_over_training_data",
    ),
    "mechanism": (
        "head_over_length",
        "head_over_length_data",
        "head_over_training",
        "head_over_training_data",
    ),
    "headgrid": ("head_grid", "head_grid_figure", "head_grid_figure_data"),
    "attention": ("attention_pattern", "attention_pattern_data"),
    "sequence": ("sequence_view",),
    "sequence_data": ("sequence_table", "sequence_view_data"),
    "head_pictures": (
        "head_facts_figure",
        "head_facts_figure_data",
        "head_table_figure",
        "head_table_figure_data",
    ),
    "heads": (
        "head_facts",
        "head_rows",
        "head_sentence",
        "head_table",
        "heads_over_length",
        "heads_over_length_data",
        "series_names",
    ),
    "anything": (
        "quantity_over_length",
        "quantity_over_length_data",
        "quantity_over_training",
        "quantity_over_training_data",
    ),
    "bounds": ("bound_parts", "bound_parts_data"),
    "compare": (
        "accuracy_difference",
        "accuracy_difference_data",
        "compare_sentence",
        "decodability_difference",
        "decodability_difference_data",
        "head_grid_difference",
        "head_grid_difference_figure",
        "head_grid_difference_figure_data",
    ),
    "phase": ("phase_diagram", "phase_diagram_data"),
    "seeds": ("seeds_compared", "seeds_compared_data", "seeds_over_length", "seeds_over_length_data"),
    "plateau": ("loss_plateau", "loss_plateau_data", "plateau_sentences"),
    "training": ("loss_over_training", "loss_over_training_data"),
    "spark": ("spark_path", "spark_svg"),
    "tokens": ("palette_css",),
    "verdicts": ("Since", "glyph_svg", "since", "verdict_ribbon"),
    "sentences": ("rail_text", "verdict_sentence", "wants_strings", "why_sentence"),
}
_HOME_OF = {name: module for module, names in _HOMES.items() for name in names}

__all__ = sorted(_HOME_OF)


def __getattr__(name: str) -> Any:
    if name in _HOME_OF:
        return getattr(import_module(f"{__name__}.{_HOME_OF[name]}"), name)
    raise AttributeError(f"workbench.figures has no {name!r}")


def __dir__() -> list[str]:
    return list(__all__)
