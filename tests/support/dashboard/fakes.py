"""A made-up data root for developing and testing the dashboard: invented numbers, real formats.

``python -m tests.support.dashboard.fakes FOLDER`` writes it.
"""

from __future__ import annotations

import io
import json
import math
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from tests.support.dashboard.fake_specs import SPECS, N
from workbench.storage.atomic import replacing
from workbench.storage.seal import sealed_json
from workbench.table.schema import Row, row
from workbench.table.shards import compact, shard_path, write_shard

STEPS = (0, 10, 20, 50, 100, 200, 300, 500, 700, 1000, 1500, 2000, 2500, 3000)
LENGTHS = (5, 8, 13, 25, 50, 64, 100, 150, 200, 300, 400)
LAYERS, HEADS, TRAINED = 2, 4, 50
SHA256 = "0" * 64


@dataclass(frozen=True)
class Fake:
    """One made-up run: how well it does at each step and length, and what it carries."""

    name: str
    task: str
    question: str
    positions: str
    accuracy: Callable[[int, int], float]
    carries: str
    verdict: Callable[[int], str]
    disperses: bool = False


def rise(step: int, at: float, sharp: float = 3.0) -> float:
    """0 to 1 over training, half way at step ``at``."""
    return 1 / (1 + math.exp(-sharp * (math.log2(1 + step) - math.log2(1 + at))))


def robust(step: int, length: int) -> float:
    return 0.5 + 0.5 * rise(step, 120 * (length / 50) ** 0.3)


def coupled(step: int, length: int) -> float:
    late = rise(step, 500 * max(1.0, (length / 50) ** 0.5))
    past = 1.0 if length <= TRAINED else max(0.0, 1 - (math.log2(length / TRAINED) / 0.8) ** 2)
    return 0.5 + 0.49 * late * past


def unfitted(step: int, length: int) -> float:
    return 0.52 + 0.04 * rise(step, 800) * (length < 60)


def undecided(step: int, length: int) -> float:
    return 0.5 + 0.5 * rise(step, 150) * (0.985 if length <= 100 else 0.945)


def becomes(verdict: str, fitted: int, settled: int, meanwhile: str = "length-coupled") -> Callable[[int], str]:
    def verdict_at(step: int) -> str:
        return "not fitted" if step < fitted else (meanwhile if step < settled else verdict)

    return verdict_at


MAJORITY = "Are there more 1s than 0s?"
FAKES = (
    Fake("majority-nope-s0", "majority", MAJORITY, "none", robust, "summary", becomes("scale-robust", 300, 500)),
    Fake(
        "majority-nope-s1",
        "majority",
        MAJORITY,
        "none",
        undecided,
        "summary",
        becomes("undecided", 500, 500),
        True,
    ),
    Fake(
        "flip_flop-rotary-s0",
        "flip_flop",
        "Which value was written last?",
        "rotary",
        coupled,
        "position",
        becomes("length-coupled", 1500, 1500),
        True,
    ),
    Fake(
        "parity-nope-s0",
        "parity",
        "Is the number of 1s even?",
        "none",
        unfitted,
        "neither",
        becomes("not fitted", 10**9, 10**9),
        True,
    ),
)
UNMEASURED = Fake(
    "majority-learned-s0", "majority", MAJORITY, "learned", robust, "position", becomes("undecided", 0, 0)
)


def build(
    root: Path,
    fakes: tuple[Fake, ...] = FAKES,
    unmeasured: bool = True,
    steps: tuple[int, ...] = STEPS,
) -> Path:
    """Write the data root; returns it."""
    for fake in fakes:
        path = write_run(root, fake, steps)
        write_rows(path, all_rows(fake, steps))
    if unmeasured:
        write_run(root, UNMEASURED, steps)
    return root


