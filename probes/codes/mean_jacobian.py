"""How the rest of a model reads its residual stream at the query, to first order.

The mean Jacobian J = E[d outputs(query) / d x(query)] is a linear approximation of all later layers. A direction that
no later layer reads is in its kernel. A direction that is read twice as strongly counts twice as much. It is exact
where the later layers are linear. It misses effects that cancel in the mean, such as an exclusive or.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from probes.fitting.probe_rows import ProbeError
from workbench.measure.study import chunks
from workbench.models.base.protocol import HookedModel
from workbench.tasks.base import Batch

MOST_OUTPUTS = 64
"""Maximum number of outputs. Each takes a backward pass, so models with more outputs have no mean Jacobian."""


def mean_jacobian(model: HookedModel, batch: Batch, sites: Sequence[str]) -> Float[Tensor, "site out d"]:
    """Return derivatives of the outputs at the last query with respect to the residual stream there, averaged.

    Only the row of the query is varied. Information in earlier rows reaches it through attention, at a later site.

    Args:
        model: the model.
        batch: the sequences.
        sites: hook names of the residual stream.

    Raises:
        ProbeError: for more than :data:`MOST_OUTPUTS` outputs.
    """
    index, total = batch.index(batch.length), torch.zeros((), dtype=torch.float64)
    for tokens, ids in chunks(model, batch):
        activations: dict[str, Tensor] = {}
        with (
            torch.enable_grad(),
            model.hooks(fwd_hooks=[(site, partial(_hold, activations=activations)) for site in sites]),
        ):
            outputs = model(tokens, ids)[:, index].sum(0)
        if len(outputs) > MOST_OUTPUTS:
            raise ProbeError(f"{len(outputs)} outputs: the mean Jacobian takes a backward pass for each")
        xs = [activations[site] for site in sites]
        by_output = [torch.autograd.grad(one, xs, retain_graph=True) for one in outputs]
        total = total + torch.stack(
            [torch.stack([g[:, index].double().sum(0) for g in found]) for found in by_output], 1
        )
    return total / len(batch)


def _hold(x: Tensor, hook: Any, activations: dict[str, Tensor]) -> Tensor:
    """Store the activation from which the rest of the pass is computed; the graph begins at the first one."""
    activations[hook.name] = x if x.requires_grad else x.detach().requires_grad_()
    return activations[hook.name]
