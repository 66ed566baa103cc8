"""Behaviour: accuracy and loss as the prefix grows past the training lengths, and the verdict.

Two modes. *teacher_forced*: every query sees the right answers before it. *free_running*, for answers of
several tokens: the model is given the prompt alone and feeds on what it answered. A greedy model gets a
whole answer right in both modes or in neither, for up to its first error it has seen the same tokens (and
ids, where it predicts these: an answer is then right only with the id of the next token); what free running
shows is what becomes of an answer after an error (``token_accuracy``), and the accuracy of
tasks that ask for a final answer only. The verdict is teacher-forced.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from workbench.core.thresholds import FITTED, LOOKS, ROBUST
from workbench.measure.behaviour_rows import cell_rows, floor_rows, share_row, stratum_row, verdict_rows
from workbench.measure.cells import Cell, Key, Rules
from workbench.measure.floors import Floor, floor_of
from workbench.measure.free_running import affordable, free_run
from workbench.measure.intervals import Ends, mean_ends, wilson
from workbench.measure.looks import Board, Looks, Tally, look
from workbench.measure.measurement import Quantity, Spec, Study
from workbench.measure.observed import Observed, reduce_batch, share_right, string_hashes, tally
from workbench.measure.verdict import decide
from workbench.models.coupling import NEXT_IDS, next_id_hooks
from workbench.table.schema import Row, row
from workbench.tasks.base import EVALUATION_LAWS as LAWS

if TYPE_CHECKING:
    from torch import Tensor

    from workbench.models.config import Architecture
    from workbench.tasks.base import Batch

SECOND = "second batch"
"""Seed word of the strings that confirm a failure at the last length."""

QUANTITIES = (
    Quantity("accuracy", "share of queries at exact prefix length n answered right", "share", 0, 1),
    Quantity("exact_match", "share of sequences whose every supervised query up to n is right", "share", 0, 1),
    Quantity(
        "token_accuracy",
        "where the answer is several tokens: share of them that are right, mean over sequences",
        "share",
        0,
        1,
    ),
    Quantity(
        "coupling_accuracy",
        "where the model predicts position ids: share of sequences whose tokens (target tokens) or ids (target ids) "
        "are all right when the right ones are fed; all other quantities want both",
        "share",
        0,
        1,
    ),
    Quantity(
        "stratum_accuracy",
        "accuracy at n among the strings of a stated hard kind (target), outside the verdict; for majority near "
        "ties, where alone a blurred threshold errs",
        "share",
        0,
        1,
    ),
    Quantity("loss", "mean loss at exact prefix length n (nats, or squared error)", "nats", 0),
    Quantity("chance", "accuracy of the best constant answer at n", "share", 0, 1),
    Quantity("shortcut", "accuracy of a stated shortcut oracle (target) at n, on strings of its own", "share", 0, 1),
    Quantity(
        "skill",
        "(accuracy - floor) / (1 - floor); floor = chance, under the challenge law the best of chance and shortcuts, "
        "from strings of its own; the interval is 95 % over all planned looks",
        "share",
        None,
        1,
    ),
    Quantity(
        "failure_length",
        "first judged length beyond training where skill is shown to be below 0.9 of the mean trained skill of its "
        "law, and at the next one too (at the last one, on a second batch); low is the last length up to which all "
        "cells pass; censored where there is none",
        "tokens",
        1,
    ),
    Quantity(
        "verdict",
        "not fitted, length-coupled, unseen position, scale-robust to the horizon, or undecided for a reason; from "
        "behaviour alone",
        "label",
    ),
)


class Behaviour:
    """Accuracy, loss, skill, failure length and verdict, teacher-forced, on both evaluation laws.

    Args:
        resamples: bootstrap resamples behind the intervals of means.
        free_running: sequences per law and length that run free, at most; fewer where long answers make
            it dear. ``n`` of the row says how many.
        looks: strings of a law at a length in all, after each planned look; where the first ones leave the verdict
            open, and the study may look again, the cells that decide it are given more.
        fitted: skill that every trained length must be shown to reach.
        robust: skill that every longer length must be shown to reach, and the kept share of trained skill.
    """

    def __init__(
        self,
        resamples: int = 400,
        free_running: int = 32,
        looks: Sequence[int] = LOOKS,
        fitted: float = FITTED,
        robust: float = ROBUST,
    ) -> None:
        if free_running < 1:
            raise ValueError(f"free_running is a number of sequences, at least 1, not {free_running}")
        self.resamples, self.free_running = resamples, free_running
        self.rules = Rules(tuple(looks), fitted, robust)
        self.spec = Spec(
            name="behaviour",
            version=4,
            title="Behaviour",
            settings={
                "resamples": resamples,
                "free_running": free_running,
                "looks": list(looks),
                "fitted": fitted,
                "robust": robust,
            },
            quantities=QUANTITIES,
            laws=LAWS,
            sequences=looks[0],
            deepens=True,
        )
        self.seen: dict[Key, tuple[Batch, Mapping[str, Tensor]]] = {}
        self.strings: dict[Key, set[int]] = {}

    def hooks(self, cfg: Architecture) -> list[str]:
        return next_id_hooks(cfg)

    def observe(self, law: str, length: int, batch: Batch, cache: Mapping[str, Tensor]) -> None:
        # Task and training length arrive with the study; answers are small enough to be kept as they are.
        self.seen[law, length] = (batch, {name: cache[name] for name in ("logits", NEXT_IDS) if name in cache})

    def finish(self, study: Study) -> list[Row]:
        observed = {key: reduce_batch(study, key[1], *held) for key, held in self.seen.items()}
        floors = {key: floor_of(study.task, *key, study.grid.trained, study.seed) for key in self.seen}
        unseen = frozenset(n for n in study.grid.outside if study.reads_unseen(n))
        cells = {key: self._cell(key, seen, floors[key]) for key, seen in observed.items()}
        board = Board(study.grid, self.rules, cells, unseen)
        first = max(len(batch) for batch, _ in self.seen.values())
        looks = Looks.of(self.rules, first, study.deep)
        made = self._look(study, board, looks)
        rows: list[Row] = []
        for key in sorted(observed):
            shared = {"law": key[0], "length": key[1], "mode": "teacher_forced"}
            rows += cell_rows(board.cells[key], self.rules, shared)
            rows += floor_rows(floors[key], shared)
            rows += self._rows(study, observed[key], shared)
            rows += self._free_rows(study, *key)
        return rows + verdict_rows(decide(board, looks, made), board)

    def _cell(self, key: Key, seen: Observed, floor: Floor) -> Cell:
        batch = self.seen[key][0]
        self.strings[key] = string_hashes(batch, batch.mask[:, batch.index(key[1])])
        distinct = len(self.strings[key])
        return Cell(*key, right=int(seen.correct.sum()), n=len(seen.correct), floor=floor.value, distinct=distinct)

    def _look(self, study: Study, board: Board, looks: Looks) -> Mapping[Key, int]:
        """Ask the open cells again; of what they answer, counts alone are kept."""

        def draw(cell: Cell, start: int, stop: int) -> Tally:
            answers = study.further(*cell.key, start, stop, self.hooks(study.cfg))
            return tally(study, cell.length, answers, self.strings[cell.key])

        def again(cell: Cell, strings: int) -> Tally:
            answers = study.further(*cell.key, 0, strings, self.hooks(study.cfg), SECOND)
            return tally(study, cell.length, answers, set())

        return look(board, looks, draw, again)

    def _rows(self, study: Study, seen: Observed, where: Mapping[str, Any]) -> list[Row]:
        """What is told of the strings of the first look alone."""
        count = len(seen.correct)
        if not count:
            return []
        shared = {**where, "n": count}
        low, high = wilson(int(seen.exact.sum()), count)
        rng = study.rng("loss", shared["law"], shared["length"])
        rows = [
            row(quantity="exact_match", value=float(seen.exact.mean()), low=low, high=high, **shared),
            mean_of("loss", seen.loss, mean_ends(seen.loss, rng, self.resamples), shared),
        ]
        if seen.tokens is not None:
            rows.append(self._token_row(study, seen.tokens, shared))
        rows += [share_row("coupling_accuracy", name, hits, shared) for name, hits in seen.parts.items()]
        return rows + [stratum_row(name, hits, shared) for name, hits in seen.strata.items()]

    def _token_row(self, study: Study, tokens: np.ndarray, shared: dict[str, Any]) -> Row:
        rng = study.rng("tokens", shared["mode"], shared["law"], shared["length"])
        return mean_of("token_accuracy", tokens, mean_ends(tokens, rng, self.resamples, (0.0, 1.0)), shared)

    def _free_rows(self, study: Study, law: str, n: int) -> list[Row]:
        """The rows of the mode ``free_running``, for tasks whose answers are part of the sequence."""
        batch, cache = self.seen[law, n]
        if batch.prompt is None:
            return []
        shared: dict[str, Any] = {"law": law, "length": n, "mode": "free_running"}
        if study.task.answer_tokens is None:
            note = "the task does not say which token an answer is"
            return [row(quantity="accuracy", status="not_applicable", note=note, **shared)]
        count = affordable(batch, self.free_running)
        batch = batch.rows(0, count)
        predicted = cache.get(NEXT_IDS)
        next_ids = None if predicted is None else predicted[:count]
        found = free_run(study.model, study.task, batch, cache["logits"][:count], next_ids)
        study.passes += found.passes
        shared["n"] = count
        rows = []
        for quantity, hits in (
            ("accuracy", study.task.answered(found.right, batch)),
            ("exact_match", (found.right | ~batch.mask).all(1)),
        ):
            low, high = wilson(int(hits.sum()), count)
            rows.append(row(quantity=quantity, value=float(hits.double().mean()), low=low, high=high, **shared))
        return [*rows, self._token_row(study, share_right(found.right, batch), shared)]


def mean_of(quantity: str, values: np.ndarray, ends: Ends, shared: Mapping[str, Any]) -> Row:
    """A mean over sequences; where all are equal it has the interval of its bounds, or none, and says so."""
    note = {"note": ends.note} if ends.note else {}
    return row(quantity=quantity, value=float(values.mean()), low=ends.low, high=ends.high, **{**shared, **note})


MEASUREMENT = Behaviour
