"""Which measurements a model can be given, and what is said of the others: rows, not failures."""

from __future__ import annotations

from typing import TYPE_CHECKING

from workbench.table.schema import Row, row

if TYPE_CHECKING:
    from workbench.measure.measurement import Measurement, Spec
    from workbench.models.base.architecture import Architecture
    from workbench.models.base.protocol import HookedModel
    from workbench.tasks.base import Task

INSTEAD = {
    "attention": "behaviour, dynamics and the probes need none, and circuits.effective_attention is about its scan",
    "scan": "circuits.hardmax is about its attention",
}
ANSWERS_ALONE = "behaviour"
"""The family of measurements that look at what a model answers, and at nothing in it."""
NOUNS = {"attention": "attention", "scan": "the scan of a state-space model"}


def lacking(measurement: Measurement, model: HookedModel, task: Task | None = None) -> str:
    """Why a model cannot be given a measurement, in one clause that says what fits it; "" where it can."""
    if why := (task is not None and misplaced(measurement, task)) or unmet(measurement.spec, model.cfg):
        return why
    if not model.hook_dict and measurement.name.partition(".")[0] != ANSWERS_ALONE:
        return (
            f"it reads activations or weights, and this {model.cfg.title} has no hooks; "
            "docs/your_own_model.md shows how to add them"
        )
    unknown = [name for name in measurement.hooks(model.cfg) if name not in model.hook_dict]
    return f"it reads {unknown[0]}, which this {model.cfg.title} does not have" if unknown else ""


def misplaced(measurement: Measurement, task: Task) -> str:
    """Why a measurement does not go with how models get to know a task; "" where it does."""
    if task.presented and measurement.presented == "no":
        return measurement.not_presented
    if measurement.presented == "only" and not task.presented:
        return "it is about models that are given a task in their prompt (lengthlens open); behaviour is about this one"
    return ""


def unmet(spec: Spec, cfg: Architecture) -> str:
    """Why models of this config lack what a measurement says it needs; "" where they have it."""
    has = "attention" if cfg.attention != "none" else "scan"
    if not spec.needs or spec.needs == has:
        return ""
    return f"it is about {NOUNS[spec.needs]}, and this {cfg.title} has none; {INSTEAD[spec.needs]}"


def not_applicable(spec: Spec, why: str) -> list[Row]:
    """One row per quantity and law."""
    return [
        row(quantity=quantity.name, law=law, status="not_applicable", note=why)
        for law in spec.laws or ("",)
        for quantity in spec.quantities
    ]
