"""Controls of decodability: what a probe scores without reading anything learned.

Two controls change the label and keep the activations. *Shuffled labels* give chance plus overfitting. *Hashed labels*
are a control task (Hewitt and Liang 2019): a random function of the last tokens, which is useless to the model. The
others keep the label and change the input of the probe: an untrained model, the query token, the last tokens, or
nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import torch
from jaxtyping import Float, Int, Shaped
from numpy.typing import NDArray
from torch import Tensor

from probes.fitting.probe_rows import WINDOW, ProbeRows
from workbench.core.names import SHUFFLED_LABELS, UNTRAINED_MODEL

SHUFFLED = SHUFFLED_LABELS
HASHED = "hashed_labels"
UNTRAINED = UNTRAINED_MODEL
TOKEN = "token_only"
TOKENS = f"last_{WINDOW}_tokens"
CONSTANT = "position_only"
OF_STATE_CODES = (SHUFFLED, HASHED, UNTRAINED, TOKEN, TOKENS)
"""The controls of quantities about the code of the task state."""


def shuffle_labels(y: Shaped[Tensor, "row *s"], rng: np.random.Generator) -> Shaped[Tensor, "row *s"]:
    """Return the labels, randomly permuted over the rows of all sequences."""
    return y[torch.from_numpy(rng.permutation(len(y)))]


def relabel_rows(rows: ProbeRows, target: str, control: str, rng: np.random.Generator) -> ProbeRows:
    """Return the same rows with the labels of a label control; "" = the target's own labels."""
    y = rows.labels[target]
    if control == SHUFFLED:
        y = shuffle_labels(y, rng)
    elif control == HASHED:
        y = hash_labels(y, rows.tokens)
    return replace(rows, labels={**rows.labels, target: y})


def hash_labels(y: Shaped[Tensor, "row *s"], tokens: Int[Tensor, "row window"]) -> Shaped[Tensor, "row *s"]:
    """Return a fixed random function of the last tokens, with (nearly) the distribution of ``y``.

    Equal windows get equal labels, at every length, of every checkpoint and run.
    """
    if not len(y):
        return y
    rank = (_uniform(tokens) * len(y)).astype(np.int64)
    # Sorted, so that the label of a window does not depend on the order of rows.
    order = np.lexsort(y.reshape(len(y), -1).numpy().T[::-1])
    return y[torch.from_numpy(order[rank])]


def _uniform(tokens: Int[Tensor, "row window"]) -> NDArray[np.float64]:
    """Return a hash of each row in [0, 1): one round of the splitmix64 mixer per token."""
    state = np.zeros(len(tokens), dtype=np.uint64)
    for column in tokens.numpy().astype(np.int64).view(np.uint64).T:
        z = state + column + np.uint64(0x9E3779B97F4A7C15)
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        state = z ^ (z >> np.uint64(31))
    return (state >> np.uint64(11)).astype(np.float64) / 2.0**53


def inputs_by_length(tokens: Mapping[int, Int[Tensor, "_ window"]], control: str) -> dict[int, Tensor]:
    """Return the inputs of a control without a model by length, ``[row, feature]``, with the same features."""
    read = inputs(torch.cat(list(tokens.values())), control)[0]
    return dict(zip(tokens, read.split([len(t) for t in tokens.values()]), strict=True))


def inputs(tokens: Int[Tensor, "row window"], control: str) -> Float[Tensor, "one row feature"]:
    """Return the inputs of a control without a model, as its only site.

    Args:
        tokens: the last tokens of each row, -1 before the start.
        control: ``token_only``, ``last_8_tokens`` (one indicator per token and offset) or ``position_only`` (one
            constant feature, since position is constant at one exact prefix length).
    """
    if control == CONSTANT:
        return torch.zeros(1, len(tokens), 1, dtype=torch.float64)
    seen = tokens[:, -1:] if control == TOKEN else tokens
    ids = seen.unique()
    present: Tensor = seen[:, :, None] == ids[ids >= 0]
    return present.flatten(1).double()[None]
