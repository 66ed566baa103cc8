"""Scripts that lie outside the packages, as modules."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

from tests.support.places import ROOT


def script(name: str, folder: Path = ROOT / "docs") -> ModuleType:
    """The module that ``folder / NAME.py`` makes when it is run anew; scripts beside it can import it by its name."""
    spec = importlib.util.spec_from_file_location(name, folder / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # where dataclasses look up the names in annotations
    spec.loader.exec_module(module)
    return module
