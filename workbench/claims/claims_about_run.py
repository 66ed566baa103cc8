"""Which claims of papers are about what a run does: their own runs have its task, positions and kind of model."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from workbench.claims.gate_horizon import gate_horizon_note
from workbench.claims.readable import prediction_text
from workbench.claims.similar_runs import Named, is_similar
from workbench.claims.suites.registry import SUITES
from workbench.core.failures import isolate_errors
from workbench.theory.prediction import as_data


def describe(
    task: str,
    parameters: Mapping[str, Any],
    positions: Named,
    ids: str = "arange",
    source: Mapping[str, str] | None = None,
    architecture: str = "transformer",
    model: Mapping[str, Any] | None = None,
    training: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """Return what theory predicts for a run, and the claims that concern runs like this one.

    Args:
        task, parameters, positions, ids, source, architecture: see
            :func:`workbench.theory.prediction.as_data.describe`.
        model, training: these sections of the run's config; None if there is no run.

    Returns:
        JSON: what that function does, and ``claims`` (see :func:`claims_about`); a task of a file has none.

    Raises:
        UntrustedCode: for a task of a file that nobody has trusted here.
        TaskError: for a task that does not exist.
    """
    prediction = as_data.describe(task, parameters, positions, ids, source=source, architecture=architecture)
    if (note := gate_horizon_note(model or {}, training)) is not None and "notes" in prediction:
        prediction["notes"] = [*prediction["notes"], asdict(note)]
    prediction["claims"] = []
    with isolate_errors(lambda _: None, "claims"):  # a prediction stands without them
        prediction["claims"] = [] if source else claims_about(task, parameters, positions, ids, architecture)
    return prediction


def claims_about(
    task: str, parameters: Mapping[str, Any], positions: Named, ids: str, architecture: str
) -> list[dict[str, str]]:
    """Return the claims with a configuration of this task, these positions and this kind of model.

    A cell need not have the run's lengths, width, steps or seeds. The run need not be one of the claim's own runs.

    Returns:
        ``claim``, ``suite``, ``prediction`` and ``source`` of each.
    """
    return [
        {"claim": claim.id, "suite": suite.name, "prediction": prediction_text(claim), "source": claim.source}
        for suite in SUITES.values()
        for claim in suite.claims
        if any(is_similar(cell, task, parameters, positions, ids, architecture) for cell in claim.cells)
    ]
