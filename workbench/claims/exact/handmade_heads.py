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
    from circuits.attention.attention_scores import layer_inputs
    from circuits.attention.target_keys import anti_induction, induction
    from circuits.heads.head_scores import token_scores

    made = (
        ("induction", 1, induction_model, induction, "anti_induction"),
        ("anti_induction", 0, anti_induction_model, anti_induction, "induction"),
    )
    rows = []
    for name, layer, model_of, keys, other in made:
        for symbols in SYMBOLS:
            model = model_of(symbols, SURE).double()
            once = torch.arange(1, symbols + 1)
            tokens = torch.cat([torch.zeros(1, dtype=torch.long), once, once])[None]
            queries = torch.arange(symbols + 1, 2 * symbols + 1)
            with torch.no_grad():
                _, seen = model.run_with_cache(tokens)
            inputs, further = layer_inputs(model.cfg, layer, seen), keys(tokens, queries).roll(1, -1)
            found = token_scores(inputs, tokens, queries, further={"further": further})
            nothing = float(np.mean(-1 / queries.numpy()))
            of = f"{name.replace('_', '-')}, P {symbols}"
            rows += [
                Row("own score", of, float(found[name].item()), expected=1.0),
                Row("score by the other's keys", of, float(found[other].item()), expected=nothing),
                Row("score one place further", of, float(found["further"].item()), expected=nothing),
            ]
    return rows
