"""Behaviour: accuracy and loss as the prefix grows past the training lengths, and the verdict.

Two modes. *teacher_forced*: every query sees the right answers before it. *free_running*, for answers of
several tokens: the model is given the prompt alone and feeds on what it answered. A greedy model gets a
whole answer right in both modes or in neither, for up to its first error it has seen the same tokens (and
ids, where it predicts these: an answer is then right only with the id of the next token); what free running
shows is what becomes of an answer after an error (``token_accuracy``), and the accuracy of
tasks that ask for a final answer only. The verdict is teacher-forced.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from workbench.core.thresholds import HIGHEST_FLOOR
from workbench.measure.free_running import affordable, free_run
from workbench.measure.intervals import bootstrap_mean, clopper_pearson, wilson
from workbench.measure.measurement import Quantity, Spec, Study
from workbench.measure.verdict import Skill, Verdict, decide
from workbench.models.coupling import NEXT_IDS, ids_right, next_id_hooks
from workbench.table.schema import Row, row
from workbench.tasks.base import EVALUATION_LAWS as LAWS

if TYPE_CHECKING:
    from torch import Tensor

    from workbench.models.config import Architecture
    from workbench.tasks.base import Batch

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
    Quantity("shortcut", "accuracy of a stated shortcut oracle (target) at n", "share", 0, 1),
    Quantity(
        "skill",
        "(accuracy - floor) / (1 - floor); floor = chance, under the challenge law the best of chance and shortcuts",
        "share",
        None,
        1,
    ),
    Quantity(
        "failure_length",
        "first grid length beyond training, confirmed by the next, where the upper limit of skill is below 0.9 "
        "of the mean trained skill; censored at the largest length tested where there is none",
        "tokens",
        1,
    ),
    Quantity(
        "verdict",
        "not fitted, unseen position, scale-robust to the horizon, length-coupled or undecided; from behaviour alone",
        "label",
    ),
)


@dataclass(frozen=True)
class Observed:
    """Per-sequence results of one law and length.

    ``tokens`` only where the answer is several tokens; ``parts`` (all tokens, all ids) only where ids are predicted.
    """

    correct: np.ndarray
    exact: np.ndarray
    tokens: np.ndarray | None
    loss: np.ndarray
    chance: float
    shortcuts: Mapping[str, float]
    strata: Mapping[str, np.ndarray]
    parts: Mapping[str, np.ndarray]


class Behaviour:
    """Accuracy, loss, skill, failure length and verdict, teacher-forced, on both evaluation laws.

    Args:
        resamples: bootstrap resamples behind the intervals of means.
        free_running: sequences per law and length that run free, at most; fewer where long answers make
            it dear. ``n`` of the row says how many.
    """

    def __init__(self, resamples: int = 400, free_running: int = 32) -> None:
        if free_running < 1:
            raise ValueError(f"free_running is a number of sequences, at least 1, not {free_running}")
        self.resamples, self.free_running = resamples, free_running
        self.spec = Spec(
            name="behaviour",
            version=3,
            title="Behaviour",
            settings={"resamples": resamples, "free_running": free_running},
            quantities=QUANTITIES,
            laws=LAWS,
            sequences=512,
        )
        self.seen: dict[tuple[str, int], tuple[Batch, Mapping[str, Tensor]]] = {}

    def hooks(self, cfg: Architecture) -> list[str]:
        return next_id_hooks(cfg)

    def observe(self, law: str, length: int, batch: Batch, cache: Mapping[str, Tensor]) -> None:
        # Task and training length arrive with the study; answers are small enough to be kept as they are.
        self.seen[law, length] = (batch, {name: cache[name] for name in ("logits", NEXT_IDS) if name in cache})

    def finish(self, study: Study) -> list[Row]:
        results = {key: reduce_batch(study, *key, *value) for key, value in self.seen.items()}
        rows: list[Row] = []
        curves: dict[str, dict[int, Skill]] = {law: {} for law in LAWS}
        for (law, n), seen in sorted(results.items()):
            unseen = study.reads_unseen(n)
            skill = skill_of(seen, law, tests=max(1, 2 * len(study.grid.outside)), unseen=unseen)
            if skill is not None:
                curves[law][n] = skill
            rows += self._rows(study, law, n, seen, skill)
            rows += self._free_rows(study, law, n)
        verdict = decide(curves, study.grid)
        return rows + verdict_rows(verdict, len(next(iter(results.values())).correct))

    def _rows(self, study: Study, law: str, n: int, seen: Observed, skill: Skill | None) -> list[Row]:
        count = len(seen.correct)
        shared: dict[str, Any] = {"law": law, "length": n, "mode": "teacher_forced", "n": count}
        low, high = wilson(int(seen.correct.sum()), count)
        exact_low, exact_high = wilson(int(seen.exact.sum()), count)
        loss_low, loss_high = bootstrap_mean(seen.loss, study.rng("loss", law, n), self.resamples)
        rows = [
            row(quantity="accuracy", value=float(seen.correct.mean()), low=low, high=high, **shared),
            row(quantity="exact_match", value=float(seen.exact.mean()), low=exact_low, high=exact_high, **shared),
            row(quantity="loss", value=float(seen.loss.mean()), low=float(loss_low), high=float(loss_high), **shared),
            skill_row(skill, shared),
            row(quantity="chance", value=seen.chance, **shared),
        ]
        if seen.tokens is not None:
            rows.append(self._token_row(study, seen.tokens, shared))
        for oracle, value in seen.shortcuts.items():
            rows.append(row(quantity="shortcut", target=oracle, value=value, **shared))
        rows += [share_row("coupling_accuracy", name, hits, shared) for name, hits in seen.parts.items()]
        return rows + [stratum_row(name, hits, shared) for name, hits in seen.strata.items()]

    def _token_row(self, study: Study, tokens: np.ndarray, shared: dict[str, Any]) -> Row:
        rng = study.rng("tokens", shared["mode"], shared["law"], shared["length"])
        low, high = bootstrap_mean(tokens, rng, self.resamples)
        return row(quantity="token_accuracy", value=float(tokens.mean()), low=float(low), high=float(high), **shared)

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


def reduce_batch(study: Study, law: str, length: int, batch: Batch, cache: Mapping[str, Tensor]) -> Observed:
    """Per-sequence correctness and loss at the query whose prefix length is exactly ``length``.

    ``cache`` holds ``logits``, and the predicted ids where the model predicts them.

    Where the answer is several tokens, a sequence is right if all of them are, and its loss is their mean.

    Sequences whose query there is not supervised (an undefined answer) do not count.
    """
    at, logits = batch.index(length), cache["logits"]
    right = study.task.correct(logits, batch)
    asked, parts = batch.mask[:, at], {}
    if NEXT_IDS in cache:
        ids = study.cfg.ids.evaluation(batch.tokens.shape[1], study.cfg.n_ctx, batch.position_ids)
        parts = {"tokens": right, "ids": ids_right(cache[NEXT_IDS], ids, batch.mask)}
        right = right & parts["ids"]
    exact = (right | ~batch.mask).all(1)
    answered = study.task.answered(right, batch)
    losses = study.task.losses(logits, batch)
    loss = losses[:, at] if batch.prompt is None else (losses * batch.mask).sum(1) / batch.mask.sum(1)
    oracles = study.task.shortcuts(batch, study.grid.trained)
    return Observed(
        correct=answered[asked].cpu().numpy().astype(float),
        exact=exact[asked].cpu().numpy().astype(float),
        tokens=None if batch.prompt is None else share_right(right, batch)[asked.cpu().numpy()],
        loss=loss[asked].cpu().double().numpy(),
        chance=study.task.chance(law, length),
        shortcuts={name: float(hits[asked].mean()) for name, hits in oracles.items()},
        strata={
            name: answered[asked & kind].cpu().numpy().astype(float) for name, kind in study.task.strata(batch).items()
        },
        parts={name: study.task.answered(part, batch)[asked].cpu().numpy() for name, part in parts.items()},
    )


def share_right(right: Tensor, batch: Batch) -> np.ndarray:
    """Per sequence, the share of its supervised queries that are right."""
    share: np.ndarray = ((right & batch.mask).sum(1).double() / batch.mask.sum(1)).cpu().numpy()
    return share


def skill_of(seen: Observed, law: str, *, tests: int, unseen: bool) -> Skill | None:
    """Skill over the floor of the law, with 95 % limits and a lower limit Bonferroni over ``tests``.

    None where the floor is within 0.05 of 1: what a guess answers nearly always cannot show skill.
    """
    floor = max([seen.chance, *seen.shortcuts.values()]) if law == "challenge" else seen.chance
    if floor > HIGHEST_FLOOR:
        return None
    right, count = int(seen.correct.sum()), len(seen.correct)

    def above(accuracy: float) -> float:
        return (accuracy - floor) / (1.0 - floor)

    low, high = wilson(right, count)
    strict, _ = clopper_pearson(right, count, level=1.0 - 0.05 / tests)
    return Skill(above(right / count), above(low), above(high), above(strict), unseen)


def stratum_row(name: str, hits: np.ndarray, shared: dict[str, Any]) -> Row:
    """Accuracy within a stratum, with its own number of sequences; undefined where none fell into it."""
    if not len(hits):
        own = {**shared, "n": 0, "quantity": "stratum_accuracy", "target": name}
        return row(**{**own, "status": "undefined", "note": "no string of this kind was drawn"})
    return share_row("stratum_accuracy", name, hits, shared)


def share_row(quantity: str, target: str, hits: np.ndarray, shared: Mapping[str, Any]) -> Row:
    """A share of sequences, at least one, with its interval."""
    low, high = wilson(int(hits.sum()), len(hits))
    own = {**shared, "n": len(hits), "quantity": quantity, "target": target}
    return row(value=float(hits.mean()), low=low, high=high, **own)


def skill_row(skill: Skill | None, shared: dict[str, Any]) -> Row:
    """Skill as a row; undefined where the floor leaves no room above it."""
    if skill is not None:
        return row(quantity="skill", value=skill.value, low=skill.low, high=skill.high, **shared)
    note = f"chance or a shortcut scores above {HIGHEST_FLOOR}"
    return row(quantity="skill", **{**shared, "status": "undefined", "note": note})


def verdict_rows(verdict: Verdict, count: int) -> list[Row]:
    """The verdict and the failure length per law as rows."""
    rows = [row(quantity="verdict", label=verdict.label, length=verdict.horizon, n=count, note=verdict.note)]
    for law, failure in verdict.failures.items():
        where: dict[str, Any] = {"law": law, "mode": "teacher_forced", "n": count, "low": float(failure.low)}
        if failure.length is None:
            rows.append(row(quantity="failure_length", status="censored", note="no failure up to this length", **where))
        else:
            at = float(failure.length)
            rows.append(row(quantity="failure_length", value=at, high=at, **where))
    return rows


MEASUREMENT = Behaviour
