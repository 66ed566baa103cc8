"""Copies that a model of text continues, forwards or backwards, without training on such prompts.

A prompt is n uniform and different symbols, then the first m symbols of a span of them again: forwards (going right),
or backwards (going left). The answer is the next symbol of the copy: the successor of the last symbol written, or its
predecessor. The model is right if that symbol is the likeliest of all symbols; other output tokens are ignored. A
random model is right in one of as many cases as there are symbols.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from jaxtyping import Int
from torch import Tensor

from workbench.claims.errors import ClaimError
from workbench.claims.trained.bin_accuracy import STRINGS, share
from workbench.claims.trained.run_rows import StatisticRows
from workbench.claims.trained.run_statistics import statistic
from workbench.claims.trained.trained_run import TrainedRun
from workbench.tasks.random_generator import generator
from workbench.tasks.sampling import distinct, integers
from workbench.tasks.text.copied_text import CopiedText

SIDES = {"right": 1, "left": -1}


@statistic("zero-shot copies", version=1)
def zero_shot_rows(run: TrainedRun, sizes: Sequence[int], shown: int = 2) -> StatisticRows:
    """Return the share of copies that are continued correctly, ``zero-shot right, n N`` and ``zero-shot left, n N``.

    Args:
        run: a run of a text whose segments come again.
        sizes: how many different symbols stand before the copy.
        shown: m, symbols of the copy that the prompt shows; with one, the direction is undetermined.

    Raises:
        ClaimError: for a run of another task, or sizes that its alphabet or a copy does not have.
    """
    task = run.task
    if not isinstance(task, CopiedText):
        raise ClaimError(f"copies are continued only by models of the task copied_text, not of {task.name}")
    if not sizes or shown < 1 or min(sizes) <= shown or max(sizes) > task.symbols:
        raise ClaimError(
            f"if {shown} symbols of a copy are given, the prompt needs {shown + 1} to {task.symbols} different "
            f"symbols, not {', '.join(map(str, sizes))}"
        )
    for size in sizes:
        for side, step in SIDES.items():
            prompts, answers = copy_prompts(task.symbols, STRINGS, size, shown, step)
            said = run.answers(task.label(prompts))["logits"][:, -1, : task.symbols]
            right = int((said.argmax(-1) == answers).sum())
            place = {"setting": f"n {size}", "length": size + shown, "n": STRINGS}
            yield {"quantity": f"zero-shot {side}", **share(right, STRINGS), **place}


def copy_prompts(
    symbols: int, count: int, size: int, shown: int, step: int
) -> tuple[Int[Tensor, "count length"], Int[Tensor, " count"]]:
    """Return prompts as token ids without BOS, and the next symbol (from 0) of each copy; the same for every run.

    Args:
        symbols: the symbols of the alphabet, whose token ids are 1 and up.
        count: prompts.
        size: n.
        shown: m.
        step: 1 for copies forwards, -1 backwards.
    """
    g = generator("claims", "zero-shot", size, shown, step)
    x = distinct(symbols, count, size, g)
    first = integers(size - shown, (count, 1), g)
    places = (first if step > 0 else size - 1 - first) + step * torch.arange(shown + 1)
    copy = x.gather(1, places)
    return 1 + torch.cat([x, copy[:, :shown]], 1), copy[:, shown]
