"""Which runs are like the runs of a claim: the same task, positions and kind of model. Needs no torch."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from workbench.claims.trained_cells import TrainedCell
from workbench.core.stored_model import StoredModel, component_name

Named = Mapping[str, Any] | str
"""The name of a component, or its name with its settings."""


def is_similar(
    cell: TrainedCell, task: str, parameters: Mapping[str, Any], positions: Named, ids: str, architecture: str
) -> bool:
    """Return whether a run has the task, the positions and the kind of model of a claim's cell.

    Lengths, width, steps and seeds may differ.

    Args:
        cell: a configuration whose runs the claim trains.
        task, parameters, positions, ids, architecture: those of the run, see
            :func:`workbench.theory.prediction.as_data.describe`.
    """
    if cell.task != task or any(parameters.get(name) != value for name, value in cell.parameters.items()):
        return False
    model = StoredModel(cell.model)
    if model.kind != architecture:
        return False
    return model.family is not None or (model.positions, model.ids) == (component_name(positions), ids)
