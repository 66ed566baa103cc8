"""The rows of every measurement with other settings than its own, and of other models: held, in double precision.

What a default hides shows here: both definitions, both readings, other windows, laws, multiples of N, queries, modes.
"""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.circuits.copying_in_context import LENGTHS, copying, model_by_hand
from tests.support.held import Held
from tests.support.measure.freeze_specs import OTHERWISE
from tests.support.measure.held_rows import held_rows
from workbench.diagnosis.bench.needle_models import NeedleNumbers, WrittenBit
from workbench.measure.model_study import run
from workbench.measure.registry import make_measurement, measurements
from workbench.measure.testing import TrialSubject
from workbench.tasks import make_task

SETTINGS: dict[str, list[dict[str, Any]]] = {
    **{name: [given] for name, given in OTHERWISE.items()},
    "behaviour": [{"looks": [16, 32, 48], "fitted": 0.6, "robust": 0.5, "strata": 8, "free_running": 3}],
    "behaviour.copies": [{"token_laws": ["observed", "unigram"]}],
    "behaviour.invariance": [{"offsets": [2, 3], "offset_factors": [0.5], "shift_factors": [2], "filler_factors": [2]}],
    "bound": [{"epsilon": 0.2, "prior": 1.0, "reading": "outside", "bits": 16.0}],
    "regularizer": [{"bits": 16}],
    "dynamics": [{"batches": 4}],
    "circuits.ablation": [{"modes": ["zero", "resample"], "factors": [2], "matching": 1, "previous": 0.5}],
    "circuits.connections": [{"factors": [2], "split": True, "most": 40}],
    "circuits.effective_attention": [{"window": 2, "epsilon": 0.3}],
    "circuits.function": [{"factors": [1, 2], "eps": 0.5, "strings": 5, "positions": 4, "repeats": 3}],
    "circuits.hardmax": [{"window": 3, "epsilon": 0.4, "delta": 2, "share": 0.6, "bits": 3}],
    "circuits.head_effect": [{"replicates": 2}],
    "circuits.heads": [{"definition": "before", "window": 3}],
    "circuits.repeats": [{"token_laws": ["observed", "passages"], "window": 3}],
    "circuits.in_context": [{"heads": 2, "sharpness": 4.0}],
    "circuits.in_context_rows": [{"layers_read": 2}],
    "circuits.interchange": [{"factors": [2], "suffix": 3}],
    "circuits.positional": [{"span": 5, "eps": 0.3}],
    "circuits.sparsity": [{"k": 2, "eps": 0.4, "longest": 12, "searched": 3}],
    "circuits.swaps": [{"delta": 1, "factors": [2]}],
    "probes.conditional": [{"positions": 3, "layers": [0], "queries": "all"}],
    "probes.description_length": [{"factors": [1, 2], "law": "challenge", "layers": [1]}],
    "probes.drift": [{"law": "challenge", "layers": [0]}],
    "probes.erasure": [{"factors": [1, 2], "layers": [0], "positions": 4}],
    "probes.in_context": [{"layers_read": 2, "items": 12, "window": 3}],
    "probes.length_coupling": [{"law": "matched"}],
    "probes.position": [{"positions": 3, "queries": "all", "seed": 3, "layers": [1]}],
    "probes.summary": [{"layers": [-1, 0], "law": "challenge"}],
    "diagnosis": [{"law": "challenge", "factors": [2]}],
}
FEW = {"resamples": 20, "replicates": 3}
ALONE = ("behaviour.in_context", "behaviour.asymmetry")
"""Nothing else can be set in these than the number of resamples."""


def subject(name: str) -> TrialSubject:
    """Another model, task and lengths than the kit tries."""
    if make_measurement(name).presented == "only":
        return TrialSubject(model_by_hand(), copying(), LENGTHS[-1], LENGTHS)
    if name == "diagnosis":
        return TrialSubject(NeedleNumbers(offset=-1.5, n_ctx=128).build(), WrittenBit(), 32, (16, 32, 64))
    if name == "bound":
        options = {"n_layers": 1, "positions": "none", "normalization_type": None, "log_scaling": "all"}
        return TrialSubject.of(make_task("parity"), **options)
    if make_measurement(name).spec.needs == "scan":
        return TrialSubject.of(make_task("flip_flop"), "ssm")
    task = make_task("kgram_retrieval", k=2, symbols=4) if name.startswith("circuits.") else make_task("flip_flop")
    made = TrialSubject.of(task, positions="rotary", log_scaling="learned", n_heads=4)
    return TrialSubject(made.model, task, 11, (6, 11, 22, 25), made.untrained)


def sequences(name: str) -> int:
    return {"diagnosis": 256, "behaviour": 16, "circuits.connections": 6, "probes.erasure": 120}.get(
        name, 40 if "probes" in name else 8
    )


def test_every_measurement_is_tried_with_other_settings() -> None:
    assert {*SETTINGS, *ALONE} == {*measurements()}
    for name, each in SETTINGS.items():
        for given in each:
            own = make_measurement(name).spec.settings
            assert given.items() <= make_measurement(name, given).spec.settings.items() or name in OTHERWISE
            assert all(own[setting] != value for setting, value in given.items()), (name, given)


@pytest.mark.parametrize("name", SETTINGS)
def test_rows_with_other_settings(name: str, held: Held) -> None:
    one, found = subject(name), []
    few = {n: most for n, most in FEW.items() if n in make_measurement(name).spec.settings}
    for given in SETTINGS[name]:
        untrained = None if one.untrained is None else one.untrained.double()
        made = make_measurement(name, {**few, **given})
        options: dict[str, Any] = {"trained": one.trained, "lengths": one.lengths_for(made), "untrained": untrained}
        rows = run(made, one.model.double(), one.task, sequences=sequences(name), seed=5, **options).rows
        found.append(held_rows(rows))
    held(found)
