"""The oracle ``counts``: how well the number of each symbol predicts the answer for a string."""

from __future__ import annotations

import numpy as np
import torch
from jaxtyping import Bool, Float
from torch import Tensor

from workbench.tasks.automata.dfa import Automaton, Bools
from workbench.tasks.batch import Batch


def counts_of_words(automaton: Automaton, length: int) -> Bools:
    """``[count]`` whether a language over two symbols has a word of this length with ``count`` of the second symbol.

    The result is exact. The set of counts that lead to each state is followed symbol by symbol, as the bits of one
    integer.
    """
    reached = [int(state == automaton.start) for state in range(len(automaton))]
    for _ in range(length):
        following = [0] * len(reached)
        for state, (first, second) in enumerate(automaton.table.tolist()):
            following[first] |= reached[state]
            following[second] |= reached[state] << 1
        reached = following
    words = 0
    for state in automaton.accepting:
        words |= reached[state]
    return np.array([words >> count & 1 for count in range(length + 1)], dtype=bool)


def counts_hits(batch: Batch, words: Bool[Tensor, " count"] | None) -> Float[Tensor, " batch"]:
    """Return whether the oracle is right at the last query of each string, ``[batch]``.

    Args:
        batch: strings with BOS, whose symbols are the ids from 1 on.
        words: by the number of the second symbol, whether the answer is 1; None = the best answer to all strings of the
            batch with the same numbers.
    """
    strings, target = batch.tokens[:, 1:], batch.targets[:, -1]
    if words is not None:
        return (words.to(target.device)[(strings == 2).sum(1)].long() == target).double()
    counts = torch.stack([(strings == symbol).sum(1) for symbol in range(1, int(strings.max()) + 1)], 1)
    _, group = counts.unique(dim=0, return_inverse=True)
    tally = torch.zeros(int(group.max()) + 1, int(target.max()) + 1, device=target.device)
    tally.index_put_((group, target), torch.ones_like(target, dtype=tally.dtype), accumulate=True)
    return (tally.argmax(1)[group] == target).double()
