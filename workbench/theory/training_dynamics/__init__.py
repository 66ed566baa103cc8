"""Training dynamics with exact solutions: two small models that show when training makes an answer depend on length."""

from __future__ import annotations

from workbench.theory.training_dynamics.gated_counter import (
    adam_gate_rate,
    decayed_gate_gap,
    error_at_multiple,
    error_of_scaled_gap,
    gate_gap,
    horizon_after_training,
    horizon_of_gap,
    horizon_of_gated_counter,
    loss_slope,
    mean_gap_weight,
    relative_error,
    scaled_gap_of_error,
    time_to_gap,
)
from workbench.theory.training_dynamics.shared_gain import (
    OPTIMIZERS,
    SharedGainOptimizer,
    coupling_from_gradient_cosine,
    coupling_of_shared_gain,
    critical_lengths,
    gradient_cosine,
)

__all__ = [
    "OPTIMIZERS",
    "SharedGainOptimizer",
    "adam_gate_rate",
    "coupling_from_gradient_cosine",
    "coupling_of_shared_gain",
    "critical_lengths",
    "decayed_gate_gap",
    "error_at_multiple",
    "error_of_scaled_gap",
    "gate_gap",
    "gradient_cosine",
    "horizon_after_training",
    "horizon_of_gap",
    "horizon_of_gated_counter",
    "loss_slope",
    "mean_gap_weight",
    "relative_error",
    "scaled_gap_of_error",
    "time_to_gap",
]
