"""Sequences of hard kinds (strata), drawn at N and at every tested length, and the model's answers to them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from workbench.measure.behaviour.accuracy_cells import Cell, judged_lengths
from workbench.measure.behaviour.followed_shortcuts import agreements, shortcut_hits
from workbench.measure.behaviour.hard_strata_verdict import Stratum
from workbench.measure.behaviour.listed_sequences import one_string
from workbench.measure.behaviour.observed import right_queries, string_hashes
from workbench.measure.measurement import Study
from workbench.tasks.random_generator import generator

if TYPE_CHECKING:
    from workbench.tasks.base import Batch


def strata_of(
    study: Study, laws: Sequence[str], unseen: frozenset[int], strings: int, names: Sequence[str]
) -> list[Stratum]:
    """Return every kind of hard inputs (*stratum*) on every test set, at trained lengths and at tested lengths whose
    ids were trained.

    Inside training, the length is N. If the task has no such sequence at N, it is the longest shorter length of the
    grid that has one.
    """
    grid = study.grid
    return [
        stratum(study, name, law, n, strings, names)
        for name in study.task.strata_names
        for law in laws
        for n in (_inside(study, name, law, strings), *judged_lengths(grid, law))
        if n not in unseen
    ]


def _inside(study: Study, name: str, law: str, strings: int) -> int:
    """Return the longest length inside training at which a stratum has sequences; N if it has none."""
    shorter = sorted((n for n in study.grid.inside if n < study.grid.trained), reverse=True)
    lengths = (study.grid.trained, *shorter)
    return next((n for n in lengths if _batch(study, name, law, n, strings) is not None), study.grid.trained)


def _batch(study: Study, name: str, law: str, length: int, strings: int) -> Batch | None:
    return study.memo(("stratum", name, law, length, strings), lambda: draw_stratum(study, name, law, length, strings))


def stratum(study: Study, name: str, law: str, length: int, strings: int, names: Sequence[str]) -> Stratum:
    """Return one kind of hard inputs (*stratum*) at one length; it has no sequences if they are too rare."""
    task = study.task
    floor = task.stratum_chance(name, law, length)
    batch = _batch(study, name, law, length, strings)
    if batch is None:
        return Stratum(name, Cell(law, length, 0, 0, floor, 0, note="too rare, or there is none"))
    answered = task.sequence_correct(right_queries(study, batch, study.answers(batch, names))[0], batch)
    if one_string(batch):
        note = "there is one such string"
        return Stratum(name, Cell(law, length, float(answered[0]), 1, floor, 1, counted=True, note=note))
    asked = batch.mask[:, batch.index(length)]
    distinct = len(string_hashes(batch, asked))
    right = answered[asked].numpy(force=True)
    cell = Cell(law, length, int(right.sum()), len(right), floor, distinct)
    if length <= study.grid.trained:
        return Stratum(name, cell)
    hits = study.memo(
        ("stratum shortcuts", name, law, length, strings), lambda: shortcut_hits(task, batch, study.grid.trained)
    )
    return Stratum(name, cell, tuple(agreements(hits, right)))


def draw_stratum(study: Study, name: str, law: str, length: int, strings: int) -> Batch | None:
    """Draw hard inputs of one kind (a *stratum*) with a seed of their own, so that all checkpoints of a run get the
    same sequences.
    """
    g = generator("stratum", study.seed, name, law, length)
    return study.task.sample_stratum(name, strings, length, g, law, study.grid.trained)
