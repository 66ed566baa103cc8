"""Which measurements apply to a model; the others become rows of status *not_applicable*, not failures."""

from __future__ import annotations

from typing import TYPE_CHECKING

from workbench.table.schema import Row, row

if TYPE_CHECKING:
    from workbench.measure.measurement import Measurement, Spec
    from workbench.models.base.architecture import Architecture
    from workbench.models.base.protocol import HookedModel
    from workbench.tasks.base import Task

WITHOUT = "behaviour, dynamics and the probes need none"
"""What to measure in a model without attention and scan."""
INSTEAD = {
    "attention": "circuits.hardmax is about its attention",
    "scan": "circuits.effective_attention is about its scan",
}
"""What a model's layers mix tokens by -> what to measure of it."""
ANSWERS_ALONE = "behaviour"
"""The family of measurements that read only a model's answers, not its activations."""
NOUNS = {"attention": "attention", "scan": "the scan of a state-space model"}


def lacking(measurement: Measurement, model: HookedModel, task: Task | None = None) -> str:
    """Return why a measurement does not apply to a model, in one clause that names alternatives; "" if it applies."""
    if why := (task is not None and why_not_applicable(measurement, task)) or unmet(measurement.spec, model.cfg):
        return why
    if not model.hook_dict and measurement.name.partition(".")[0] != ANSWERS_ALONE:
        return (
            f"it reads activations or weights, and this {model.cfg.title} has no hooks; "
            "docs/your_own_model.md shows how to add them"
        )
    unknown = [name for name in measurement.hooks(model.cfg) if name not in model.hook_dict]
    return f"it reads {unknown[0]}, which this {model.cfg.title} does not have" if unknown else ""


def why_not_applicable(measurement: Measurement, task: Task) -> str:
    """Return why a measurement does not apply to models that get, or do not get, the task in a prompt; else ""."""
    if task.presented and measurement.presented == "no":
        return measurement.not_presented
    if measurement.presented == "only" and not task.presented:
        return "it is about models that are given a task in their prompt (lengthlens open); behaviour is about this one"
    return ""


def unmet(spec: Spec, cfg: Architecture) -> str:
    """Return why models of this config lack a component that the measurement needs, in a clause; else ""."""
    if spec.needs in ("", cfg.mixes_by):
        return ""
    instead = [WITHOUT] if cfg.mixes_by != "attention" else []
    instead += [INSTEAD[cfg.mixes_by]] if cfg.mixes_by in INSTEAD else []
    return f"it is about {NOUNS[spec.needs]}, and this {cfg.title} has none; {', and '.join(instead)}"


def not_applicable(spec: Spec, why: str) -> list[Row]:
    """Return one row of status *not_applicable* per quantity and test set."""
    return [
        row(quantity=quantity.name, law=law, status="not_applicable", note=why)
        for law in spec.laws or ("",)
        for quantity in spec.quantities
    ]
