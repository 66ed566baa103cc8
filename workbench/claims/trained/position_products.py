"""Position vectors and a matrix between them, fitted to a function of two positions, and the errors of the fit.

Huang et al. 2024 (arXiv 2410.02140) study in an appendix whether ``p_i^T A p_j`` learns functions of the positions of
query and key. As with a random offset in training, every window of :data:`WINDOW` neighbouring positions is seen, and
no pair of positions that are further apart. The product at those pairs depends only on the fit.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import torch
from torch import Tensor

from workbench.claims.claim import Row
from workbench.core.seeds import seed_of

POSITIONS, WINDOW, WIDTH = 200, 50, 256
STEPS, RATE = 5_000, 1e-3
SEEDS = (0, 1, 2)
OFFSET, THRESHOLD = "j = i - 1", "j <= i - 25"
FUNCTIONS: dict[str, Callable[[Tensor], Tensor]] = {OFFSET: lambda lag: lag == 1, THRESHOLD: lambda lag: lag >= 25}
"""Of how far the key lies behind the query; 1 where it holds, else 0."""


def error_rows(positions: int, window: int, width: int, steps: int) -> list[Row]:
    """Return the mean squared error within the window and beyond it, by distance, for each function and seed, and the
    ratio of both.
    """
    errors = {
        (name, seed): errors_of(fitted_product(name, seed, positions, window, width, steps), name, window)
        for name in FUNCTIONS
        for seed in SEEDS
    }
    rows = []
    for (name, seed), (within, *beyond) in errors.items():
        rows.append(Row(f"squared error within the window, {name}", f"seed {seed}", within))
        for place, error in enumerate(beyond, start=1):
            item = f"{_distances(place, window)}, seed {seed}"
            rows.append(Row(f"squared error beyond it, {name}", item, error))
            if name == THRESHOLD:
                rows.append(Row("threshold over offset", item, error / errors[OFFSET, seed][place]))
    return rows


def _distances(place: int, window: int) -> str:
    return f"distances {place * window} to {(place + 1) * window - 1}"


def fitted_product(name: str, seed: int, positions: int, window: int, width: int, steps: int) -> Tensor:
    """Return the product ``[query, key]`` after vectors and matrix were trained together on the pairs within the
    window.
    """
    g = torch.Generator().manual_seed(seed_of("position products", seed))
    vectors = (torch.randn(positions, width, generator=g) / math.sqrt(width)).requires_grad_()
    matrix = (torch.randn(width, width, generator=g) / math.sqrt(width)).requires_grad_()
    lag = _lags(positions)
    target, trained = FUNCTIONS[name](lag).float(), (lag >= 0) & (lag < window)
    optimizer = torch.optim.Adam([vectors, matrix], lr=RATE)
    for _ in range(steps):
        optimizer.zero_grad()
        loss = (vectors @ matrix @ vectors.T - target)[trained].square().mean()
        loss.backward()
        optimizer.step()
    return (vectors @ matrix @ vectors.T).detach()


def errors_of(product: Tensor, name: str, window: int) -> list[float]:
    """Return the mean squared error of a product by distance: within the window, and in each further range of equal
    size.
    """
    lag = _lags(len(product))
    wrong = (product - FUNCTIONS[name](lag).to(product)).square()
    return [
        float(wrong[(lag >= low) & (lag < low + window)].mean()) for low in range(0, len(product) - window + 1, window)
    ]


def _lags(positions: int) -> Tensor:
    """``[query, key]`` how far the key lies behind the query."""
    place = torch.arange(positions)
    return place[:, None] - place
