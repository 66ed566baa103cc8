"""The forks of a run in words: where each left the run, and what it trains on from there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from workbench.dashboard.state.run_view import RunView
from workbench.figures.labels import whole


def describe_forks(run: RunView, forks: Sequence[RunView]) -> dict[str, tuple[int, str]]:
    """Return, by name, the step of each fork and its other training lengths in words ("" if those of the run)."""
    return {fork.name: (fork.fork[1], other_lengths(run, fork)) for fork in forks if fork.fork is not None}


def other_lengths(run: RunView, fork: RunView) -> str:
    """Return the training lengths of a fork from its step on, in words; "" if they are those of the run."""
    here, own = (_curriculum(view) for view in (fork, run))
    if here == own:
        return ""
    after = here.get("after") if here.get("law") == "switched" else here
    if not isinstance(after, Mapping) or not {"low", "high"} <= set(after):
        return "other training lengths"
    law = str(after.get("law", "uniform"))
    kind = "" if law == "uniform" else f" ({law.replace('_', ' ')})"
    return f"lengths {whole(after['low'])} to {whole(after['high'])}{kind}"


def _curriculum(view: RunView) -> Mapping[str, Any]:
    stored = view.config["training"].get("curriculum")
    return stored if isinstance(stored, Mapping) else {}
