"""What theory expects of a run, held against what it does."""

from __future__ import annotations

from typing import Any

from workbench.dashboard.state.run_view import RunView

EXPECTED = {"guaranteed": "scale-robust", "not expressible": "length-coupled"}
"""What a prediction would have one observe, at best; anything else is a finding, not an error."""


def subject(run: RunView) -> dict[str, Any]:
    """What a prediction is about: task, its parameters, how the model is told positions."""
    model, task = run.config["model"], run.config["task"]
    ids = model.get("ids", "arange")
    about = {
        "task": run.task,
        "parameters": task.get("parameters", {}),
        "positions": model["positions"],
        "ids": ids["name"] if isinstance(ids, dict) else ids,
    }
    if model.get("architecture") == "ssm":
        about["architecture"] = f"ssm-{model['gates']}"
    return {**about, "source": task["source"]} if task.get("source") else about


def held(expected: str, observed: str) -> str:
    """A prediction beside an observation: ``as observed``, ``\u2260 observed``, ``no claim``; or ``no verdict``.

    A run that is not fitted, or undecided, speaks neither for a prediction nor against it.
    """
    wanted = EXPECTED.get(expected)
    if wanted is None:
        return "no claim"
    if observed not in EXPECTED.values():
        return "no verdict"
    return "as observed" if wanted == observed else "\u2260 observed"
