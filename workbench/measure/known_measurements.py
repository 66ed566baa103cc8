"""The measurements by name. No torch: a name is known before its file is read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from workbench.core.errors import shown
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
"""Name -> where its class is; in the order in which they are shown."""
FEW = 4
"""Names that are told where none is near."""
GROUP = "lengthlens.measurements"
"""Entry-point group under which other packages announce measurements: ``name = "package.module:Class"``."""


def refuse_unknown(names: Sequence[str]) -> None:
    """Refuse names and families (``probes.``) that are none of ours, where no other package announces any.

    Raises:
        MeasurementError: naming the first, with near names.
    """
    if entry_points(GROUP):  # their names are known once they are imported
        return
    for name in names:
        if name not in BUILT_IN and not (name.endswith(".") and any(known.startswith(name) for known in BUILT_IN)):
            raise unknown(name, BUILT_IN)


def unknown(name: object, known: Mapping[str, object], more: str = "") -> MeasurementError:
    """The error for a name that no measurement has: what it is near, or a few of those there are.

    Args:
        name: what was given.
        known: the measurements by name.
        more: what else is to be said.
    """
    near = near_names(name, known)
    few = f"; there are {', '.join(list(known)[:FEW])} and {len(known) - FEW} more" if not near else ""
    return MeasurementError(f"unknown measurement {shown(name)}{few}{more}", near)