def write_rows(path: Path, rows: Iterable[Row], versions: Mapping[str, int] | None = None) -> None:
    """Rows as the shards a measuring run leaves, compacted; ``versions`` of measurements that are not the first."""
    parts: dict[tuple[str, int], list[Row]] = {}
    for one in rows:
        parts.setdefault((one["measurement"], one["step"]), []).append(one)
    for (measurement, step), part in parts.items():
        version = (versions or {}).get(measurement, 1)
        metadata = {"spec": json.dumps(SPECS[measurement] | {"version": version}), "key": "made", "sha256": SHA256}
        write_shard(shard_path(path, measurement, step, "made"), part, metadata)
    compact(path)


def write_run(root: Path, fake: Fake, steps: tuple[int, ...] = STEPS) -> Path:
    """The run folder without rows: configuration and dummy checkpoints."""
    path = root / fake.name
    config = {
        "format": 1,
        "id": f"{abs(hash_text(fake.name)):08x}",
        "task": {"name": fake.task, "parameters": {}},
        "facts": {"question": fake.question, "kind": "state", "summary": "made up"},
        "model": {
            "d_vocab": 3,
            "n_layers": LAYERS,
            "d_model": 64,
            "n_heads": HEADS,
            "n_ctx": 512,
            "positions": {"name": fake.positions},
            "ids": {"name": "arange"},
        },
        "training": {
            "steps": STEPS[-1],
            "batch_size": 64,
            "learning_rate": 1e-3,
            "trained_length": TRAINED,
            "curriculum": {"law": "uniform", "low": 1, "high": TRAINED},
        },
        "seeds": {"init": 0, "data": 0, "evaluation": 0, "probe": 0},
        "versions": {"lengthlens": "0.1.0"},
        "created": "2026-11-20T12:00:00+00:00",
    }
    path.mkdir(parents=True, exist_ok=True)
    put(path / "run.json", sealed_json(config, indent=1))
    for step in steps:
        folder = path / "steps" / f"{step:08d}"
        folder.mkdir(parents=True, exist_ok=True)
        put(folder / "model.safetensors", b"made up")
        log = io.BytesIO()
        pq.write_table(pa.Table.from_pylist([log_line(fake, step)]), log)
        put(folder / "log.parquet", log.getvalue())
        put(folder / "meta.json", sealed_json({"step": step, "sha256": SHA256, "trained_ids": None}))
    return path


def put(path: Path, data: bytes) -> None:
    """A file as training leaves it: whole at once, and never written again. A dashboard may be reading meanwhile."""
    if not path.exists() or path.read_bytes() != data:
        with replacing(path.parent, path.name) as file:
            file.write(data)


def log_line(fake: Fake, step: int) -> dict[str, Any]:
    """What training logs at a step."""
    inside, outside = fake.accuracy(step, TRAINED), fake.accuracy(step, 2 * TRAINED)
    return {"step": step, "loss": 1.4 * (1 - inside) + 0.01, "lr": 1e-3, "accuracy_in": inside, "accuracy_out": outside}


def go_on_training(path: Path, fake: Fake, steps: Iterable[int]) -> None:
    """The live tail of a run that is being trained: its lines so far."""
    lines = [sealed_json({**log_line(fake, step), "time": 0.0}) for step in steps]
    put(path / "live.jsonl", b"".join(lines))


def hash_text(text: str) -> int:
    """A stable small hash (Python's own changes with every process)."""
    return sum((i + 1) * ord(c) * 2654435761 for i, c in enumerate(text)) % 2**32


def all_rows(fake: Fake, steps: tuple[int, ...]) -> Iterator[Row]:
    rng = np.random.default_rng(hash_text(fake.name))
    for step in steps:
        for made in (behaviour, summary, position, hardmax):
            yield from made(fake, step, rng)


def _row(fake: Fake, step: int, measurement: str, value: float | None, width: float = 0.0, **fields: Any) -> Row:
    low = None if value is None or not width else value - width
    high = None if value is None or not width else value + width
    return row(
        run=fake.name,
        step=step,
        measurement=measurement,
        value=value,
        **{"low": low, "high": high, "n": N, **fields},
    )


