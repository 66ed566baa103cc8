"""Rows of two invented runs whose story is known: one scale-robust, one length-coupled."""

from __future__ import annotations

import math
from typing import Any

import pandas as pd

from workbench.table.schema import FIELDS, row

STEPS = (0, 1, 2, 5, 10, 20, 50, 100, 200, 400, 700, 1000, 2000, 3000)
LENGTHS = (5, 10, 16, 25, 50, 100, 200, 400, 512, 1024)
TRAINED = 50
LAYERS, HEADS = 2, 4
N = 512


def _between(value: float, half: float = 0.02) -> dict[str, float]:
    return {"value": value, "low": max(0.0, value - half), "high": min(1.0, value + half)}


def _learned(step: int, middle: float) -> float:
    """How far training has come, 0 to 1."""
    return 1 / (1 + math.exp(-2.2 * (math.log2(1 + step) - math.log2(1 + middle))))


class Story:
    """One run: accuracy, decodability and hardmax distance as functions of step and length."""

    def __init__(self, run: str, robust: bool) -> None:
        self.run, self.robust = run, robust
        self.middle = 60.0 if robust else 400.0

    def kept(self, length: int) -> float:
        """Share of the skill that survives at a length."""
        return 1.0 if self.robust or length <= TRAINED else 0.08 * TRAINED / length

    def accuracy(self, step: int, length: int, law: str) -> float:
        wave = 0.01 * math.sin(length + step)
        penalty = 0.02 if law == "challenge" else 0.0
        return min(1.0, max(0.0, 0.5 + 0.5 * _learned(step, self.middle) * self.kept(length) + wave - penalty))

    def summary(self, step: int, length: int, layer: int) -> float:
        depth = (layer + 2) / (LAYERS + 1)
        return 0.12 + 0.85 * depth * _learned(step, self.middle) * self.kept(length)

    def position(self, step: int, length: int, layer: int) -> float:
        grown = _learned(step, self.middle)
        return 0.4 - 0.33 * grown if self.robust else 0.55 + 0.38 * grown - 0.0001 * length

    def hardmax(self, step: int, length: int, layer: int, head: int) -> float:
        start = 0.9 - 0.06 * head - 0.03 * layer
        target = 0.08 if (layer, head) == (0, 0) else 0.15 + 0.09 * (head + layer)
        grown = _learned(step, self.middle)
        drift = 0.0 if self.robust else 0.06 * max(0.0, math.log2(length / TRAINED))
        return min(0.99, start + (target - start) * grown + drift * grown)

    def verdict(self, step: int) -> str:
        if self.accuracy(step, TRAINED, "matched") < 0.96:
            return "not fitted"
        return "scale-robust" if self.robust else "length-coupled"

    def rows(self) -> list[dict[str, Any]]:
        made: list[dict[str, Any]] = []
        for step in STEPS:
            made += self._behaviour(step) + self._probes(step) + self._hardmax(step)
        return [r | {"run": self.run} for r in made]

    def _behaviour(self, step: int) -> list[dict[str, Any]]:
        made = []

        def add(**fields: Any) -> None:
            made.append(row(measurement="behaviour", mode="teacher_forced", step=step, **fields))

        for law in ("matched", "challenge"):
            for n in LENGTHS:
                value = self.accuracy(step, n, law)
                skill = (value - 0.5) / 0.5
                add(quantity="accuracy", law=law, length=n, n=N, **_between(value))
                add(quantity="chance", law=law, length=n, value=0.5)
                add(quantity="skill", law=law, length=n, n=N, value=skill, low=skill - 0.02, high=skill + 0.02)
            if self.verdict(step) == "length-coupled":
                add(quantity="failure_length", law=law, value=100.0, low=50.0, high=100.0, n=N)
            elif self.verdict(step) == "scale-robust":
                add(quantity="failure_length", law=law, low=1024.0, status="censored", n=N)
            else:
                add(quantity="failure_length", law=law, status="undefined", note="not fitted")
        add(quantity="verdict", label=self.verdict(step), length=1024)
        return made

    def _probes(self, step: int) -> list[dict[str, Any]]:
        made = []
        for layer in range(-1, LAYERS):
            for n in LENGTHS:
                for concept, value in (("summary", self.summary), ("position", self.position)):
                    common = {
                        "measurement": f"probes.{concept}",
                        "quantity": f"{concept}_decodability",
                        "target": "output_summary" if concept == "summary" else "log_i",
                        "law": "matched",
                        "step": step,
                        "layer": layer,
                        "length": n,
                        "n": N,
                    }
                    transfer = value(step, n, layer)
                    refit = min(1.0, transfer + (0.02 if n <= TRAINED else 0.25 * (1 - self.kept(n)) + 0.03))
                    made.append(row(**common, mode="transfer", **_between(transfer)))
                    made.append(row(**common, mode="refit", **_between(refit)))
                    for control, level in (
                        ("shuffled_labels", 0.05),
                        ("untrained", 0.15),
                        ("token_only", 0.11),
                    ):
                        made.append(row(**common, mode="refit", control=control, **_between(level, 0.01)))
        return made

    def _hardmax(self, step: int) -> list[dict[str, Any]]:
        made = []
        for layer in range(LAYERS):
            for head in range(HEADS):
                for n in LENGTHS:
                    common = {
                        "measurement": "circuits.hardmax",
                        "law": "matched",
                        "step": step,
                        "layer": layer,
                        "head": head,
                        "length": n,
                        "n": 128,
                    }
                    d = self.hardmax(step, n, layer, head)
                    made.append(row(**common, quantity="hardmax_distance", **_between(d, 0.03)))
                    made.append(row(**common, quantity="effective_support", value=1.0 + d * n))
                    made.append(row(**common, quantity="critical_length", value=60.0 * 2 ** (head + layer)))
        return made


def frame_of(rows: list[dict[str, Any]]) -> pd.DataFrame:
    """Rows as the frame that the table hands out: every column of the schema, numbers as numbers."""
    frame = pd.DataFrame(rows, columns=list(FIELDS))
    for column in ("length", "position", "layer", "head", "n"):
        frame[column] = frame[column].astype("Float64").astype("float64")
    for column in ("value", "low", "high"):
        frame[column] = frame[column].astype("float64")
    return frame


def story_frame() -> pd.DataFrame:
    """Both runs: ``robust`` and ``coupled``."""
    return frame_of(Story("robust", True).rows() + Story("coupled", False).rows())
