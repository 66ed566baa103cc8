"""By how much ids are moved, and which ids of a pass training never showed: at their bounds."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
import torch

from workbench.measure.behaviour import invariance
from workbench.measure.behaviour.invariance import Invariance, unseen_of
from workbench.measure.gradient_alignment import _missing
from workbench.measure.measurement import Grid


@pytest.mark.parametrize(("trained", "offsets", "factors", "moved"), [
    (8, (1,), (0.25, 1, 4), [1, 2, 8, 32]), (2, (1,), (0.25,), [1]), (1, (3,), (0.1, 1), [1, 3]), (10, (1,), (0.25, 0.35), [1, 2, 4]), (8, (), (), []),
    (8, (8, 2), (1, 0.25), [2, 8]), (3, (5,), (0.5,), [2, 5]),
])  # fmt: skip
def test_offsets_are_rounded_and_at_least_one(
    monkeypatch: pytest.MonkeyPatch,
    trained: int,
    offsets: tuple[int, ...],
    factors: tuple[float, ...],
    moved: list[int],
) -> None:
    asked: list[Any] = []
    made = Invariance(offsets=offsets, offset_factors=factors, shift_factors=(1, 2))
    monkeypatch.setattr(Invariance, "_shifted", lambda self, study, law, n, by: asked.append((law, n, by)) or [])
    grid = Grid(trained, (trained, 2 * trained, 4 * trained), (trained,), (2 * trained, 4 * trained))
    study: Any = SimpleNamespace(grid=grid, cfg=SimpleNamespace(positions=SimpleNamespace(reads_ids=True)))
    assert made._shifts(study, "matched") == []
    assert asked == [("matched", n, moved) for n in (trained, 2 * trained)]


@pytest.mark.parametrize(("ids", "absolute", "trained", "note"), [
    ([[0, 1, 2]], True, [[0, 2]], ""), ([[0, 1, 3]], True, [[0, 2]], "1 of 3 ids unseen in training"), ([[0, 1, 3]], False, [[0, 2]], ""), ([[0, 1, 3]], True, None, ""),
    ([[3, 4], [4, 5]], True, [[0, 2]], "3 of 3 ids unseen in training"), ([[3, 3, 2]], True, [], "2 of 2 ids unseen in training"),
    ([[0, 5, 9]], True, [[4, 5], [9, 9]], "1 of 3 ids unseen in training"),
])  # fmt: skip
def test_ids_that_training_never_showed(ids: list[list[int]], absolute: bool, trained: Any, note: str) -> None:
    study: Any = SimpleNamespace(cfg=SimpleNamespace(positions=SimpleNamespace(absolute=absolute)), trained_ids=trained)
    assert unseen_of(study, torch.tensor(ids)) == ({"status": "unseen_position", "note": note} if note else {})


def fillers(**changed: Any) -> list[Any]:
    """The rows of a study in which nothing can be filled."""
    given = {"neutral": (1,), "inside": (4,), "outside": (8,), "prompt": None, "gaps": [[False], [False]], **changed}
    task = SimpleNamespace(
        neutral_tokens=given["neutral"],
        tokens_names=("BOS", "e"),
        neutral_gaps=lambda strings: torch.tensor(given["gaps"]),
    )
    batch = SimpleNamespace(prompt=given["prompt"], bos=True, tokens=torch.zeros(2, 5, dtype=torch.long))
    batch.take = lambda places: [None] * len(places)
    grid = Grid(4, (*given["inside"], *given["outside"]), given["inside"], given["outside"])
    study: Any = SimpleNamespace(task=task, grid=grid, batch=lambda law, n: batch)
    return Invariance()._fillers(study, "matched")


@pytest.mark.parametrize(("changed", "status", "note", "length"), [
    ({"neutral": ()}, "not_applicable", invariance.NO_NEUTRAL, None), ({"inside": ()}, "undefined", "needs a measured length within training and one past it", None),
    ({"outside": ()}, "undefined", "needs a measured length within training and one past it", None),
    ({"inside": (), "outside": ()}, "undefined", "needs a measured length within training and one past it", None),
    ({"prompt": 0}, "not_applicable", "answers are part of the string, so that fillers would stand among them", None),
    ({}, "undefined", "no string has a place for a neutral token", 8),
])  # fmt: skip
def test_why_nothing_is_filled(changed: dict[str, Any], status: str, note: str, length: int | None) -> None:
    (found,) = fillers(**changed)
    assert (found["status"], found["note"], found["length"], found["quantity"]) == (
        status,
        note,
        length,
        invariance.FILLER,
    )
    assert (found["mode"], found["target"]) == (("from 4", "e") if length else ("", ""))


@pytest.mark.parametrize(("measured", "note"), [
    (True, "no query of that length is supervised"), (False, "that length is not measured, or cannot be read"),
])  # fmt: skip
def test_a_cosine_that_there_is_not(measured: bool, note: str) -> None:
    found = _missing(9, 32, measured)
    assert (found["length"], found["target"], found["mode"], found["status"], found["note"]) == (
        9, "32", "corrected", "not_applicable", note,
    )  # fmt: skip
