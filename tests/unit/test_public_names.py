"""The public names of Python: a name that disappears fails here before it fails for a user. See docs/stability.md.

The options of commands are held by ``test_defaults.py``.
"""

from __future__ import annotations

import importlib

import lengthlens
from tests.support.held import Held


def test_public_names_of_python_stay(held: Held) -> None:
    modules = {f"lengthlens.{name}": importlib.import_module(f"lengthlens.{name}") for name in lengthlens.SUBMODULES}
    names = {name: sorted(word for word in dir(of) if not word.startswith("_")) for name, of in modules.items()}
    held({"lengthlens": sorted(lengthlens.__all__), **names})
