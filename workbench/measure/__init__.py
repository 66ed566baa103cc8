"""Measurements, and the function that runs one on a model in memory. Modules are imported on first use."""

from __future__ import annotations

from typing import TYPE_CHECKING

from workbench.core.lazy import face

if TYPE_CHECKING:
    from workbench.measure.measurement import Measurement, Quantity
    from workbench.measure.model_study import run
    from workbench.measure.registry import make_measurement, measurements
    from workbench.measure.result import Result

__all__ = ["Measurement", "Quantity", "Result", "make_measurement", "measurements", "run"]

__getattr__, __dir__ = face(
    __name__,
    {
        "Measurement": "measurement",
        "Quantity": "measurement",
        "Result": "result",
        "make_measurement": "registry",
        "measurements": "registry",
        "run": "model_study",
    },
)
