"""One sequence of a run's task, typed or drawn, with the checkpoint that reads it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from workbench.measure.edits.chosen_sequence import draw, first_wrong
from workbench.measure.edits.edit import Edit, EditError, check_edits
from workbench.measure.edits.edited_forward import Trained, check_intervention, edited_forward, largest_id
from workbench.measure.edits.interventions.sharpening import ScaleScores
from workbench.measure.edits.reading import FirstWrong
from workbench.models.base.protocol import HookedModel
from workbench.runs.run import Run
from workbench.tasks.base import Batch, Task, TaskError
from workbench.tasks.random_generator import generator
from workbench.tasks.tokens import parse_tokens, write_tokens

LONGEST = 16_384
"""Maximum number of positions of the sequence. The cost of attention scores grows with its square."""

EXPLICIT = 4_096
"""Maximum number of positions for hardmax or rescaled attention, where all scores are in memory at once."""

MEAN_STRINGS = 64
"""Number of matched sequences for the mean of mean ablation; fewer for long sequences."""

_MEAN_TOKENS = 1 << 16

Progress = Callable[[int, int, str], None]


def quiet(done: int, total: int, doing: str = "") -> None:
    """Do nothing; a progress callback for callers that show no progress."""


@dataclass(frozen=True)
class OneSequence:
    """A batch with one sequence, its task, and the model that reads it.

    Attributes:
        run, step, task, model: the checkpoint, verified.
        batch: the labelled sequence.
        text: the sequence as a user types it, without BOS.
        chosen: how it was chosen, if it is the first wrong sample.
    """

    run: Run
    step: int
    task: Task
    model: HookedModel
    batch: Batch
    text: str
    chosen: FirstWrong | None = None

    @property
    def tokens(self) -> list[str]:
        """Return the names of the sequence's tokens, with BOS first if the task has it."""
        return [self.task.tokens_names[i] for i in self.batch.tokens[0].tolist()]

    @property
    def strings(self) -> list[int]:
        """Return the token ids of the sequence, without BOS."""
        ids: list[int] = self.batch.tokens[0, int(self.batch.bos) :].tolist()
        return ids

    def forward(self, edits: Sequence[Edit], names: Sequence[str]) -> dict[str, Tensor]:
        """Return named activations and ``logits`` under edits; see :func:`edited_forward`."""
        reference = self.reference() if any(edit.kind == "mean" for edit in edits) else None
        return edited_forward(self.model, self.batch, edits, names, reference, self.training_facts)

    @property
    def training_facts(self) -> Trained:
        """Facts about training for interventions."""
        return trained_of(self.run, self.step, self.batch.bos)

    def reference(self) -> Batch:
        """Draw matched sequences, at least as long as this one, for means per position."""
        length = self.task.next_length(self.batch.length)
        count = max(8, min(MEAN_STRINGS, _MEAN_TOKENS // length))
        seed = self.run.config["seeds"]["evaluation"]
        drawn = generator("mean", seed, "matched", length)
        return self.task.sample(count, length, drawn, "matched", window=self.run.trained_length)


def trained_of(run: Run, step: int, bos: bool) -> Trained:
    """Return facts about a checkpoint's training for interventions; ``bos``: whether its sequences begin with BOS."""
    return Trained(run.trained_length + int(bos), largest_id(run.meta(step).get("trained_ids")))


def one_sequence(run_path: str, step: int, sequence: Mapping[str, Any], edits: Sequence[Edit] = ()) -> OneSequence:
    """Open a checkpoint with one sequence, and check that the model can read it.

    Args:
        run_path: folder of the run.
        step: step of the checkpoint.
        sequence: ``{"text": ...}``, typed tokens; ``{"law": ..., "length": ..., "seed": ...}``, drawn; or
            ``{"law": ..., "length": ..., "wrong_of": ...}``, the first of so many samples whose last answer the model
            gets wrong.
        edits: edits of the pass, checked against the model and the sequence.

    Raises:
        RunError: for a checkpoint that is missing or damaged.
        TaskError: for tokens or lengths that the task does not have, or too many tokens.
        EditError: for an edit that the model or the sequence does not support.
    """
    run = Run.open(run_path)
    task = run.task
    batch = _typed(task, str(sequence["text"])) if "text" in sequence else _draw(run, task, {"seed": 0, **sequence})
    positions = batch.tokens.shape[1]
    if positions > LONGEST:
        raise TaskError(f"the sequence has {positions:,} positions; shorten it to at most {LONGEST:,}")
    model = run.load(step)
    chosen = first_wrong(model, run, task, step, sequence) if "wrong_of" in sequence else None
    if chosen is not None:
        batch = draw(run, task, {**sequence, "seed": chosen.sample})
    check_edits(edits, model.cfg.n_layers, int(model.cfg.n_heads), batch.length)
    for edit in edits:
        check_intervention(model, edit)
    explicit = any(edit.kind == "hardmax" or isinstance(edit.intervention, ScaleScores) for edit in edits)
    if explicit and positions > EXPLICIT:
        raise EditError(
            f"hard or sharpened attention is computed for at most {EXPLICIT:,} positions; shorten the sequence"
        )
    text = write_tokens(batch.tokens[0, int(batch.bos) :].tolist(), task.tokens_names)
    return OneSequence(run, step, task, model, batch, text, chosen)


def _typed(task: Task, text: str) -> Batch:
    if len(text) > 16 * LONGEST:
        raise TaskError(f"the text has {len(text):,} characters; a sequence has at most {LONGEST:,} positions")
    ids = parse_tokens(text, task.tokens_names, task.bos)
    return task.label(torch.tensor([ids]), law="given")


def _draw(run: Run, task: Task, sequence: Mapping[str, Any]) -> Batch:
    length = int(sequence["length"])
    if length > LONGEST:
        raise TaskError(f"a sequence of length {length:,} is too long; choose at most {LONGEST - 1:,}")
    return draw(run, task, sequence)
