"""The two independent choices about position: how a model reads ids, and which ids it is given.

An *encoding* is part of the architecture: one class a file, listed in :mod:`workbench.models.positions.registry`, with
everything that it does (:class:`~workbench.models.positions.encoding.Encoding`). *Id laws*
(:mod:`workbench.models.id_laws`) say which ids training sees and which ids evaluation uses. Both are frozen configs in
a registry, so that a run states them by name.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from workbench.models.errors import PositionError
    from workbench.models.id_laws import (
        ID_LAWS,
        Arange,
        Coupled,
        IdLaw,
        Pose,
        Predicted,
        RandomOffset,
        RandomSubset,
        id_law,
    )
    from workbench.models.positions.alibi import Alibi
    from workbench.models.positions.encoding import Encoding
    from workbench.models.positions.learned import Learned
    from workbench.models.positions.limit import Limit
    from workbench.models.positions.none import NoPositions
    from workbench.models.positions.registry import ENCODINGS, make_encoding
    from workbench.models.positions.relative import Relative
    from workbench.models.positions.rotary import Rotary
    from workbench.models.positions.sinusoidal import Sinusoidal

__all__ = [
    "ENCODINGS",
    "ID_LAWS",
    "Alibi",
    "Arange",
    "Coupled",
    "Encoding",
    "IdLaw",
    "Learned",
    "Limit",
    "NoPositions",
    "Pose",
    "PositionError",
    "Predicted",
    "RandomOffset",
    "RandomSubset",
    "Relative",
    "Rotary",
    "Sinusoidal",
    "id_law",
    "make_encoding",
]

_HOME = {
    "ENCODINGS": "positions.registry",
    "Alibi": "positions.alibi",
    "Encoding": "positions.encoding",
    "Learned": "positions.learned",
    "Limit": "positions.limit",
    "NoPositions": "positions.none",
    "PositionError": "errors",
    "Relative": "positions.relative",
    "Rotary": "positions.rotary",
    "Sinusoidal": "positions.sinusoidal",
    "make_encoding": "positions.registry",
}
"""Where names live, but for those of id laws. Found when asked for: names of encodings are known without torch."""


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"workbench.models.{_HOME.get(name, 'id_laws')}"), name)
