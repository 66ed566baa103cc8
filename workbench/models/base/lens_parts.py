"""Imports the parts of TransformerLens that our models use, without importing the rest of its package.

Importing ``transformer_lens`` runs its whole package, which imports transformers and datasets. This takes some four
seconds in every process, for six names that need neither. So this module registers its packages *unopened*, without
running their code. Modules within them are found as usual. The first access to any other name
(``transformer_lens.HookedTransformer``, ``from transformer_lens import patching``) runs the package's own code once, in
the order of a plain import. The classes are the same either way: our models are ``HookedRootModule``s, and their hooks
``HookPoint``s.

If ``transformer_lens`` was imported before, or is built differently than expected, it is imported as usual.
"""

from __future__ import annotations

import sys
import threading
from importlib import import_module
from importlib.util import find_spec, module_from_spec
from types import ModuleType
from typing import Any

PACKAGE = "transformer_lens"
UNOPENED = (PACKAGE, f"{PACKAGE}.conversion_utils", f"{PACKAGE}.utilities")
"""Packages whose own code has slow imports, outermost first."""
WITHIN = {"Slice": "slice", "SliceInput": "slice", "remove_batch_dim": "tensors", "warn_if_mps": "devices"}
"""Names that these parts import from ``transformer_lens.utilities`` -> the module that defines them."""

_LOCK = threading.RLock()


class Unopened(ModuleType):
    """A package of TransformerLens whose ``__init__`` is not run."""

    def __getattr__(self, name: str) -> Any:
        inside = sys.modules.get(f"{self.__name__}.{name}")
        if inside is not None and name.islower():  # what is spelt like a class is one, once the package is open
            return inside
        if self.__name__ == f"{PACKAGE}.utilities" and name in WITHIN:
            return getattr(import_module(f"{self.__name__}.{WITHIN[name]}"), name)
        if name.startswith("__") and name not in ("__all__", "__version__"):
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")
        open_packages()
        return getattr(self, name)

    def __setattr__(self, name: str, value: Any) -> None:
        # The import system sets modules within a package here, also those with the name of a class they hold.
        if not (isinstance(value, ModuleType) and value.__name__ == f"{self.__name__}.{name}"):
            super().__setattr__(name, value)


def place_unopened() -> None:
    """Register the packages as unopened, unless TransformerLens is imported already."""
    if PACKAGE in sys.modules:
        return
    for name in UNOPENED:
        spec = find_spec(name)
        if spec is None or spec.loader is None or not spec.submodule_search_locations:
            return  # not installed, or no package any more: then the import below says so, or works
        package = module_from_spec(spec)
        package.__class__ = Unopened
        sys.modules[name] = package


def open_packages() -> None:
    """Run the code of all unopened packages, as a plain import of TransformerLens does."""
    with _LOCK:
        for name in UNOPENED:
            package = sys.modules.get(name)
            if isinstance(package, Unopened):
                _open(package)


def _open(package: ModuleType) -> None:
    package.__class__ = ModuleType
    inside = package.__name__ + "."
    for name, module in list(sys.modules.items()):
        if name.startswith(inside) and "." not in name.removeprefix(inside):
            setattr(package, name.removeprefix(inside), module)
    spec = package.__spec__
    assert spec is not None
    assert spec.loader is not None
    try:
        spec.loader.exec_module(package)
    except BaseException:
        sys.modules.pop(package.__name__, None)  # as after a plain import that failed
        raise


place_unopened()

from transformer_lens.ActivationCache import ActivationCache  # noqa: E402
from transformer_lens.FactoredMatrix import FactoredMatrix  # noqa: E402
from transformer_lens.hook_points import HookPoint  # noqa: E402
from transformer_lens.HookedRootModule import HookedRootModule  # noqa: E402
from transformer_lens.utilities.lm_utils import lm_cross_entropy_loss  # noqa: E402
from transformer_lens.utilities.matrix import composition_scores  # noqa: E402

__all__ = [
    "ActivationCache",
    "FactoredMatrix",
    "HookPoint",
    "HookedRootModule",
    "composition_scores",
    "lm_cross_entropy_loss",
]
