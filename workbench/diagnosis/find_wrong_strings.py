"""The sequences that a checkpoint answers wrong with the largest margin, and their nearest correct inputs.

The dashboard's worker calls these functions by name; everything that they return is plain data.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from circuits.passes import pieces
from workbench.diagnosis.intervened_pass import TIE, asking, clearly_right
from workbench.measure.edits.edit import Edit, EditError, parse_edits
from workbench.measure.edits.edited_forward import Trained, check_intervention, edited_forward
from workbench.measure.edits.one_sequence import Progress, quiet, trained_of
from workbench.measure.edits.reading import Twin, WrongString, WrongStrings
from workbench.measure.grid import make_grid
from workbench.measure.model_study import ModelStudy
from workbench.models.base.protocol import HookedModel
from workbench.runs.run import Run
from workbench.tasks.base import Batch, Task
from workbench.tasks.tokens import write_tokens

STRINGS = 512
"""Number of evaluated sequences, as in a diagnosis."""
MOST = 12
"""Maximum number of sequences that are returned."""
REPLACED = 1024
"""Maximum number of single-token replacements per sequence; if there are more, this many evenly spread ones."""


def find_wrong_strings(
    run_path: str,
    step: int,
    length: int,
    law: str = "matched",
    repair: str = "",
    count: int = MOST,
    progress: Progress = quiet,
) -> WrongStrings:
    """Return the sequences of one length that a checkpoint answers wrong by the largest margins.

    Each comes with its nearest correct input, a sequence with the same right answer that the model answers right. This
    is the sequence with one token replaced, if such a replacement exists; among several, the one with the largest
    margin. Otherwise it is the sequence of the sample that differs at the fewest positions.

    Args:
        run_path: folder of the run.
        step: step of the checkpoint.
        length: n.
        law: name of the test set.
        repair: name of an intervention that is tested on the wrong sequences; "" = none.
        count: maximum number of sequences.
        progress: called with the number of finished sequences.

    Raises:
        RunError: for a checkpoint that is missing or damaged.
        EditError: for an intervention that the model does not support.
    """
    run = Run.open(run_path)
    model, task = run.load(step), run.task
    edits = parse_edits(repair)
    for edit in edits:
        check_intervention(model, edit)
    study = ModelStudy(
        model,
        task,
        make_grid(task, run.trained_length, [length], run.shortest_trained),
        STRINGS,
        run.config["seeds"]["evaluation"],
    )
    batch = asking(study.batch(law, length))
    trained = trained_of(run, step, batch.bos)
    return wrong_strings(model, task, batch, edits, trained, step, count, progress)


def wrong_strings(
    model: HookedModel,
    task: Task,
    batch: Batch,
    edits: tuple[Edit, ...] = (),
    trained: Trained | None = None,
    step: int = 0,
    count: int = MOST,
    progress: Progress = quiet,
) -> WrongStrings:
    """Return the same as :func:`find_wrong_strings`, for a model in memory and given sequences of one length.

    Args:
        model: any model with TransformerLens's hook names.
        task: the task, which determines the right answers.
        batch: sequences with a query at their end.
        edits: at most one intervention.
        trained: facts about training that the intervention needs.
        step: step in the result.
        count: maximum number of sequences.
        progress: called with the number of finished sequences.
    """
    shared: dict[str, Any] = {"step": step, "length": batch.length, "law": batch.law}
    if task.real or batch.prompt is not None or task.output_names is None:
        return WrongStrings([], 0, 0, **shared, problem="answers are no classes, so that none is given with confidence")
    if len(edits) > 1 or any(edit.kind != "repair" for edit in edits):
        raise EditError("incorrectly answered sequences can be tried with at most one intervention; give one")
    logits = last_logits(model, batch)
    lead = leads(logits, batch.targets[:, -1])
    right = lead > slack(logits)
    if bool((right != right_without_tie(model, task, batch, (), trained)).any()):
        return WrongStrings([], 0, 0, **shared, problem="more than one answer can be right")
    wrong = [i for i in lead.argsort().tolist() if lead[i] < -slack(logits)[i]]
    mended = (
        right_without_tie(model, task, batch.take(torch.tensor(wrong)), edits, trained) if edits and wrong else None
    )
    results, tried = [], 0
    right_tokens, answers, margins = batch.tokens[right], batch.targets[right, -1], lead[right]
    for place, i in enumerate(wrong[:count]):
        progress(place, min(count, len(wrong)), "replacing one token at a time")
        string, answer = batch.tokens[i], int(batch.targets[i, -1])
        twin, tried = best_replacement(model, task, string[int(batch.bos) :], answer)
        if twin is None:
            same = answers == answer
            twin = nearest(task, string, right_tokens[same], margins[same], batch.bos)
        results.append(
            WrongString(
                sequence_text(task, string, batch.bos),
                task.output_names[answer],
                task.output_names[int(logits[i].argmax())],
                -float(lead[i]),
                twin,
                None if mended is None else bool(mended[place]),
            )
        )
    return replace(
        WrongStrings(results, len(wrong), len(batch), **shared, tried=tried),
        repair=edits[0].repair if edits else "",
        repaired=None if mended is None else int(mended.sum()),
    )


def right_without_tie(
    model: HookedModel, task: Task, batch: Batch, edits: tuple[Edit, ...], trained: Trained | None
) -> Bool[Tensor, " batch"]:
    """Return ``[batch]``, whether each sequence is answered right without a tie, under the edits."""
    right = []
    for one in pieces(batch):
        outputs = edited_forward(model, one, edits, [], None, trained)["logits"]
        right.append(clearly_right(task, outputs, one))
    return torch.from_numpy(np.concatenate(right)) > 0.5


def slack(logits: Float[Tensor, "batch out"]) -> Float[Tensor, " batch"]:
    """Return the smallest lead of the best answer that is not a tie, per sequence."""
    return TIE * (1 + logits.abs().amax(1))


def last_logits(model: HookedModel, batch: Batch) -> Float[Tensor, "batch out"]:
    """Return the logits of the answers at the last position, in float64."""
    parts = [edited_forward(model, one, (), [])["logits"][:, -1] for one in pieces(batch)]
    return torch.cat(parts).double()


def leads(logits: Float[Tensor, "batch out"], answers: Int[Tensor, " batch"]) -> Float[Tensor, " batch"]:
    """Return the right answer's logit minus the best other one."""
    own = logits.gather(1, answers[:, None])[:, 0]
    return own - logits.scatter(1, answers[:, None], -torch.inf).amax(1)


