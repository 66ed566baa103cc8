"""The strings that a checkpoint gets most confidently wrong, and what it would take to be right.

What the dashboard's worker is asked by name; everything returned is plain data.
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
"""Strings that are asked, those of the diagnosis."""
MOST = 12
"""Strings that are shown."""
REPLACED = 1024
"""Tokens replaced one at a time for each string; of more, so many evenly spread ones."""


def find_wrong_strings(
    run_path: str,
    step: int,
    length: int,
    law: str = "matched",
    repair: str = "",
    count: int = MOST,
    progress: Progress = quiet,
) -> WrongStrings:
    """The strings of one length that a checkpoint answers wrong by the largest margins.

    Each comes with its nearest right twin: a string with the same right answer that is answered right. That is the
    string with one token replaced, where there is such a token; of several that with the largest margin. Else it is the
    string of the sample that differs at the fewest places.

    Args:
        run_path: folder of the run.
        step: of the checkpoint.
        length: n.
        law: of the strings.
        repair: also try them under this repair; "" = none.
        count: so many strings.
        progress: told how many strings are done.

    Raises:
        RunError: for a checkpoint that is missing or damaged.
        EditError: for a repair that the model has no place for.
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
    """As :func:`find_wrong_strings`, of a model in memory on given strings of one length.

    Args:
        model: any model with TransformerLens's hook names.
        task: says which answers are right.
        batch: strings that ask something at their own length.
        edits: at most one repair.
        trained: what the repair holds a pass to.
        step: told in the answer.
        count: so many strings.
        progress: told how many strings are done.
    """
    shared: dict[str, Any] = {"step": step, "length": batch.length, "law": batch.law}
    if task.real or batch.prompt is not None or task.output_names is None:
        return WrongStrings([], 0, 0, **shared, problem="answers are no classes, so that none is given with confidence")
    if len(edits) > 1 or any(edit.kind != "repair" for edit in edits):
        raise EditError("wrong sequences can be tried under at most one intervention")
    logits = last_logits(model, batch)
    lead = leads(logits, batch.targets[:, -1])
    right = lead > slack(logits)
    if bool((right != judged(model, task, batch, (), trained)).any()):
        return WrongStrings([], 0, 0, **shared, problem="more than one answer can be right")
    wrong = [i for i in lead.argsort().tolist() if lead[i] < -slack(logits)[i]]
    mended = judged(model, task, batch.take(torch.tensor(wrong)), edits, trained) if edits and wrong else None
    found, tried = [], 0
    held, answers, margins = batch.tokens[right], batch.targets[right, -1], lead[right]
    for place, i in enumerate(wrong[:count]):
        progress(place, min(count, len(wrong)), "replacing one token at a time")
        string, answer = batch.tokens[i], int(batch.targets[i, -1])
        twin, tried = flipped(model, task, string[int(batch.bos) :], answer)
        if twin is None:
            same = answers == answer
            twin = nearest(task, string, held[same], margins[same], batch.bos)
        found.append(
            WrongString(
                written(task, string, batch.bos),
                task.output_names[answer],
                task.output_names[int(logits[i].argmax())],
                -float(lead[i]),
                twin,
                None if mended is None else bool(mended[place]),
            )
        )
    return replace(
        WrongStrings(found, len(wrong), len(batch), **shared, tried=tried),
        repair=edits[0].repair if edits else "",
        repaired=None if mended is None else int(mended.sum()),
    )


def judged(
    model: HookedModel, task: Task, batch: Batch, edits: tuple[Edit, ...], trained: Trained | None
) -> Bool[Tensor, " batch"]:
    """Which strings are answered right, and by no tie, as the task says."""
    right = []
    for one in pieces(batch):
        outputs = edited_forward(model, one, edits, [], None, trained)["logits"]
        right.append(clearly_right(task, outputs, one))
    return torch.from_numpy(np.concatenate(right)) > 0.5


def slack(logits: Float[Tensor, "batch out"]) -> Float[Tensor, " batch"]:
    """How far the best answer must lead for there to be no tie."""
    return TIE * (1 + logits.abs().amax(1))


def last_logits(model: HookedModel, batch: Batch) -> Float[Tensor, "batch out"]:
    """The answers' logits at the last position, in float64."""
    parts = [edited_forward(model, one, (), [])["logits"][:, -1] for one in pieces(batch)]
    return torch.cat(parts).double()


def leads(logits: Float[Tensor, "batch out"], answers: Int[Tensor, " batch"]) -> Float[Tensor, " batch"]:
    """The right answer's logit less the best other one."""
    own = logits.gather(1, answers[:, None])[:, 0]
    return own - logits.scatter(1, answers[:, None], -torch.inf).amax(1)


def flipped(model: HookedModel, task: Task, string: Int[Tensor, " length"], answer: int) -> tuple[Twin | None, int]:
    """The string with one token replaced that keeps the right answer and is answered right by the most, and how many
    replacements were tried."""
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
    others: Int[Tensor, "other pos"],
    lead: Float[Tensor, " other"],
    bos: bool,
) -> Twin | None:
    """Of other strings the one that differs at the fewest places; of equal ones the first."""
    if not len(others):
        return None
    differs = others != string
    at = int(differs.sum(1).argmin())
    places = (differs[at].nonzero()[:, 0] + 1 - int(bos)).tolist()
    return Twin(written(task, others[at], bos), tuple(places), float(lead[at]), False)


def written(task: Task, string: Int[Tensor, " pos"], bos: bool) -> str:
    """A string as one types it."""
    return write_tokens(string[int(bos) :].tolist(), task.tokens_names)
