"""A retrieval model used for copying: it retrieves the neighbour of each symbol in turn, with a new prompt each time.

The input's symbols are all different. Going right, the copy begins with the first symbol, which is given. Each further
symbol is the model's answer to the query for the successor of the last symbol written. Going left, the copy begins with
the last symbol. A prompt depends only on the input and the last symbol written. A copy is therefore entirely right
exactly if the answer to every prompt with a right symbol is, and all its prompts are evaluated in one batch.
"""

from __future__ import annotations

import torch

from workbench.claims.errors import ClaimError
from workbench.claims.trained.bin_accuracy import STRINGS, bins_of, lengths_in, share
from workbench.claims.trained.run_rows import StatisticRows
from workbench.claims.trained.run_statistics import statistic
from workbench.claims.trained.trained_run import TrainedRun
from workbench.tasks.random_generator import generator
from workbench.tasks.retrieval.neighbours import UL, UR
from workbench.tasks.sampling import distinct


@statistic("copies", version=1)
def copy_rows(run: TrainedRun, bins: int = 3) -> StatisticRows:
    """Return the share of copies in which all symbols are correct, by ranges of the prompt's length."""
    task = run.task
    if not isinstance(task, UR | UL):
        raise ClaimError(f"copying by repeated retrieval needs a model of the task ur or ul, not of {task.name}")
    for name, (low, high) in bins_of(run.longest, bins).items():
        lengths = lengths_in(run, low, high)
        if lengths and lengths[-1] - 2 > task.symbols:
            raise ClaimError(
                f"a copy of {lengths[-1] - 2} different symbols needs a task with as many symbols, but {task.name} has "
                f"{task.symbols}; use shorter prompts"
            )
        if lengths:
            found = [_right(run, task, n, -(-STRINGS // len(lengths))) for n in lengths]
            right, n = sum(int(one.sum()) for one in found), sum(map(len, found))
            yield {"quantity": f"{name} copied", "length": high, "n": n, **share(right, n)}


def _right(run: TrainedRun, task: UR | UL, length: int, count: int) -> torch.Tensor:
    """``[string]`` whether all of a copy is right; ``length`` is that of a prompt."""
    inputs = length - 2
    g = generator("claims", "copies", length)
    x = 1 + distinct(task.symbols, count, inputs, g)
    queried = x[:, :-1] if task.side > 0 else x[:, 1:]
    steps = queried.shape[1]
    # A prompt is the input, the separator, and the symbol written last.
    context = x[:, None].expand(-1, steps, -1)
    separator = torch.full((count, steps, 1), task.d_vocab - 1)
    prompts = torch.cat([context, separator, queried[..., None]], 2).flatten(0, 1)
    end, _ = run.right(task.label(prompts))
    return end.view(count, steps).all(1)
