"""Figures: pure functions from rows of the measurement table to plotly figures. No torch, no files.

What is importable from here is registered where it is defined (:mod:`workbench.figures.registry`, ``door``,
``offered``) and loaded when first asked for, since plotly is slow to load. Type checkers and editors read the lines
below instead, which take over all public names that a module defines.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from workbench.figures.any_quantity_notebook import *
    from workbench.figures.anything import *
    from workbench.figures.attention import *
    from workbench.figures.behaviour import *
    from workbench.figures.bounds import *
    from workbench.figures.compare import *
    from workbench.figures.coupling import *
    from workbench.figures.errors import *
    from workbench.figures.failure import *
    from workbench.figures.head_pictures import *
    from workbench.figures.headgrid import *
    from workbench.figures.heads import *
    from workbench.figures.mechanism import *
    from workbench.figures.phase import *
    from workbench.figures.plateau import *
    from workbench.figures.probing import *
    from workbench.figures.registry import Registered
    from workbench.figures.representation import *
    from workbench.figures.seeds import *
    from workbench.figures.sentences import *
    from workbench.figures.sequence import *
    from workbench.figures.sequence_data import *
    from workbench.figures.spark import *
    from workbench.figures.tokens import *
    from workbench.figures.training import *
    from workbench.figures.verdicts import *

HOMES = (
    "any_quantity_notebook",
    "anything",
    "attention",
    "behaviour",
    "bounds",
    "compare",
    "coupling",
    "errors",
    "failure",
    "head_pictures",
    "headgrid",
    "heads",
    "mechanism",
    "phase",
    "plateau",
    "probing",
    "representation",
    "seeds",
    "sentences",
    "sequence",
    "sequence_data",
    "spark",
    "tokens",
    "training",
    "verdicts",
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
