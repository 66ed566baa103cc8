"""``diagnosis``: why does a model fail past its training length, and what recovers its accuracy?

It has two separate answers. The *entry* is the cause: what about a longer input makes the model fail? Only label-free
interventions name it (:mod:`workbench.measure.edits.interventions`), by the rule of :mod:`workbench.diagnosis.cause`.
The *site* is the component in which the error first appears. Edits and probes that use the answer locate it
(:mod:`workbench.diagnosis.location`); they name no cause.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from workbench.core.names import SHUFFLED_LABELS, UNTRAINED_MODEL, TestSet
from workbench.diagnosis.cause import content, keys, name_entry, position_ruled_out, position_untested
from workbench.diagnosis.intervened_pass import asking, clearly_right, inside_of, last_classes
from workbench.diagnosis.location import (
    FRESH,
    Blind,
    BlockReading,
    HeadReading,
    Site,
    name_site,
    read_blocks,
    read_heads,
)
from workbench.diagnosis.recovered_share import (
    MOST,
    WRONG,
    Bootstrap,
    Judged,
    balanced_accuracy,
    chance,
    halves,
    refusal,
)
from workbench.diagnosis.tried_interventions import Findings, Trials, Tried
from workbench.measure.edits.edited_forward import largest_id
from workbench.measure.edits.interventions.intervention import is_recurrent
from workbench.measure.grid import lengths_for, within_training
from workbench.measure.intervals import interval
from workbench.measure.measurement import MeasurementWithoutBatches, Quantity
from workbench.measure.model_study import run
from workbench.measure.result import Result
from workbench.measure.rows import missing_row
from workbench.measure.settings import Count, Factors
from workbench.table.schema import Row, row
from workbench.tasks.base import Batch

if TYPE_CHECKING:
    from workbench.measure.measurement import Grid, Study
    from workbench.models.base.protocol import HookedModel
    from workbench.tasks.base import Task

WRONG_CONSTANT = "wrong_constant"
INSIDE_STRINGS = 256
"""Number of separate sequences for each set of statistics."""
WORD = "diagnosis"
"""Name of the random stream of sequences that are used for statistics only."""

QUANTITIES = (
    Quantity(
        "balanced_accuracy",
        "Class-balanced accuracy of the last answer: the share of correct answers for each class of answers, "
        "averaged over the classes. If two answers tie for the highest logit, neither counts as correct.",
        "share",
        0,
        1,
        formula="1/C Σ_{c} Pr[right | class c]",
        where="C: number of classes",
    ),
    Quantity(
        "balanced_loss",
        "Accuracy drop: class-balanced accuracy at N minus class-balanced accuracy at n. 0 means that nothing is "
        "lost; a diagnosis needs a significant drop.",
        "share",
        -1,
        1,
        formula="A_{ref} − A_{n}",
        where="A_{ref}: balanced_accuracy at N, A_{n}: at n",
    ),
    Quantity(
        "restored_share",
        "Share of the accuracy drop at n that a label-free intervention recovers, by itself or in a pair. It "
        "is below 0 if the intervention lowers accuracy further, and above 1 if it recovers more than the "
        "drop. The control is the same kind of edit with a wrong constant.",
        "share of the accuracy drop",
        formula="(A_{n}′ − A_{n}) / (A_{ref} − A_{n})",
        where="A_{n}′: balanced_accuracy at n under the intervention",
        controls=(WRONG_CONSTANT,),
    ),
    Quantity(
        "harm_inside",
        "Cost at N: how much an intervention lowers class-balanced accuracy at the longest trained length. An "
        "intervention that costs more than 0.05 is not applicable.",
        "share",
        -1,
        1,
        formula="A_{ref} − A_{ref}′",
        where="A_{ref}′: balanced_accuracy at N under the intervention",
        controls=(WRONG_CONSTANT,),
        interval=False,
    ),
    Quantity(
        "entry",
        "Cause of the failure: the property of longer inputs that makes the model fail. Labels are `position` "
        "(position encoding), `keys` (number of attended tokens), `steps` (recurrence depth), `content` (input "
        "content), combinations of them, and not explained. Label-free interventions form one family for each cause. "
        "The diagnosis tests these families in turn and names the cause of the first family that recovers at least "
        "half of the drop. For a model that reads position ids, the label `keys` requires that a position "
        "intervention is applicable. The label `content` requires that all applicable position interventions fail.",
        "label",
        interval=False,
    ),
    Quantity(
        "entry_grade",
        "How much of the accuracy drop the cause accounts for: strong, partly or none.",
        "label",
        interval=False,
    ),
    Quantity(
        "failure_site",
        "Location of the failure: where the error first appears. Labels are `selection` (a head attends to wrong "
        "keys), `dispersion` (attention to the right keys thins out), `code` (the representation moves), `read-out`, "
        "or lost before the end of a block. The location names no cause.",
        "label",
        interval=False,
    ),
    Quantity(
        "code_kept",
        "Class-balanced accuracy at n of a linear probe that decodes the last answer and was fitted at N. There is "
        "one value after each block. If it stays high while `balanced_accuracy` falls, the representation has not "
        "moved.",
        "share",
        0,
        1,
        formula="1/C Σ_{c} Pr[g_{N}(x_{n}) = c | class c]",
        where="C: number of classes, g_{N}: probe fitted at N, x_{n}: last row at n",
        interval=False,
    ),
    Quantity(
        "answer_readable",
        "Class-balanced accuracy of a linear probe that decodes the last answer and was fitted on other sequences of "
        "length n. There is one value after each block. It is an upper bound for what any intervention after that "
        "block can recover.",
        "share",
        0,
        1,
        formula="1/C Σ_{c} Pr[g_{n}(x_{n}) = c | class c]",
        where="C: number of classes, g_{n}: probe fitted at n, x_{n}: last row at n",
        controls=(UNTRAINED_MODEL, SHUFFLED_LABELS),
        interval=False,
    ),
    Quantity(
        "oracle_key_share",
        "Share of the accuracy drop that is recovered when a head that carries the answer reads only the "
        "token that contains the answer. This edit uses the position of the answer, so it locates the failure "
        "and names no cause. The control is how far the same edit moves untrained models from chance.",
        "share",
        formula="(A_{n}′ − A_{n}) / (A_{ref} − A_{n})",
        where="A_{n}′: balanced_accuracy at n when the head reads only the answer's token",
        controls=(UNTRAINED_MODEL,),
    ),
    Quantity(
        "oracle_key_gap",
        "Score of the token that contains the answer minus the best other score: median over the sequences "
        "answered incorrectly. Negative values mean that another key wins.",
        "nats",
        formula="median (s_{a} − max_{j ≠ a} s_{j})",
        where="a: the token that contains the answer",
        interval=False,
    ),
)  # fmt: skip


class Diagnosis(MeasurementWithoutBatches):
    """Diagnose why a model fails beyond N, the longest trained length.

    Args:
        factors: diagnosed lengths, as multiples of the longest trained one.
        law: name of the test set. A diagnosis is valid for its test set.
        resamples: number of bootstrap resamples.
    """

    name = "diagnosis"
    title = "Why it fails past its training length"
    quantities = QUANTITIES
    version = 5
    laws = ()
    sequences = 512
    on_request = True

    factors: Factors = (2, 4)
    law: TestSet = "matched"
    resamples: Count = 1000

    def why_not_measured(self, grid: Grid) -> str:
        return within_training(grid, self.name, "says why a model fails past its training length")

    def finish(self, study: Study) -> list[Row]:
        n = study.grid.trained
        near = lengths_for(study.grid, self.factors) if n else []
        lengths = sorted(x for x in near if x > n)
        if why := self._unfit(study, lengths):
            return [missing_row("not_applicable", why, quantity=q.name, law=self.law) for q in QUANTITIES]
        base = Diagnosed(self, study)
        rows = [base.accuracy_row(n, base.at_reference)]
        for length in lengths:
            rows += base.rows(length)
        return rows

    def _unfit(self, study: Study, lengths: Sequence[int]) -> str:
        if not lengths:
            return "no length beyond N is measured"
        if study.task.one_string_per_length:
            return "there is one string of each length: shares of a loss have no strings to be taken over"
        if any(study.reads_unseen(length) for length in lengths) and study.cfg.n_ctx <= max(lengths):
            return f"the table of positions ends at id {study.cfg.n_ctx - 1}"
        return ""


class Diagnosed:
    """The sequences, the model's answers at N, and tried interventions, shared by all lengths of one checkpoint.

    Args:
        settings: the measurement.
        study: the checkpoint.
    """

    def __init__(self, settings: Diagnosis, study: Study) -> None:
        self.settings, self.study, self.law = settings, study, settings.law
        self.model, self.task, self.trained = study.model, study.task, study.grid.trained
        self.fit = self._draw_separate(self.trained)
        # Before the first update no ids were seen; then the ids of sequences of length N are used.
        self.inside = inside_of(self.model, self.fit, largest_id(study.trained_ids))
        self.reference, self.at_reference = self._answered_batch(self.trained, 0)
        self.trials = Trials(self.model, self.task, self.inside, self.reference, self.at_reference)

    def rows(self, length: int) -> list[Row]:
        """Return all rows of one length."""
        batch, at = self._answered_batch(length, WRONG)
        rng = self.study.rng(WORD, length)
        why = refusal(self.at_reference, at, length)
        rows = [self.accuracy_row(length, at), self._loss_row(length, at, rng)]
        if why:
            return rows + self._refused(length, why, rows)
        before = self.trials.passes
        findings = self.trials.at(batch, at, self._draw_separate(length), rng, self.settings.resamples)
        self.study.passes += self.trials.passes - before
        entry = name_entry(findings, is_recurrent(self.model.cfg))
        rows += self._share_rows(length, findings)
        located, site, heads = self._located(length, batch, at, findings, rng)
        of_ids = [trial for trial in findings.members if trial.interventions[0].family == "P"]
        tested = [trial.share.value for trial in of_ids if trial.share is not None]
        reads_ids = self.model.cfg.positions.reads_ids
        entry = keys(entry, position_untested(tested, reads_ids))
        entry = content(entry, recovered_at(site, heads), position_ruled_out(tested, reads_ids))
        also = ", ".join(one.name for one in entry.also)
        by = "" if entry.by is None else entry.by.name
        shared: dict[str, Any] = {"law": self.law, "length": length, "n": len(at)}
        note = f"also restored by {also}" if also else ""
        rows.append(row(quantity="entry", label=entry.label, target=by, note=note, **shared))
        rows.append(row(quantity="entry_grade", label=entry.grade, target=by, **shared))
        return rows + located

    # ---- sequences ----------------------------------------------------------------------------
    def _draw_separate(self, length: int) -> Batch:
        """Draw sequences that are used for statistics only."""
        blocks = self.study.further(self.law, length, 0, INSIDE_STRINGS, [], WORD)
        return asking(Batch.join([batch for batch, _ in blocks]))

    def _answered_batch(self, length: int, wrong: int) -> tuple[Batch, Judged]:
        """Return the evaluation sequences of a length with the model's answers.

        More sequences are drawn until ``wrong`` of them are wrong.
        """
        batch = asking(self.study.batch(self.law, length))
        answers = self._judge(batch)
        count = len(batch)
        while wrong and 0 < (answers.right < 0.5).sum() < wrong and count < MOST:
            if balanced_accuracy(answers.right, answers.classes) > 1 - 0.5 * wrong / MOST:
                break  # even the maximum number would not contain enough wrong ones
            more = [one for one, _ in self.study.further(self.law, length, count, min(2 * count, MOST), [])]
            count = min(2 * count, MOST)
            batch = asking(Batch.join([batch, *more]))
            answers = self._judge(batch)
        return batch, answers

    def _judge(self, batch: Batch) -> Judged:
        outputs = self.study.answers(batch, [])["logits"]
        return Judged(clearly_right(self.task, outputs, batch), last_classes(batch))

    # ---- rows ---------------------------------------------------------------------------------
    def accuracy_row(self, length: int, at: Judged) -> Row:
        """Return the class-balanced accuracy at a length."""
        rng = self.study.rng(WORD, "accuracy", length)
        samples = Bootstrap(at, at, rng, self.settings.resamples)
        return samples_row(samples, law=self.law, length=length, n=len(at), quantity="balanced_accuracy")

    def _loss_row(self, length: int, at: Judged, rng: np.random.Generator) -> Row:
        loss = Bootstrap(self.at_reference, at, rng, self.settings.resamples).loss
        shared: dict[str, Any] = {"law": self.law, "length": length, "n": len(at), "quantity": "balanced_loss"}
        above = balanced_accuracy(self.at_reference.right, self.at_reference.classes) - chance(at.classes)
        note = f"{loss.value / above:.2f} of what N has over a guess" if above > 0 else ""
        return row(value=loss.value, low=loss.low, high=loss.high, note=note, **shared)

    def _refused(self, length: int, why: str, rows: Sequence[Row]) -> list[Row]:
        """Return a row with the reason for every quantity that is not computed."""
        present = {r["quantity"] for r in rows}
        shared: dict[str, Any] = {"law": self.law, "length": length}
        return [
            missing_row("undefined", why, quantity=q.name, control=control, **shared)
            for q in QUANTITIES
            if q.name not in present
            for control in ("", *q.controls)
        ]

    def _share_rows(self, length: int, findings: Findings) -> list[Row]:
        rows: list[Row] = []
        for trial in findings.members:
            rows += self._tried_rows(length, trial, "alone", findings)
        for family, best in findings.families.items():
            rows += self._control_rows(length, best, f"best of {family}")
        for pair in findings.pairs:
            rows += self._tried_rows(length, pair, "pair", findings)
        if not any(r["control"] == WRONG_CONSTANT for r in rows):
            why = "no intervention is applicable"
            for name in ("restored_share", "harm_inside"):
                fields: dict[str, Any] = {"quantity": name, "law": self.law, "length": length}
                rows.append(missing_row("not_applicable", why, control=WRONG_CONSTANT, **fields))
        return rows

    def _tried_rows(self, length: int, trial: Tried, mode: str, findings: Findings) -> list[Row]:
        shared: dict[str, Any] = {"law": self.law, "length": length, "target": trial.name, "mode": mode}
        harm: dict[str, Any] = {**shared, "quantity": "harm_inside"}
        share: dict[str, Any] = {**shared, "quantity": "restored_share"}
        chosen = findings.families.get(trial.interventions[0].family)
        note = "chosen of its family on the other half of the strings" if chosen and chosen.name == trial.name else ""
        rows = []
        if trial.harm is None:
            rows.append(missing_row("not_applicable", trial.why_not, **harm))
        else:
            rows.append(row(value=trial.harm, n=len(self.at_reference), **harm))
        if trial.share is None:
            rows.append(missing_row("not_applicable", trial.why_not, **share))
        else:
            ends = {"value": trial.share.value, "low": trial.share.low, "high": trial.share.high}
            rows.append(row(**ends, n=len(trial.right), note=note, **share))
        return rows

    def _control_rows(self, length: int, best: Tried, note: str) -> list[Row]:
        assert best.control is not None
        assert best.control_harm is not None
        shared: dict[str, Any] = {
            "law": self.law, "length": length, "target": best.name, "mode": "alone", "control": WRONG_CONSTANT,
            "note": note,
        }  # fmt: skip
        ends = {"value": best.control.value, "low": best.control.low, "high": best.control.high}
        return [
            row(quantity="restored_share", n=len(best.right), **ends, **shared),
            row(quantity="harm_inside", value=best.control_harm, n=len(self.at_reference), **shared),
        ]

    # ---- the location -------------------------------------------------------------------------
    def _located(
        self, length: int, batch: Batch, at: Judged, blind: Findings, rng: np.random.Generator
    ) -> tuple[list[Row], Site | None, list[tuple[HeadReading, float]]]:
        shared: dict[str, Any] = {"law": self.law, "length": length, "n": len(at)}
        names = ("failure_site", "code_kept", "answer_readable", "oracle_key_share", "oracle_key_gap")
        if self.task.real or batch.prompt is not None:
            why = "answers are no classes that a probe could read off one row"
            told = [q for q in QUANTITIES if q.name in names]
            some: dict[str, Any] = {"law": self.law, "length": length}
            return [missing_row("not_applicable", why, quantity=q.name, **some) for q in told], None, []
        fresh = [untrained_twin(self.model, seed) for seed in range(FRESH)]
        blocks = read_blocks(self.model, fresh[0], self.fit, self.reference, batch, rng)
        heads = read_heads(self.model, self.task, self.reference, batch, at, fresh, range(self.model.cfg.n_layers), rng)
        reporting = halves(len(at))[1]
        head_shares = [(head, blind.bootstrap.share(head.right[reporting])) for head in heads]
        a_reference = balanced_accuracy(self.at_reference.right, self.at_reference.classes)
        values = [share.value for _, share in head_shares]
        a_at = balanced_accuracy(at.right, at.classes)
        said = Blind(blind.recovering_families, math.log(batch.tokens.shape[1] / self.reference.tokens.shape[1]))
        site = name_site(blocks, heads, values, said, a_reference, a_at, chance(at.classes))
        rows = [
            row(quantity="failure_site", label=site.label, layer=site.layer, head=site.head, note=site.note, **shared)
        ]
        for block in blocks:
            rows += _block_rows(block, shared)
        for head, share in head_shares:
            place = {"layer": head.layer, "head": head.head}
            ends = {"value": share.value, "low": share.low, "high": share.high}
            note = f"it carries the answer: {head.carries:.2f} of answers at N turn with what it reads"
            rows.append(row(quantity="oracle_key_share", note=note, **ends, **place, **shared))
            control: dict[str, Any] = {"control": UNTRAINED_MODEL, "note": f"the largest of {FRESH}"}
            rows.append(row(quantity="oracle_key_share", value=head.untrained, **control, **place, **shared))
            weight = f"weight on it {head.weight:.3f}, at N {head.weight_trained:.3f}"
            rows.append(row(quantity="oracle_key_gap", value=head.gap, note=weight, **place, **shared))
        if not head_shares:
            why = "no head was found that carries the answer" if self._keyed(batch) else "the task names no one token"
            some = {"law": self.law, "length": length}
            rows += [
                missing_row("not_applicable", why, quantity=name, control=control, **some)
                for name, control in (
                    ("oracle_key_share", ""),
                    ("oracle_key_share", UNTRAINED_MODEL),
                    ("oracle_key_gap", ""),
                )
            ]
        return rows, site, [(head, share.value) for head, share in head_shares]

    def _keyed(self, batch: Batch) -> bool:
        return self.task.answer_index(batch) is not None


def _block_rows(block: BlockReading, shared: Mapping[str, Any]) -> list[Row]:
    fields = {**shared, "layer": block.layer}
    note = f"at N {block.at_n_trained:.3f}"
    return [
        row(quantity="code_kept", value=block.kept, note=note, **fields),
        row(quantity="answer_readable", value=block.refit, **fields),
        row(quantity="answer_readable", value=block.untrained, control=UNTRAINED_MODEL, **fields),
        row(quantity="answer_readable", value=block.shuffled, control=SHUFFLED_LABELS, **fields),
    ]


def recovered_at(site: Site | None, heads: Sequence[tuple[HeadReading, float]]) -> float | None:
    """Return the share of the drop that the answer's key recovers at the head of a location.

    None is returned if the location is not the selection of a key.
    """
    if site is None or site.label != "selection":
        return None
    return max((share for head, share in heads if (head.layer, head.head) == (site.layer, site.head)), default=None)


def untrained_twin(model: HookedModel, seed: int) -> HookedModel:
    """Return a model of the same architecture before training."""
    made: HookedModel = type(model)(model.cfg, seed=seed)  # type: ignore[call-arg]
    made.eval()  # type: ignore[attr-defined]
    return made


def samples_row(samples: Bootstrap, **fields: Any) -> Row:
    """Return a row with the accuracy at n of a bootstrap, with its interval."""
    low, high = interval(samples.accuracies)
    return row(value=samples.a_at, low=min(float(low), samples.a_at), high=max(float(high), samples.a_at), **fields)


def diagnose(
    model: HookedModel,
    task: Task,
    *,
    trained: int,
    lengths: Sequence[int] | None = None,
    sequences: int = 512,
    seed: int = 0,
    **settings: Any,
) -> Result:
    """Diagnose why a model fails beyond N, the longest trained length, for a model in memory; see :class:`Diagnosis`.

    Args:
        model: any model with TransformerLens's hook names.
        task: the task on which it was trained.
        trained: N, the longest trained length.
        lengths: lengths that may be diagnosed; None = those of a run.
        sequences: sequences per length.
        seed: seed of sequences, random choices and bootstrap.
        settings: settings of the measurement.
    """
    made = Diagnosis(**settings)
    return run(made, model, task, trained=trained, lengths=lengths, sequences=sequences, seed=seed)