def best_replacement(
    model: HookedModel, task: Task, string: Int[Tensor, " length"], answer: int
) -> tuple[Twin | None, int]:
    """Return the best single-token replacement that the model answers right, and how many replacements were tried.

    The replacement keeps the right answer. Among several, the one with the largest margin is returned; None if there is
    none.
    """
    first, length = int(task.bos), len(string)
    swaps = [(at, new) for at in range(length) for new in range(first, task.d_vocab) if new != int(string[at])]
    if len(swaps) > REPLACED:
        swaps = [swaps[i * len(swaps) // REPLACED] for i in range(REPLACED)]
    tried = string.repeat(len(swaps), 1)
    tried[torch.arange(len(swaps), device="cpu"), torch.tensor([at for at, _ in swaps])] = torch.tensor(
        [new for _, new in swaps]
    )
    batch = task.label(tried)
    logits = last_logits(model, batch)
    lead = leads(logits, batch.targets[:, -1])
    fits = batch.mask[:, -1] & (batch.targets[:, -1] == answer) & (lead > slack(logits))
    if not bool(fits.any()):
        return None, len(swaps)
    best = int(lead.masked_fill(~fits, -torch.inf).argmax())
    at, new = swaps[best]
    names = task.tokens_names
    was, becomes = names[int(string[at])], names[new]
    return Twin(write_tokens(tried[best].tolist(), names), (at + 1,), float(lead[best]), True, was, becomes), len(swaps)


def nearest(
    task: Task,
    string: Int[Tensor, " pos"],
    candidates: Int[Tensor, "other pos"],
    lead: Float[Tensor, " other"],
    bos: bool,
) -> Twin | None:
    """Return the sequence of ``candidates`` that differs at the fewest positions; among equal ones, the first."""
    if not len(candidates):
        return None
    differs = candidates != string
    at = int(differs.sum(1).argmin())
    places = (differs[at].nonzero()[:, 0] + 1 - int(bos)).tolist()
    return Twin(sequence_text(task, candidates[at], bos), tuple(places), float(lead[at]), False)


def sequence_text(task: Task, string: Int[Tensor, " pos"], bos: bool) -> str:
    """Return a sequence as a user types it."""
    return write_tokens(string[int(bos) :].tolist(), task.tokens_names)
