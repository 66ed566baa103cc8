"""Scores of induction and anti-induction heads whose every weight is a formula, by their own keys and by others."""

from __future__ import annotations

import numpy as np
import torch

from workbench.claims.claim import Row
from workbench.models.handmade.attention_heads import anti_induction_model, induction_model

SYMBOLS = (8, 16, 32)
SURE = 60.0
"""A score that leaves other keys e^-60 of the mass."""


def head_scores() -> list[Row]:
    """Scores, and what they must be: 1 by a head's own keys, that of a head without mass there by others.

    A string is P different symbols, said twice; queries are those of the second time. Each query t has one target among
    t + 1 keys, so a head with no mass on it scores (0 - 1/(t+1)) / (1 - 1/(t+1)), which is -1/t.
    """
    from circuits.attention.attention_scores import layer_inputs, scores_at

    rows = []
    for name, layer, shift in (("induction", 1, 1), ("anti-induction", 0, 0)):
        for symbols in SYMBOLS:
            model = (induction_model if name == "induction" else anti_induction_model)(symbols, SURE).double()
            once = torch.arange(1, symbols + 1)
            tokens = torch.cat([torch.zeros(1, dtype=torch.long), once, once])[None]
            queries = torch.arange(symbols + 1, 2 * symbols + 1)
            with torch.no_grad():
                _, seen = model.run_with_cache(tokens)
            inputs = layer_inputs(model.cfg, layer, seen)
            pattern = inputs.pattern(scores_at(inputs, queries.tolist()).double())[0, 0]
            found = {place: _corrected(pattern, queries, queries - symbols + place) for place in (0, 1, 2)}
            nothing = float(np.mean(-1 / queries.numpy()))
            of = f"{name}, P {symbols}"
            rows += [
                Row("own score", of, found[shift], expected=1.0),
                Row("score by the other's keys", of, found[1 - shift], expected=nothing),
                Row("score one place further", of, found[shift + 1], expected=nothing),
            ]
    return rows


def _corrected(pattern: torch.Tensor, queries: torch.Tensor, targets: torch.Tensor) -> float:
    """Mean over queries of the mass on one key each, 0 where it is as under uniform attention and 1 where it is all."""
    mass = pattern.gather(-1, targets[:, None])[:, 0]
    chance = 1 / (queries + 1).double()
    return float(((mass - chance) / (1 - chance)).mean())
