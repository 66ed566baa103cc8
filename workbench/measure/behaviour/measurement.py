"""``behaviour``: accuracy and loss as the prefix grows past the training lengths, and the verdict.

There are two modes. *teacher_forced*: every query sees the right answers before it. *free_running*, for answers of
several tokens: the model is given only the prompt and receives its own answers.

A greedy model gets a whole answer right in both modes or in neither, because up to its first error it has seen the same
tokens. The same holds for ids where the model predicts them: an answer is then right only with the id of the next
token. Free running shows what happens after an error (``token_accuracy``), and the accuracy of tasks that need only a
final answer. The verdict is teacher-forced.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from pydantic import PrivateAttr, model_validator

from workbench.core.thresholds import FITTED, LEVEL_TEXT, LOOKS, ROBUST
from workbench.measure.behaviour.accuracy_cells import Cell, Key, Rules
from workbench.measure.behaviour.baselines import Floor, floor_of
from workbench.measure.behaviour.followed_shortcuts import agreements, shortcut_hits
from workbench.measure.behaviour.free_running import affordable, free_run
from workbench.measure.behaviour.hard_strata_sequences import strata_of
from workbench.measure.behaviour.hard_strata_verdict import STRINGS, near_ties, stratum_verdicts
from workbench.measure.behaviour.interim_tests import LookBoard, Looks, Tally, look
from workbench.measure.behaviour.listed_sequences import (
    Answers,
    Band,
    Counted,
    band,
    count_lengths,
    exact,
    is_few,
    over_band,
    with_few,
)
from workbench.measure.behaviour.observed import (
    Answered,
    AnswerObserver,
    Observed,
    join_observed,
    share_right,
    string_hashes,
    tally,
)
from workbench.measure.behaviour.rows import (
    agreement_row,
    cell_rows,
    composition_rows,
    first_wrong_row,
    floor_rows,
    near_ties_row,
    share_row,
    stratum_row,
    stratum_verdict_row,
    verdict_rows,
)
from workbench.measure.behaviour.verdict import decide
from workbench.measure.intervals import Ends, mean_ends, wilson
from workbench.measure.measurement import Measurement, Quantity, Spec, Study, show
from workbench.measure.settings import Count, Counts, Real
from workbench.measure.study import LOGITS
from workbench.models.transformer.predicted_ids import NEXT_IDS, next_id_hooks
from workbench.table.schema import Row, row
from workbench.tasks.base import EVALUATION_LAWS as LAWS

if TYPE_CHECKING:
    from torch import Tensor

    from workbench.models.base.architecture import Architecture
    from workbench.tasks.base import Batch

SECOND = "second batch"
"""Seed word of the sequences that confirm a failure at the last length."""

_BAR = f"min({ROBUST:g}, {ROBUST:g} s)"
QUANTITIES = (
    Quantity(
        "accuracy",
        "Share of queries at exactly prefix length n that the model answers correctly. An answer of several tokens "
        "counts only if all of them are correct. There is one value per test set and length; `chance` is the accuracy "
        "of the best constant answer.",
        "share",
        0,
        1,
        formula="a(n) = ⟨1[ŷ_{n} = y_{n}]⟩",
        where="real answers: within the tolerance of the task",
    ),
    Quantity(
        "exact_match",
        "Share of sequences in which every supervised query up to length n is answered correctly. It is at "
        "most the accuracy at n, and each further query can only lower it.",
        "share",
        0,
        1,
        formula="⟨∏_{i ≤ n} 1[ŷ_{i} = y_{i}]⟩",
        where="i: supervised queries",
    ),
    Quantity(
        "token_accuracy",
        "Share of the answer tokens that are correct, for answers of several tokens: mean over sequences. It "
        "is at least `accuracy`, which counts only whole answers.",
        "share",
        0,
        1,
        formula="⟨(1/m) Σ_{j ≤ m} 1[ŷ_{n,j} = y_{n,j}]⟩",
        where="m: tokens of the answer",
    ),
    Quantity(
        "coupling_accuracy",
        "For models that also predict position ids: share of sequences in which all tokens (target `tokens`) or all "
        "ids (target `ids`) are correct. The model sees the correct tokens and ids before each prediction. All other "
        "accuracies require that the tokens and the ids are both correct.",
        "share",
        0,
        1,
    ),
    Quantity(
        "stratum_accuracy",
        "Accuracy at n on one kind of hard input (target), such as majority sequences with a small margin. "
        "These inputs are drawn on purpose and do not enter the verdict. A value far below `accuracy` shows "
        "that the model fails mainly on hard inputs.",
        "share",
        0,
        1,
        formula="⟨1[ŷ_{n} = y_{n}]⟩_{h}",
        where="⟨·⟩_{h}: mean over only the sequences of the hard kind h",
    ),
    Quantity(
        "loss",
        "Mean loss at exactly prefix length n: cross-entropy in nats, or the squared error of a real-valued "
        "answer. Lower is better.",
        "nats",
        0,
        formula="⟨−log p(y_{n})⟩, of real answers ⟨|ŷ_{n} − y_{n}|^{2}⟩",
    ),
    Quantity(
        "chance",
        "Accuracy of the best constant answer at n. An accuracy near this value shows no skill.",
        "share",
        0,
        1,
        formula="max_{c} ⟨1[y_{n} = c]⟩",
        where="c: constant answers",
        interval=False,
    ),
    Quantity(
        "shortcut",
        "Accuracy at n of a known shortcut (target): a rule that ignores part of the input. It is computed on "
        "separate sequences. High values mean that this test set does not rule out the shortcut.",
        "share",
        0,
        1,
        formula="⟨1[g(x_{1} … x_{n}) = y_{n}]⟩",
        where="g: the shortcut",
        interval=False,
    ),
    Quantity(
        "skill",
        "Accuracy beyond the baseline, rescaled to 0 at the baseline and 1 without errors. The baseline is "
        "`chance`; on the challenge test set it is the best of chance and the shortcuts, measured on separate "
        f"sequences. The {LEVEL_TEXT} interval holds over all planned interim tests together.",
        "share",
        None,
        1,
        formula="(a(n) − f) / (1 − f)",
        where="a(n): accuracy of the unchanged model, f: chance; on the challenge test set the best of chance and "
        "shortcuts",
    ),
    Quantity(
        "failure_length",
        f"First tested length beyond training at which skill is significantly below {ROBUST:g} of its mean at trained "
        "lengths, on one test set. The next tested length must confirm the failure; at the last length, a second "
        "batch confirms it. `low` is the last length up to which all tested lengths pass. If no length fails, there "
        "is no value, and the status is `censored`.",
        "tokens",
        1,
        formula=f"min {{ n > N : u(n) < {_BAR} and u(n′) < {_BAR} }}",
        where="u: upper limit of skill, s: mean skill at trained lengths, n′: the next tested length; the last one "
        "is tested twice",
    ),
    Quantity(
        "first_wrong",
        "First length beyond training that is answered incorrectly, for tasks with a single sequence per "
        "length. All lengths are evaluated.",
        "tokens",
        1,
        formula="min { n > N : ŷ_{i} ≠ y_{i} for an i in n − π + 1 … n }",
        where="π: number of lengths after which the answers repeat",
        interval=False,
    ),
    Quantity(
        "near_ties",
        "Whether accuracy on the hard inputs of the task (named by the target) holds beyond training: `hold`, "
        "`fail` or `open` (inconclusive). These inputs are drawn on purpose. The label qualifies the verdict "
        "and is not part of it.",
        "label",
    ),
    Quantity(
        "stratum_verdict",
        "Whether accuracy on one kind of hard input (target) holds beyond training: `hold`, `fail` or `open` "
        "(inconclusive). The label rests on the test set and length with the largest drop, and the value is the "
        "accuracy there.",
        "share",
        0,
        1,
    ),
    Quantity(
        "shortcut_agreement",
        "Share of sequences of length n on which the model and a known shortcut (target) are both correct or both "
        "incorrect. If the value covers only one kind of sequence, the mode names this kind. Sequences on which the "
        "shortcut has to guess do not count. Near 1, the model behaves like the shortcut.",
        "share",
        0,
        1,
        formula="⟨1[1[ŷ_{n} = y_{n}] = 1[g(x_{1} … x_{n}) = y_{n}]]⟩",
        where="g: the shortcut",
    ),
    Quantity(
        "composition",
        "Share of the sequences of length n that belong to one component (target), for tasks that mix several "
        "components. It describes the test set and not the model.",
        "share",
        0,
        1,
        interval=False,
    ),
    Quantity(
        "verdict",
        "How accuracy changes beyond training: not fitted, length-coupled, unseen position, scale-robust, or "
        "undecided with a reason. The row gives the longest tested length. The verdict depends only on "
        "behaviour.",
        "label",
    ),
)


class Behaviour(Measurement):
    """Measure accuracy, loss, skill, failure length and verdict on both test sets.

    Args:
        resamples: bootstrap resamples for the intervals of means.
        free_running: maximum number of free-running sequences per test set and length. Long answers are expensive, so
            fewer may run; ``n`` of the row is the number.
        looks: total sequences of a test set at a length, after each planned interim test. Where the first ones leave
            the verdict open, the cells that decide it get more, if the study permits it.
        fitted: skill that must be shown at N/4, N/2 and N.
        robust: skill that every longer length must be shown to reach; also the share of trained skill below which a
            length fails.
        strata: sequences per hard kind, test set and length; at most as many as a cell has at the first interim test.
    """

    name = "behaviour"
    version = 6
    title = "Behaviour"
    quantities = QUANTITIES
    laws = LAWS
    deepens = True
    lists = True
    in_prompt = "behaviour.in_context"

    resamples: Count = 400
    free_running: Count = 32
    looks: Counts = LOOKS
    fitted: Real = FITTED
    robust: Real = ROBUST
    strata: Count = STRINGS

    _held: dict[Key, tuple[Batch, Mapping[str, Tensor]]] = PrivateAttr(default_factory=dict)
    _seen: dict[Key, Answered] = PrivateAttr(default_factory=dict)
    _strings: dict[Key, set[int]] = PrivateAttr(default_factory=dict)
    _bands: dict[Key, Band] = PrivateAttr(default_factory=dict)

    @model_validator(mode="after")
    def _possible_rules(self) -> Behaviour:
        self.rules  # noqa: B018 - refuses what cannot be
        return self

    @property
    def rules(self) -> Rules:
        """The thresholds of the verdict."""
        return Rules(tuple(self.looks), self.fitted, self.robust)

    @property
    def spec(self) -> Spec:
        return replace(super().spec, sequences=self.looks[0])

    def hooks(self, cfg: Architecture) -> list[str]:
        return next_id_hooks(cfg)

    def observe(self, law: str, length: int, batch: Batch, cache: Mapping[str, Tensor]) -> None:
        # Kept unscored: scoring needs the task, which arrives with the study.
        self._held[law, length] = (batch, {name: cache[name] for name in (LOGITS, NEXT_IDS) if name in cache})

    def observer(self, study: Study, law: str, length: int, batch: Batch) -> AnswerObserver:
        free = affordable(batch, self.free_running) if batch.prompt is not None else 0
        # With one sequence per length, its outputs at each prefix are needed.
        whole = 1 if study.task.one_string_per_length else 0
        made = AnswerObserver(study, length, batch, self.hooks(study.cfg), max(free, whole))
        self._seen[law, length] = made.answered
        return made

    def finish(self, study: Study) -> list[Row]:
        for (law, n), (batch, cache) in self._held.items():
            show(self.observer(study, law, n, batch), cache)
        observed = {key: join_observed(answered.parts) for key, answered in self._seen.items()}
        floors = {key: floor_of(study.task, *key, study.grid.trained, study.seed) for key in self._seen}
        unseen = frozenset(n for n in study.grid.outside if study.reads_unseen(n))
        first = max(len(answered.batch) for answered in self._seen.values())
        counted = self._counted(study)
        if counted is None:
            drawn = {key: self._cell(study, key, seen, floors[key]) for key, seen in observed.items()}
            cells = {key: self._few(study, cell, first) for key, cell in drawn.items()}
            board = LookBoard(study.grid, self.rules, cells, unseen)
        else:
            board = LookBoard(counted.grid, self.rules, counted.cells(LAWS), unseen)
        looks = Looks.of(self.rules, first, study.deep)
        test_counts = self._look(study, board, looks)
        rows: list[Row] = []
        for key in sorted(observed):
            shared = {"law": key[0], "length": key[1], "mode": "teacher_forced"}
            short = key[1] < study.grid.shortest
            rows += cell_rows(board.cells[key], self.rules, shared, short) if key in board.cells else []
            rows += floor_rows(floors[key], shared)
            rows += self._rows(study, observed[key], shared)
            rows += self._agreement_rows(study, key, observed[key], shared)
            rows += composition_rows(study.task.composition(key[1]), shared)
            rows += self._free_rows(study, *key)
        if not any(made_row["quantity"] == "composition" for made_row in rows):
            note = "the task draws its sequences from no components"
            rows.append(row(quantity="composition", status="not_applicable", note=note))
        if counted is not None:
            where = {"law": "matched", "mode": "teacher_forced", "n": len(counted.right)}
            rows.append(first_wrong_row(counted.first_wrong, where, max(counted.right)))
        rows += self._near_ties(study, board, min(self.strata, first))
        verdict = decide(board, looks, test_counts)
        return rows + verdict_rows(verdict if counted else with_few(verdict, board), board)

    def _cell(self, study: Study, key: Key, seen: Observed, floor: Floor) -> Cell:
        batch = self._seen[key].batch
        self._strings[key] = string_hashes(batch, batch.mask[:, batch.index(key[1])])
        distinct = len(self._strings[key])
        best = study.task.best_accuracy(*key)
        right, n = int(seen.correct.sum()), len(seen.correct)
        return Cell(*key, right=right, n=n, floor=floor.value, distinct=distinct, best=best)

    def _counted(self, study: Study) -> Counted | None:
        """Return the count of all lengths, if each length has one sequence."""
        if not study.task.one_string_per_length:
            return None
        longest = self._seen["matched", max(study.grid.lengths)]
        return count_lengths(study, self.hooks(study.cfg), longest.batch, longest.first)

    def _few(self, study: Study, cell: Cell, first: int) -> Cell:
        """Return the cell, or its replacement where its test set has few sequences: a complete count, or a band."""
        names = self.hooks(study.cfg)
        support = study.task.support(cell.law, cell.length, study.grid.trained)
        if support is not None:
            return exact(study, cell, support, names)
        lengths = band(study.task, study.grid, cell.length) if is_few(cell) else [cell.length]
        if len(lengths) == 1:
            return cell
        of = Band(cell.law, lengths)
        cell = over_band(cell, of, of.floor(study))
        self._bands[cell.key], self._strings[cell.key] = of, set()
        found = tally(study, of.draws(study, 0, first, names), self._strings[cell.key])
        return replace(cell, right=found.right, n=found.n, distinct=found.distinct)

    def _near_ties(self, study: Study, board: LookBoard, strings: int) -> list[Row]:
        """Return rows about hard sequences: accuracy, agreement with shortcuts, and qualifiers of the verdict."""
        if not study.task.strata_names:
            return []
        strata = strata_of(study, board.laws, board.unseen, strings, self.hooks(study.cfg))
        rows = [stratum_row(one.name, one.cell) for one in strata]
        for one in strata:
            shared = {"law": one.cell.law, "length": one.cell.length, "mode": one.name}
            rows += [agreement_row(agreement, shared) for agreement in one.agreements]
        rows += [stratum_verdict_row(one) for one in stratum_verdicts(strata, study.grid.trained)]
        together = near_ties(strata, study.grid.trained)
        if together is not None:
            rows.append(near_ties_row(together, study.task.strata_kind, max(study.grid.lengths)))
        return rows

    def _agreement_rows(self, study: Study, key: Key, seen: Observed, shared: Mapping[str, Any]) -> list[Row]:
        """Return which shortcut is followed past training, on the sequences of the first interim test."""
        if key[1] <= study.grid.trained or study.task.one_string_per_length:
            return []
        batch, window = self._seen[key].batch, study.grid.trained
        hits = study.memo(("shortcuts", *key, len(batch)), lambda: shortcut_hits(study.task, batch, window))
        return [agreement_row(one, shared) for one in agreements(hits, seen.correct > 0.5)]

    def _look(self, study: Study, board: LookBoard, looks: Looks) -> Mapping[Key, int]:
        """Draw more sequences for open cells; only counts of the answers are kept."""

        def answers(cell: Cell, start: int, stop: int, band_word: str, word: str) -> Answers:
            of, names = self._bands.get(cell.key), self.hooks(study.cfg)
            if of is not None:
                return of.draws(study, start, stop, names, band_word)
            return study.further(*cell.key, start, stop, names, word)

        def draw(cell: Cell, start: int, stop: int) -> Tally:
            return tally(study, answers(cell, start, stop, "band", "evaluate"), self._strings[cell.key])

        def again(cell: Cell, strings: int) -> Tally:
            return tally(study, answers(cell, 0, strings, f"band, {SECOND}", SECOND), set())

        return look(board, looks, draw, again)

    def _rows(self, study: Study, observed: Observed, where: Mapping[str, Any]) -> list[Row]:
        """Return the rows that use the sequences of the first interim test only."""
        count = len(observed.correct)
        if not count:
            return []
        shared = {**where, "n": count}
        if study.task.one_string_per_length:  # copies of one sequence count once
            shared |= {"n": 1, "distinct": 1}
            exact, loss = float(observed.exact[0]), float(observed.loss[0])
            return [row(quantity="exact_match", value=exact, **shared), row(quantity="loss", value=loss, **shared)]
        low, high = wilson(int(observed.exact.sum()), count)
        rng = study.rng("loss", shared["law"], shared["length"])
        rows = [
            row(quantity="exact_match", value=float(observed.exact.mean()), low=low, high=high, **shared),
            mean_of("loss", observed.loss, mean_ends(observed.loss, rng, self.resamples), shared),
        ]
        if observed.tokens is not None:
            rows.append(self._token_row(study, observed.tokens, shared))
        return rows + [share_row("coupling_accuracy", name, hits, shared) for name, hits in observed.parts.items()]

    def _token_row(self, study: Study, tokens: np.ndarray, shared: dict[str, Any]) -> Row:
        rng = study.rng("tokens", shared["mode"], shared["law"], shared["length"])
        return mean_of("token_accuracy", tokens, mean_ends(tokens, rng, self.resamples, (0.0, 1.0)), shared)

    def _free_rows(self, study: Study, law: str, n: int) -> list[Row]:
        """Return the rows of the mode ``free_running``, for tasks whose answers are part of the sequence."""
        batch, cache = self._seen[law, n].batch, self._seen[law, n].first
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
        free_answers = free_run(study.model, study.task, batch, cache[LOGITS][:count], next_ids)
        study.passes += free_answers.passes
        shared["n"] = count
        rows = []
        for quantity, hits in (
            ("accuracy", study.task.sequence_correct(free_answers.right, batch)),
            ("exact_match", (free_answers.right | ~batch.mask).all(1)),
        ):
            low, high = wilson(int(hits.sum()), count)
            rows.append(row(quantity=quantity, value=float(hits.double().mean()), low=low, high=high, **shared))
        return [*rows, self._token_row(study, share_right(free_answers.right, batch), shared)]


def mean_of(quantity: str, values: np.ndarray, ends: Ends, shared: Mapping[str, Any]) -> Row:
    """Return a row with a mean over sequences.

    If all values are equal, the interval follows from their bounds, or there is none; the note states this.
    """
    note = {"note": ends.note} if ends.note else {}
    return row(quantity=quantity, value=float(values.mean()), low=ends.low, high=ends.high, **{**shared, **note})
