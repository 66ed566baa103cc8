"""``behaviour.in_context``: how often a model solves a task that is given in its prompt, as the prompt grows.

Lengths count items of the question; rows also contain the number of tokens. Evaluation is teacher-forced: each token of
an answer is predicted after the right tokens before it. Only the positions of answers are decoded.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from jaxtyping import Float
from numpy.typing import NDArray
from pydantic import PrivateAttr
from torch import Tensor

from workbench.core.names import MATCHED
from workbench.core.thresholds import ERROR, FITTED, PARTIAL, ROBUST
from workbench.measure.in_context.verdict import (
    InContextVerdict,
    Point,
    decide_in_context,
    level,
    limits,
)
from workbench.measure.intervals import clopper_pearson, mean_ends
from workbench.measure.measurement import Measurement, Observer, Quantity
from workbench.measure.settings import Count, MeasurementError
from workbench.measure.study import LOGITS
from workbench.table.schema import Row, row

if TYPE_CHECKING:
    from workbench.measure.measurement import Study
    from workbench.models.base.architecture import Architecture
    from workbench.tasks.base import Batch

NAME = "behaviour.in_context"
LAW = MATCHED
FINAL = "ln_final.hook_normalized"
"""Activation that is decoded, in models that can decode selected positions only."""
ROWS = 512
"""Positions decoded at once. It bounds memory, because a vocabulary is large."""

QUANTITIES = (
    Quantity(
        "answer_accuracy",
        "Share of the answers that are correct when the prompt describes the task and the model chooses from its "
        "whole vocabulary. The value is a mean over sequences. Length is the number of items in the question.",
        "share", 0, 1,
        formula="⟨(1/m) Σ_{j ≤ m} 1[ŷ_{j} = y_{j}]⟩", where="m: answers of a sequence, ŷ_{j}: the most likely token",
    ),
    Quantity(
        "candidate_accuracy",
        "Share of the answers that are correct when the model chooses only among the symbols of the task. If "
        "it is far above `answer_accuracy`, the model knows the answer but prefers tokens outside the task.",
        "share", 0, 1,
        formula="⟨(1/m) Σ_{j ≤ m} 1[ŷ_{j} = y_{j}]⟩", where="m: answers of a sequence, ŷ_{j}: the most likely symbol",
    ),
    Quantity(
        "answer_log_probability",
        "Log-probability of the correct answer in nats: mean over the answers of a sequence, then over "
        "sequences. It is 0 for a certain model; more negative is worse.",
        "nats", None, 0,
        formula="⟨(1/m) Σ_{j ≤ m} log p(y_{j})⟩", where="m: answers of a sequence",
    ),
    Quantity(
        "candidate_chance",
        "Accuracy of a uniform guess among the symbols of the task: one divided by their number.", "share", 0, 1,
        formula="c = 1/k", where="k: symbols", interval=False,
    ),
    Quantity(
        "answer_skill",
        "Accuracy over the whole vocabulary beyond a uniform guess among the symbols, rescaled to 0 for the "
        "guess and 1 without errors. Each end of the interval is wrong with probability at most 0.025.",
        "share", None, 1,
        formula="(a − c) / (1 − c)", where="a: answer_accuracy, c: candidate_chance",
    ),
    Quantity("prompt_tokens", "Number of tokens of a prompt whose question has n items.", "tokens", 1, interval=False),
    Quantity(
        "window_share",
        "Length of the prompt divided by the number of positions that the model was trained on. Above 1, the "
        "prompt contains positions that the model has never seen.", "share", 0,
        formula="t / W", where="t: prompt_tokens, W: positions of the window", interval=False,
    ),
    Quantity(
        "judged_skill",
        "`answer_skill` at a length inside the context window, with the stricter limits that the verdict "
        "uses. Each limit is wrong with probability at most 0.025 divided by the number of tested lengths.",
        "share", None, 1,
        formula="(a − c) / (1 − c)", where="a: answer_accuracy, c: candidate_chance",
    ),
    Quantity(
        "capable_from",
        f"Smallest tested number of items at which `judged_skill` is significantly at least {FITTED:g}. There is no "
        "value if the model never reaches this skill.",
        "items", 1,
        formula=f"K_{{0}} = min {{ n : l(n) ≥ {FITTED:g} }}", where="l: lower limit of judged_skill", interval=False,
    ),
    Quantity(
        "decays_from",
        f"First of two tested lengths in a row at which `judged_skill` is significantly below {ROBUST:g} of its "
        "reference. The reference is the largest lower limit from `capable_from` up to the length before. Without "
        f"`capable_from`, skill must fall below half of the largest lower limit, which must be at least {PARTIAL:g}. "
        "`low` is the longest earlier length up to which skill holds. If skill does not fall significantly, there is "
        "no value, and the status is `censored`.",
        "items", 1,
        formula=f"min {{ n > K_{{0}} : u(n) < {ROBUST:g} r(n) and u(n′) < {ROBUST:g} r(n′) }}",
        where="u: upper limit of judged_skill, r: its reference, n′: the next tested length",
    ),
    Quantity(
        "in_context_verdict",
        "How a model that was not trained on the task handles longer questions, for one way of presenting the task "
        "(target). It holds up to a length, decays from a length, is partial and decays, is not capable, or is "
        "undecided. The column `length` of the row gives this length.",
        "label",
    ),
)  # fmt: skip

Shares = dict[str, NDArray[np.float64]]
"""Quantity -> mean over the answers of each sequence, ``[sequence]``."""


class InContext(Measurement):
    """Measure accuracy, skill and a verdict on a task that is given in the prompt.

    Args:
        resamples: bootstrap resamples for the intervals of means.
    """

    name = NAME
    version = 2
    title = "Behaviour in context"
    quantities = QUANTITIES
    sequences = 128
    presented = "only"

    resamples: Count = 400

    _seen: dict[int, AnswerShares] = PrivateAttr(default_factory=dict)

    def hooks(self, cfg: Architecture) -> list[str]:
        return []

    def observe(self, law: str, length: int, batch: Batch, cache: Mapping[str, Tensor]) -> None:
        """Raise an error: scoring needs the study, which only :meth:`observer` receives."""
        raise MeasurementError(f"{NAME} needs the model: call observer() instead of observe()")

    def observer(self, study: Study, law: str, length: int, batch: Batch) -> Observer:
        made = AnswerShares(study, batch)
        self._seen[length] = made
        return made

    def finish(self, study: Study) -> list[Row]:
        found = {length: seen.shares() for length, seen in self._seen.items()}
        return in_context_rows(study, found, self.resamples)


class AnswerShares(Observer):
    """Scores the model's answers on the sequences of one length, per sequence."""

    def __init__(self, study: Study, batch: Batch) -> None:
        self.batch, self._model = batch, study.model
        self._reads = hasattr(study.model, "read_out") and FINAL in study.model.hook_dict
        self.groups = {0: (FINAL if self._reads else LOGITS,)}
        self._asked = batch.mask.any(0).nonzero()[:, 0]
        self._symbols = torch.tensor(sorted(study.task.wording.symbols))  # type: ignore[attr-defined]  # it is presented
        self._parts: list[Shares] = []

    def see(self, key: int, rows: slice, part: Batch, seen: Mapping[str, Tensor]) -> None:
        activations = seen[FINAL if self._reads else LOGITS][:, self._asked]
        targets = part.targets[:, self._asked].to(activations.device)
        scores: dict[str, list[Tensor]] = {}
        step = max(1, ROWS // len(self._asked))
        for start in range(0, len(activations), step):
            piece = activations[start : start + step]
            logits = self._model.read_out(piece) if self._reads else piece  # type: ignore[attr-defined]  # it has one
            for name, values in self._judge(logits.float(), targets[start : start + step]).items():
                scores.setdefault(name, []).append(values.double().mean(1))
        self._parts.append({name: torch.cat(values).numpy(force=True) for name, values in scores.items()})

    def _judge(self, logits: Float[Tensor, "batch asked out"], targets: Tensor) -> dict[str, Tensor]:
        symbols = self._symbols.to(logits.device)
        among = symbols[logits[..., symbols].argmax(-1)]
        right = logits.gather(-1, targets[..., None])[..., 0]
        return {
            "answer_accuracy": logits.argmax(-1) == targets,
            "candidate_accuracy": among == targets,
            "answer_log_probability": right - logits.logsumexp(-1),
        }

    def shares(self) -> Shares:
        """Return the scores of all observed sequences."""
        return {name: np.concatenate([part[name] for part in self._parts]) for name in QUANTITIES_SEEN}


QUANTITIES_SEEN = ("answer_accuracy", "candidate_accuracy", "answer_log_probability")


def in_context_rows(study: Study, found: Mapping[int, Shares], resamples: int = 400) -> list[Row]:
    """Return the rows of all lengths, and the verdict.

    Args:
        study: supplies the task and the random streams.
        found: by length, the scores per sequence; some quantities may be missing.
        resamples: number of bootstrap resamples.
    """
    task: Any = study.task
    title = task.presentation.title
    rows: list[Row] = []
    tested_lengths = [n for n in sorted(found) if not study.reads_unseen(n)]
    for n, shares in sorted(found.items()):
        tokens = task.positions(n)
        where: dict[str, Any] = {"law": LAW, "length": n, "mode": "teacher_forced", "target": title}
        rng = study.rng(NAME, n)
        for name, values in shares.items():
            rows.append(_mean(name, values, rng, resamples, where))
        chance = task.chance(LAW, n)
        values, skill_rng = shares["answer_accuracy"], study.rng(NAME, n, "skill")
        rows.append(row(quantity="candidate_chance", value=chance, **where))
        rows.append(_skill("answer_skill", values, chance, ERROR, skill_rng, where))
        if n in tested_lengths:
            rows.append(_skill("judged_skill", values, chance, level(len(tested_lengths)), skill_rng, where))
        rows += [
            row(quantity="prompt_tokens", value=float(tokens), **where),
            row(quantity="window_share", value=tokens / task.window, **where),
        ]
    strings = min(len(shares["answer_accuracy"]) for shares in found.values())
    longer = longer_question(task, max(tested_lengths)) if tested_lengths else None
    return rows + verdict_rows(rows, task.window, title, strings, longer)


def longer_question(task: Any, length: int) -> int | None:
    """Return the most items, at most twice ``length``, of a question that fits into the window, or None."""
    fits = (n for n in range(2 * length, length, -1) if task.admissible(n) and not task.beyond_window(n))
    return next(fits, None)


def _mean(name: str, values: NDArray[np.float64], rng: np.random.Generator, resamples: int, where: Any) -> Row:
    count = len(values)
    if np.isin(values, (0.0, 1.0)).all():
        low, high = clopper_pearson(int(values.sum()), count)
        return row(quantity=name, value=float(values.mean()), low=low, high=high, n=count, **where)
    bounds = None if name == "answer_log_probability" else (0.0, 1.0)
    ends = mean_ends(values, rng, resamples, bounds)
    return row(
        quantity=name, value=float(values.mean()), low=ends.low, high=ends.high, n=count, note=ends.note, **where
    )


def _skill(
    quantity: str, values: NDArray[np.float64], chance: float, error: float, rng: np.random.Generator, where: Any
) -> Row:
    low, high = limits(values, error, rng)
    value, low, high = ((accuracy - chance) / (1 - chance) for accuracy in (float(values.mean()), low, high))
    return row(quantity=quantity, value=value, low=low, high=high, n=len(values), **where)


def verdict_rows(rows: Sequence[Row], window: int, title: str, strings: int, longer: int | None = None) -> list[Row]:
    """Return the verdict with its two lengths, from the rows of ``judged_skill`` and ``prompt_tokens`` only.

    Args:
        rows: the rows of one checkpoint.
        window: number of tokens in the training window of the model.
        title: title of the presentation.
        strings: the smallest number of sequences at any length.
        longer: see :func:`decide_in_context`.
    """
    where: dict[str, Any] = {"law": LAW, "target": title, "n": strings}
    tokens = {r["length"]: round(r["value"]) for r in rows if r["quantity"] == "prompt_tokens"}
    points = [
        Point(int(r["length"]), tokens[r["length"]], r["value"], r["low"], r["high"])
        for r in rows
        if r["quantity"] == "judged_skill"
    ]
    if not points:
        names = ("capable_from", "decays_from", "in_context_verdict")
        note = f"every length asked reaches beyond the window of {window:,} tokens"
        return [row(quantity=name, status="undefined", note=note, **where) for name in names]
    found = decide_in_context(sorted(points, key=lambda point: point.length), window, longer)
    label = {"length": found.length, "label": found.label, "note": found.note, "reason": found.reason}
    return [_capable(found, where), _decay(found, where), row(quantity="in_context_verdict", **label, **where)]


def _capable(verdict: InContextVerdict, where: Mapping[str, Any]) -> Row:
    where = {**where, "quantity": "capable_from", "length": verdict.judged}
    if verdict.capable_from is None:
        return row(status="undefined", note=f"skill is not shown to be {FITTED:g} at any length", **where)
    return row(value=float(verdict.capable_from), **where)


def _decay(verdict: InContextVerdict, where: Mapping[str, Any]) -> Row:
    where = {**where, "quantity": "decays_from", "length": verdict.judged}
    if verdict.kept_to is None:
        return row(status="undefined", note="no length is shown to have a skill that could be lost", **where)
    if verdict.decays_from is None:
        return row(status="censored", low=float(verdict.kept_to), note="no decay is shown", **where)
    at = float(verdict.decays_from)
    return row(value=at, low=float(verdict.kept_to), high=at, **where)
