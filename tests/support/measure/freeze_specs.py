"""What stored rows are found by: each measurement's name, version, settings and shard key, frozen.

``python -m tests.support.measure.freeze_specs`` writes ``frozen_specs.json`` anew. Do that only together
with a version that was raised, with a measurement or quantity that was added, or where a definition only got clearer
words. Then no ``key`` may change: whatever else changes there makes stored rows stale.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

from tests.support.held import short_lines
from workbench.core.canonical import canonical
from workbench.measure.measurement import Grid, Measurement, Spec
from workbench.measure.registry import make_measurement, measurements
from workbench.measure.running.engine import shard_key

FILE = Path(__file__).with_name("frozen_specs.json")
GRID = Grid(50, (12, 25, 50, 100, 200, 400), (12, 25, 50), (100, 200, 400))
OTHERWISE: dict[str, dict[str, Any]] = {
    "behaviour": {"looks": [64, 256], "fitted": 0.9, "resamples": 50},
    "behaviour.invariance": {"offsets": [1, 3], "offset_factors": [1], "filler_factors": [2.5]},
    "bound": {"epsilon": 0.2, "prior": 1.0, "reading": "outside"},
    "regularizer": {"bits": 16},
    "dynamics": {"batches": 8},
    "probes.summary": {"layers": [-1, 0], "law": "challenge"},
    "probes.position": {"layers": [1], "queries": "all", "seed": 3},
    "probes.conditional": {"positions": 4, "layers": [0]},
    "probes.length_coupling": {"law": "matched", "resamples": 300},
    "probes.drift": {"layers": [0]},
    "probes.description_length": {"factors": [1, 2]},
    "probes.erasure": {"factors": [1, 8], "layers": [0]},
    "circuits.ablation": {"modes": ["zero"], "factors": [1], "matching": 1},
    "circuits.connections": {"factors": [1], "split": True, "most": 1000},
    "circuits.contributions": {"resamples": 10},
    "circuits.effective_attention": {"window": 8},
    "circuits.function": {"factors": [1, 2.5], "eps": 1},
    "circuits.hardmax": {"window": 8, "epsilon": 1, "delta": 2},
    "circuits.head_effect": {"factors": [1], "replicates": 5},
    "circuits.heads": {"definition": "before"},
    "circuits.interchange": {"factors": [2, 4.5], "suffix": 3},
    "circuits.positional": {"eps": 0.1},
    "circuits.sparsity": {"k": 2},
    "circuits.swaps": {"delta": 1, "factors": [2]},
    "diagnosis": {"factors": [8], "law": "challenge", "resamples": 100},
}
"""Settings as somebody may type them: whole numbers for real ones, other lists."""


def frozen(measurement: Measurement) -> dict[str, Any]:
    """What of a measurement must not change by itself."""
    spec = measurement.spec
    return {
        "name": spec.name,
        "version": spec.version,
        "title": spec.title,
        "settings": canonical(dict(spec.settings)),
        "laws": list(spec.laws),
        "sequences": spec.sequences,
        "needs": spec.needs,
        "deepens": spec.deepens,
        "quantities": quantities(spec),
        "key": shard_key(spec, GRID, spec.sequences, 7, "0" * 64, spec.deepens),
    }


def quantities(spec: Spec) -> dict[str, str]:
    """By quantity, in order, a hash of what a glossary says of it."""
    return {
        q.name: _hash([q.name, q.definition, q.unit, _number(q.low), _number(q.high), q.about]) for q in spec.quantities
    }


def _number(x: float | None) -> float | None:
    return None if x is None else float(x)


def _hash(of: Any) -> str:
    return hashlib.sha256(json.dumps(of).encode()).hexdigest()[:12]


def table() -> list[dict[str, Any]]:
    """Every measurement as it is, then with other settings where some stand here."""
    settings = {name: [{}, *([OTHERWISE[name]] if name in OTHERWISE else [])] for name in measurements()}
    return [frozen(make_measurement(name, given)) for name, each in settings.items() for given in each]


if __name__ == "__main__":
    FILE.write_text(short_lines(table()) + "\n")
