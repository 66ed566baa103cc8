"""``behaviour.invariance``: does an answer depend on the sequence's position, or on its length?

Two changes preserve the right answer. *Shift* moves all position ids by an offset and keeps the tokens. If answers
change, the model reads absolute positions. *Filler* inserts neutral tokens, which the task declares, at random
positions, so that a sequence of N tokens becomes one of n tokens. If answers change, they depend on the prefix length
or on where tokens are.

Neither change tests whether answers are right. A model that is always wrong in the same way agrees with itself.
Unrelated answers agree by chance, too: two equally likely ones in half of all cases.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from workbench.measure.grid import lengths_for
from workbench.measure.measurement import MeasurementWithoutBatches, Quantity, Study
from workbench.measure.rows import missing_row, share_row
from workbench.measure.settings import Counts, Factors
from workbench.measure.study import forward, ids_in_intervals
from workbench.models.errors import PositionError
from workbench.table.schema import Row
from workbench.tasks.base import EVALUATION_LAWS, Batch, Task

if TYPE_CHECKING:
    pass

NAME = "behaviour.invariance"
SHIFT, FILLER = "shift_agreement", "filler_agreement"
QUANTITIES = (
    Quantity(
        SHIFT,
        "Share of sequences of n tokens whose answer stays the same when all position ids move by an offset "
        "(mode) and the tokens stay. It is 1 if the model uses only differences of positions, and undefined "
        "if it uses no position ids. It does not depend on whether answers are correct.",
        "share",
        0,
        1,
        formula="⟨1[f(x, i + o) = f(x, i)]⟩",
        where="f: answer to the sequence x with position ids i, o: the offset",
    ),
    Quantity(
        FILLER,
        "Share of sequences of N tokens (mode) whose answer stays the same when neutral tokens (target) are "
        "inserted at random positions until there are n. It is 1 if neither length nor position matters. It "
        "does not depend on whether answers are correct.",
        "share",
        0,
        1,
        formula="⟨1[f(x + e) = f(x)]⟩",
        where="f: answer, x + e: the sequence x of N tokens with n − N neutral tokens inserted",
    ),
)
NO_IDS = "the model reads no position ids"
NO_NEUTRAL = "the task states no neutral symbol"
NOT_ASKED = "the task asks nothing at this length"


class Invariance(MeasurementWithoutBatches):
    """Measure how often answers stay the same under shifted position ids, and under inserted neutral tokens.

    Args:
        offsets: offsets of the position ids, in tokens.
        offset_factors: further offsets as multiples of N, the longest training length; rounded.
        shift_factors: prefix lengths for shifts, as multiples of N; the nearest measured ones are used.
        filler_factors: prefix lengths to which sequences are filled, as multiples of N; the nearest measured ones past
            N are used. The filled sequences have the longest length inside training.
    """

    name = NAME
    title = "Invariance"
    quantities = QUANTITIES
    laws = ()
    sequences = 128

    offsets: Counts = (1,)
    offset_factors: Factors = (0.25, 1, 4)
    shift_factors: Factors = (0.5, 1, 4)
    filler_factors: Factors = (2, 4, 8)

    def finish(self, study: Study) -> list[Row]:
        return [row for law in EVALUATION_LAWS for row in [*self._shifts(study, law), *self._fillers(study, law)]]

    # ---- other ids -------------------------------------------------------------------------------
    def _shifts(self, study: Study, law: str) -> list[Row]:
        if not study.cfg.positions.reads_ids:
            return [missing_row("undefined", NO_IDS, quantity=SHIFT, law=law)]
        moved = sorted({*self.offsets, *(max(1, round(study.grid.trained * f)) for f in self.offset_factors)})
        return [row for n in lengths_for(study.grid, self.shift_factors) for row in self._shifted(study, law, n, moved)]

    def _shifted(self, study: Study, law: str, length: int, offsets: Sequence[int]) -> list[Row]:
        batch, cfg = study.batch(law, length), study.cfg
        ids = cfg.ids.evaluation(batch.tokens.shape[1], cfg.n_ctx, batch.position_ids)
        clean = forward(study.model, batch, [])["logits"]
        study.passes += 1
        rows = []
        for offset in offsets:
            place: dict[str, Any] = {"quantity": SHIFT, "law": law, "length": length, "mode": f"by {offset}"}
            moved = cfg.ids.shift_ids(ids, offset)
            try:
                moved_outputs = forward(study.model, batch, [], ids=moved)["logits"]
            except PositionError as error:
                rows.append(missing_row("undefined", str(error), **place))
                continue
            study.passes += 1
            rows.append(share_row(answered_alike(study.task, clean, moved_outputs, batch), NOT_ASKED, **place))
            rows[-1] |= unseen_of(study, moved)
        return rows

    # ---- other lengths ---------------------------------------------------------------------------
    def _fillers(self, study: Study, law: str) -> list[Row]:
        task, home = study.task, max(study.grid.inside, default=None)
        if not task.neutral_tokens:
            return [missing_row("not_applicable", NO_NEUTRAL, quantity=FILLER, law=law)]
        longer = lengths_for(study.grid, self.filler_factors, beyond=True)
        if home is None or not longer:
            why = "needs a measured length within training and one past it"
            return [missing_row("undefined", why, quantity=FILLER, law=law)]
        batch = study.batch(law, home)
        if batch.prompt is not None:
            why = "answers are part of the string, so that fillers would stand among them"
            return [missing_row("not_applicable", why, quantity=FILLER, law=law)]
        open_to_some = task.neutral_gaps(batch.tokens[:, int(batch.bos) :]).any(1)
        batch = batch.take(open_to_some.nonzero()[:, 0])
        names = ", ".join(task.tokens_names[token] for token in task.neutral_tokens)
        shared: dict[str, Any] = {"quantity": FILLER, "law": law, "mode": f"from {home}", "target": names}
        if not len(batch):
            why = "no string has a place for a neutral token"
            return [missing_row("undefined", why, length=n, **shared) for n in longer]
        clean = forward(study.model, batch, [])["logits"]
        study.passes += 1
        return [self._filled(study, batch, clean, {**shared, "length": n}) for n in longer]

    def _filled(self, study: Study, batch: Batch, clean: Tensor, place: dict[str, Any]) -> Row:
        task, length = study.task, place["length"]
        filled_batch, places = insert_neutral_tokens(task, batch, length, study.rng(NAME, place["law"], length))
        kept = take_places(filled_batch.targets, places)
        if not torch.equal(kept[batch.mask], batch.targets[batch.mask]):
            why = f"{task.name} states that {place['target']} is neutral, but inserting it changes right answers"
            return missing_row("undefined", why, **place)
        other = take_places(forward(study.model, filled_batch, [])["logits"], places)
        study.passes += 1
        return share_row(answered_alike(task, clean, other, batch), NOT_ASKED, **place)


def answered_alike(
    task: Task, a: Float[Tensor, "batch pos out"], b: Float[Tensor, "batch pos out"], batch: Batch
) -> Bool[np.ndarray, " asked"]:
    """Return whether two outputs give the same answer, for each sequence with a query at its end.

    Answers are compared by argmax, or within the tolerance of a task with real answers. Where several queries decide,
    all of them must agree.
    """
    same = task.correct(a, replace(batch, targets=b if task.real else b.argmax(-1)))
    asked = batch.mask[:, batch.index(batch.length)]
    found: Bool[np.ndarray, " asked"] = task.sequence_correct(same, batch)[asked].numpy(force=True)
    return found


def insert_neutral_tokens(
    task: Task, batch: Batch, length: int, rng: np.random.Generator
) -> tuple[Batch, Int[Tensor, "batch pos"]]:
    """Insert neutral tokens until the sequences have ``length`` tokens.

    Every inserted token goes to a gap of its own, uniform over the gaps that the task allows. The token is uniform over
    the neutral tokens.

    Returns:
        the labelled sequences, and ``[batch, pos]``: the new index of each position of ``batch``.
    """
    first = int(batch.bos)
    strings = batch.tokens[:, first:].cpu()
    gaps = task.neutral_gaps(strings).numpy()
    count = np.stack([rng.multinomial(length - batch.length, row / row.sum()) for row in gaps.astype(float)])
    places = torch.from_numpy(np.arange(batch.length) + count.cumsum(1))
    neutral = torch.tensor(task.neutral_tokens)
    made = neutral[torch.from_numpy(rng.integers(0, len(neutral), (len(strings), length)))]
    made.scatter_(1, places, strings)
    if first:
        places = torch.cat([torch.zeros_like(places[:, :1]), places + 1], 1)
    return task.label(made), places


def take_places(x: Tensor, places: Int[Tensor, "batch pos"]) -> Tensor:
    """Return ``[batch, pos, ...]``: the entries of ``x`` at the given indices of each row."""
    return x[torch.arange(len(x))[:, None], places.to(x.device)]


def unseen_of(study: Study, ids: Int[Tensor, "#batch pos"]) -> Row:
    """Return status and note for ids that training never used, if the model reads ids absolutely; else {}."""
    if not study.cfg.positions.absolute or study.trained_ids is None:
        return {}
    used = np.unique(ids.numpy(force=True))
    new = int((~ids_in_intervals(used, study.trained_ids)).sum())
    return {"status": "unseen_position", "note": f"{new} of {len(used)} ids unseen in training"} if new else {}
