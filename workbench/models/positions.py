"""The two independent choices about position: how a model reads ids, and which ids it is given.

*Encodings* (:mod:`workbench.models.encodings`) are part of the architecture. *Id laws*
(:mod:`workbench.models.id_laws`) say which ids training sees and which ids evaluation uses. Both are frozen
configs in a registry, so that a run states them by name.
"""

from __future__ import annotations

from workbench.models.encodings import (
    ENCODINGS,
    Alibi,
    Encoding,
    Learned,
    Limit,
    NoPositions,
    Rotary,
    Sinusoidal,
    encoding,
)
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
from workbench.models.schemes import PositionError

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
    "Rotary",
    "Sinusoidal",
    "encoding",
    "id_law",
]