def behaviour(fake: Fake, step: int, rng: np.random.Generator) -> Iterator[Row]:
    common: dict[str, Any] = {"mode": "teacher_forced"}
    for law in ("matched", "challenge"):
        skills = {}
        for length in LENGTHS:
            p = min(
                1.0,
                max(0.0, fake.accuracy(step, length) - 0.01 * (law == "challenge") + rng.normal(0, 0.006)),
            )
            if p > 0.985:
                p = 1.0
            width = 1.96 * math.sqrt(max(p * (1 - p), 1e-4) / N)
            at = {**common, "law": law, "length": length}
            low, high = max(0.0, p - width), min(1.0, p + width)
            skills[length] = (2 * p - 1, 2 * low - 1, 2 * high - 1)
            yield _row(fake, step, "behaviour", p, quantity="accuracy", **{**at, "low": low, "high": high})
            yield _row(
                fake,
                step,
                "behaviour",
                2 * p - 1,
                quantity="skill",
                **{**at, "low": 2 * low - 1, "high": 2 * high - 1},
            )
            yield _row(fake, step, "behaviour", 0.5, quantity="chance", **at)
            yield _row(fake, step, "behaviour", 1.4 * (1 - p) + 0.01, 0.01, quantity="loss", **at)
        inside = np.mean([skills[n][0] for n in LENGTHS if n <= TRAINED])
        outside = [n for n in LENGTHS if n > TRAINED]
        failed = next(
            (a for a, b in pairwise(outside) if skills[a][2] < 0.9 * inside and skills[b][2] < 0.9 * inside),
            None,
        )
        if inside < 0.5:
            yield _row(
                fake,
                step,
                "behaviour",
                None,
                quantity="failure_length",
                law=law,
                mode="teacher_forced",
                status="undefined",
                note="not fitted",
            )
        elif failed is None:
            yield _row(
                fake,
                step,
                "behaviour",
                None,
                quantity="failure_length",
                law=law,
                mode="teacher_forced",
                status="censored",
                low=float(LENGTHS[-1]),
                note="beyond the longest length tested",
            )
        else:
            before = LENGTHS[LENGTHS.index(failed) - 1]
            yield _row(
                fake,
                step,
                "behaviour",
                float(failed),
                quantity="failure_length",
                law=law,
                mode="teacher_forced",
                low=float(before),
                high=float(failed),
            )
    verdict = fake.verdict(step)
    note = {
        "not fitted": "skill at trained lengths has a lower limit below 0.95",
        "scale-robust": "skill stays above 0.9 up to 400 on both laws",
        "length-coupled": "skill leaves 0.9 of its trained value",
        "undecided": "an interval crosses the threshold",
    }[verdict]
    yield _row(
        fake,
        step,
        "behaviour",
        None,
        quantity="verdict",
        label=verdict,
        length=LENGTHS[-1],
        note=note,
        mode="teacher_forced",
    )


def code(fake: Fake, concept: str, step: int, length: int, layer: int) -> float:
    """How well a concept is decodable: what the run carries rises with depth and training."""
    depth = (0.25, 0.6, 1.0)[layer + 1]
    strong = fake.carries == concept
    if concept == "summary":
        past = 1.0 if strong or length <= TRAINED else max(0.1, 1 - math.log2(length / TRAINED))
        return 0.5 + 0.48 * depth * rise(step, 200) * past * (1.0 if strong else 0.75)
    if strong:
        return 0.55 + 0.4 * depth * rise(step, 400)
    return 0.4 - 0.33 * depth * rise(step, 300) * min(1.0, length / 100)


