"""The norm regularizer's positional part on products whose value is known."""

from __future__ import annotations

import torch

from workbench.claims.claim import Row
from workbench.training.regularizers import positional_penalty

LENGTHS = (50, 100, 200, 400)


def known_products() -> list[Row]:
    """The penalty of p_i^T M p_j for M the previous place, every third place, and a constant, at N position vectors."""
    rows = []
    for n in LENGTHS:
        query, key = torch.meshgrid(torch.arange(n), torch.arange(n), indexing="ij")
        third = sum((i // 3 + 1) for i in range(n))  # keys j <= i of i's residue
        for name, product, wanted in (
            ("previous place", query - key == 1, (n - 1) / n),
            ("every third place", (query - key) % 3 == 0, third / n),
            ("constant", torch.ones(n, n) == 1, (n + 1) / 2),
        ):
            eye = torch.eye(n, dtype=torch.float64)
            value = positional_penalty(eye, product.double()[None], eye[None])
            rows.append(Row("penalty", f"{name}, N {n}", float(value), expected=wanted))
    return rows
