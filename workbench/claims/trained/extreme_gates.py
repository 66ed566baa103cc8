"""The gates of a state-space model on one token: does some channel turn its state around?"""

from __future__ import annotations

import torch

from workbench.claims.trained.bin_accuracy import Measured
from workbench.claims.trained.trained_run import TrainedRun
from workbench.measure.study import forward

STRINGS = 64
GATES = "hook_ssm_gates"


def gate_rows(run: TrainedRun, token: str) -> Measured:
    """The least and the greatest gate on a token, each the mean over where it occurs, over all channels and states.

    Args:
        run: of a state-space model.
        token: its name in the task's vocabulary, or several with blanks between, which count as one.
    """
    n = run.task.next_length(run.longest)
    batch = run.strings(STRINGS, n, "matched", "gates")
    names = [name for name in run.model.hook_dict if name.endswith(GATES)]
    ids = [run.task.tokens_names.index(name) for name in token.split()]
    here = torch.isin(batch.tokens, torch.tensor(ids))
    with torch.no_grad():
        seen = forward(run.model, batch, names)
    means = torch.cat([seen[name][here].double().mean(0).flatten() for name in names])
    shared = {"length": n, "n": STRINGS}
    yield {"quantity": f"least gate on {token}", "value": float(means.min()), **shared}
    yield {"quantity": f"greatest gate on {token}", "value": float(means.max()), **shared}
