"""The public names of Python: a name that disappears fails here before it fails for a user. See docs/stability.md.

The options of commands are held by ``test_defaults.py``.
"""

from __future__ import annotations

import importlib

import lengthlens
from tests.support.held import Held

PACKAGES = {
    "challenge": "workbench.diagnosis.challenge",
    "circuits": "circuits",
    "dynamics": "workbench.theory.training_dynamics",
    "measurements": "workbench.measure",
    "probes": "probes",
}
"""Modules of ``lengthlens`` whose names come from another package than ``workbench.NAME``."""


def test_public_names_of_python_stay(held: Held) -> None:
    modules = {name: importlib.import_module(PACKAGES.get(name, f"workbench.{name}")) for name in lengthlens.SUBMODULES}
    names = {f"lengthlens.{name}": sorted(module.__all__) for name, module in modules.items()}
    held({"lengthlens": sorted(lengthlens.__all__), **names})
