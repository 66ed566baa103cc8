"""One sequence through one head, made by hand."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from workbench.measure.edits.reading import Answer, ConceptReading, Pass, ProbeReading, SequenceReading


def a_pass(outputs: Any, correct: list[bool | None] | None = None, pattern: Any = None, **others: Any) -> Pass:
    """A pass with outputs ``[pos, out]``, right everywhere unless told otherwise."""
    values = np.asarray(outputs, dtype=np.float32)
    cells = None if pattern is None else np.asarray(pattern, dtype=np.float32)
    return Pass(values, [True] * len(values) if correct is None else correct, cells, **others)


def uniform(count: int) -> np.ndarray:
    """Attention that is the same at every key seen."""
    weights = np.tril(np.ones((count, count))) / np.arange(1, count + 1)[:, None]
    return np.where(np.tril(np.ones((count, count), bool)), weights, np.nan)


def a_sequence(count: int, classes: int = 2, **changes: Any) -> SequenceReading:
    """A sequence of ``count`` positions without BOS that asks everywhere, and answers class 0."""
    outputs = np.tile(np.linspace(1.0, 0.5, classes), (count, 1))
    pattern = uniform(count)
    row, top = pattern[count - 1].astype(np.float32), np.zeros(count, np.float32)
    oracle: list[Answer] = [i % classes for i in range(count)]
    made = SequenceReading(
        clean=a_pass(outputs, None, pattern, scores=pattern.astype(np.float32), row_top=top, row=row),
        edited=None,
        tokens=[str(i % 2) for i in range(count)],
        text="01" * count,
        bos=False,
        length=count,
        oracle=oracle,
        outputs_names=[f"c{i}" for i in range(classes)],
        asked=[True] * count,
        query=count - 1,
        queries=(0, count),
        keys=(0, count),
        pool=1,
        trained=count,
        step=10,
        layer=1,
        head=2,
        edits="",
    )
    return replace(made, **changes)


def a_reading(
    true: Any, clean: Any, classes: list[str] | None = None, edited: Any = None, rmse: float = 0.5
) -> ProbeReading:
    """A probe at one site, of both concepts, asked everywhere."""
    passes = [None if one is None else np.asarray([one], dtype=float) for one in (clean, edited)]
    told = ConceptReading(np.asarray(true, dtype=float), passes[0], passes[1], [rmse], 64, "", classes, "c")
    count = len(told.true)
    return ProbeReading([0], list(range(1, count + 1)), [True] * count, told, told)
