"""The built-in measurements by name. A name can be tested without importing torch or the measurement's module."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from workbench.core.errors import quoted_value
from workbench.core.registry import entry_points
from workbench.core.suggest import near_names
from workbench.measure.settings import MeasurementError

BUILT_IN: Mapping[str, str] = {
    "behaviour": "workbench.measure.behaviour.measurement:Behaviour",
    "behaviour.in_context": "workbench.measure.in_context.measurement:InContext",
    "behaviour.asymmetry": "workbench.measure.in_context.neighbour_asymmetry:NeighbourAsymmetry",
    "bound": "workbench.measure.training_length_bound:TrainingLengthBound",
    "regularizer": "workbench.measure.regularizer_rows:InferenceRegularizer",
    "dynamics": "workbench.measure.gradient_alignment:Dynamics",
    "behaviour.copies": "workbench.measure.random_copies:Copies",
    "behaviour.invariance": "workbench.measure.behaviour.invariance:Invariance",
    "probes.conditional": "probes.conditional:ConditionalProbes",
    "probes.description_length": "probes.description_length.measurement:DescriptionLength",
    "probes.drift": "probes.codes.drift:Drift",
    "probes.erasure": "probes.erasure.measurement:Erasure",
    "probes.in_context": "probes.probes_in_context:InContextProbes",
    "probes.length_coupling": "probes.codes.length_coupling:LengthCoupling",
    "probes.position": "probes.position:Position",
    "probes.summary": "probes.summary:Summary",
    "circuits.ablation": "circuits.interventions.ablation:Ablation",
    "circuits.connections": "circuits.connections.measurement:Connections",
    "circuits.contributions": "circuits.heads.contributions:Contributions",
    "circuits.effective_attention": "circuits.effective_attention:EffectiveAttention",
    "circuits.function": "circuits.sensitivity:Function",
    "circuits.head_effect": "circuits.interventions.head_effect:HeadEffect",
    "circuits.hardmax": "circuits.hardmax.measurement:Hardmax",
    "circuits.heads": "circuits.heads.head_scores:Heads",
    "circuits.repeats": "circuits.heads.repeat_scores:Repeats",
    "circuits.in_context": "circuits.interventions.heads_in_context:HeadsInContext",
    "circuits.in_context_rows": "circuits.interchange.rows_in_context:RowsInContext",
    "circuits.interchange": "circuits.interchange.measurement:Interchange",
    "circuits.positional": "circuits.positional.measurement:Positional",
    "circuits.sparsity": "circuits.sparsity.measurement:Sparsity",
    "circuits.swaps": "circuits.interventions.attention_swaps:Swaps",
    "diagnosis": "workbench.diagnosis.measurement:Diagnosis",
}
"""Name -> address of the class, in the order in which measurements are listed."""
FEW = 4
"""Number of example names in the error for an unknown name that is near to no measurement."""
GROUP = "lengthlens.measurements"
"""Entry-point group under which other packages announce measurements: ``name = "package.module:Class"``."""


def refuse_unknown(names: Sequence[str]) -> None:
    """Refuse names and families (``probes.``) that no built-in measurement has.

    Nothing is refused if other packages announce measurements: their names are known only after import.

    Raises:
        MeasurementError: naming the first unknown name, with near names.
    """
    if entry_points(GROUP):  # their names are known once they are imported
        return
    for name in names:
        if name not in BUILT_IN and not (name.endswith(".") and any(known.startswith(name) for known in BUILT_IN)):
            raise unknown_measurement(name, BUILT_IN)


def unknown_measurement(name: object, known: Mapping[str, object], more: str = "") -> MeasurementError:
    """Return the error for an unknown measurement name, with near names or a few examples.

    Args:
        name: the unknown name.
        known: the measurements by name.
        more: further text at the end of the message.
    """
    near = near_names(name, known)
    few = f"; there are {', '.join(list(known)[:FEW])} and {len(known) - FEW} more" if not near else ""
    return MeasurementError(f"unknown measurement {quoted_value(name)}{few}{more}", near)