def summary(fake: Fake, step: int, rng: np.random.Generator) -> Iterator[Row]:
    for layer in range(-1, LAYERS):
        for length in LENGTHS:
            best = code(fake, "summary", step, length, layer)
            refit = min(1.0, best + 0.03)
            modes = {"transfer": best, "recalibrated": best + 0.01, "refit": refit}
            controls = {"shuffled_labels": 0.5, "untrained": 0.6, "token_only": 0.56}
            at = _probed(length, layer, "output_summary")
            yield from _probe_rows(fake, step, "summary", modes, 0.015, controls, at, rng)
            yield _row(fake, step, "probes.summary", refit - 0.6, 0.02, quantity="selectivity", mode="refit", **at)


def position(fake: Fake, step: int, rng: np.random.Generator) -> Iterator[Row]:
    for layer in range(-1, LAYERS):
        for length in LENGTHS:
            for target in ("log_i", "i"):
                best = code(fake, "position", step, length, layer) - 0.03 * (target == "i")
                modes = {"transfer": best, "recalibrated": best + 0.03, "refit": best + 0.08}
                controls = {"shuffled_labels": 0.0, "untrained": 0.18, "token_only": 0.02}
                at = _probed(length, layer, target)
                yield from _probe_rows(fake, step, "position", modes, 0.02, controls, at, rng)


def _probed(length: int, layer: int, target: str) -> dict[str, Any]:
    """Where a probe reads: after a block, -1 = before the first."""
    site = "blocks.0.hook_resid_pre" if layer < 0 else f"blocks.{layer}.hook_resid_post"
    return {"law": "matched", "length": length, "layer": layer, "site": site, "target": target}


def _probe_rows(
    fake: Fake,
    step: int,
    concept: str,
    modes: Mapping[str, float],
    width: float,
    controls: Mapping[str, float],
    at: Mapping[str, Any],
    rng: np.random.Generator,
) -> Iterator[Row]:
    """Decodability of a concept in each mode, and its controls."""
    name, quantity = f"probes.{concept}", f"{concept}_decodability"
    for mode, value in modes.items():
        value = min(1.0, value + rng.normal(0, 0.008))
        yield _row(fake, step, name, value, width, quantity=quantity, mode=mode, **at)
    for control, base in controls.items():
        value = base + rng.normal(0, 0.006)
        yield _row(fake, step, name, value, 0.015, mode="refit", quantity=quantity, control=control, **at)


def hardmax(fake: Fake, step: int, rng: np.random.Generator) -> Iterator[Row]:
    start = np.random.default_rng(hash_text(fake.name)).uniform(0.1, 0.8, (LAYERS, HEADS))
    for layer in range(LAYERS):
        for head in range(HEADS):
            for length in LENGTHS:
                end = start[layer, head]
                value = 0.9 + (end - 0.9) * rise(step, 250, 1.5)
                if fake.disperses and length > TRAINED:
                    value += (1 - value) * 0.25 * math.log2(length / TRAINED)
                value = float(np.clip(value + rng.normal(0, 0.008), 0, 1))
                at: dict[str, Any] = {"law": "matched", "length": length, "layer": layer, "head": head}
                yield _row(fake, step, "circuits.hardmax", value, 0.012, quantity="hardmax_distance", **at)
                yield _row(fake, step, "circuits.hardmax", 1 - 0.8 * value, 0.012, quantity="argmax_mass", **at)
                yield _row(fake, step, "circuits.hardmax", 3 * (1 - value), 0.1, quantity="margin", **at)
            label = "hardmax" if start[layer, head] < 0.2 and step >= 700 else "soft"
            yield _row(
                fake,
                step,
                "circuits.hardmax",
                None,
                quantity="hardmax_verdict",
                label=label,
                law="matched",
                layer=layer,
                head=head,
            )
            yield _row(
                fake,
                step,
                "circuits.hardmax",
                None,
                quantity="hardmax_kind",
                label="growing",
                law="matched",
                layer=layer,
                head=head,
            )


if __name__ == "__main__":
    print(build(Path(sys.argv[1])))
