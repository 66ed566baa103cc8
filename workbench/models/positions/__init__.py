"""The two independent choices about position: how a model reads position ids, and which ids it is given.

An *encoding* is part of the architecture. Each one is a class in a file of its own, listed in
:mod:`workbench.models.positions.registry`, that contains all of its behaviour
(:class:`~workbench.models.positions.encoding.Encoding`). An *id sampler*
(:mod:`workbench.models.positions.id_samplers`) defines which ids training and evaluation use. Both are frozen configs
in a registry, so that a run states them by name.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from workbench.core.lazy import face

if TYPE_CHECKING:
    from workbench.models.errors import PositionError
    from workbench.models.positions.alibi import Alibi
    from workbench.models.positions.encoding import Encoding
    from workbench.models.positions.id_samplers import (
        Arange,
        Coupled,
        IdSampler,
        Pose,
        Predicted,
        RandomOffset,
        RandomSubset,
    )
    from workbench.models.positions.learned import Learned
    from workbench.models.positions.limit import Limit
    from workbench.models.positions.none import NoPositions
    from workbench.models.positions.registry import ENCODINGS, ID_SAMPLERS, id_sampler, make_encoding
    from workbench.models.positions.relative import Relative
    from workbench.models.positions.rotary import Rotary
    from workbench.models.positions.sinusoidal import Sinusoidal

__all__ = [
    "ENCODINGS",
    "ID_SAMPLERS",
    "Alibi",
    "Arange",
    "Coupled",
    "Encoding",
    "IdSampler",
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
    "id_sampler",
    "make_encoding",
]

__getattr__, __dir__ = face(
    __name__,
    {
        "Alibi": "alibi",
        "Arange": "id_samplers",
        "Coupled": "id_samplers",
        "ENCODINGS": "registry",
        "Encoding": "encoding",
        "ID_SAMPLERS": "registry",
        "IdSampler": "id_samplers",
        "Learned": "learned",
        "Limit": "limit",
        "NoPositions": "none",
        "Pose": "id_samplers",
        "PositionError": "id_samplers",
        "Predicted": "id_samplers",
        "RandomOffset": "id_samplers",
        "RandomSubset": "id_samplers",
        "Relative": "relative",
        "Rotary": "rotary",
        "Sinusoidal": "sinusoidal",
        "id_sampler": "registry",
        "make_encoding": "registry",
    },
)
