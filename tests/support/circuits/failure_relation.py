"""What tests of several tiers share. Failure length on critical length: simulated runs whose relation is known."""

from __future__ import annotations

import numpy as np
import pandas as pd


def simulated(slope: float, count: int = 60, seed: int = 0) -> pd.DataFrame:
    """Failure lengths seen on the grid 50, 100, .., 1600 only; longer ones are censored."""
    rng = np.random.default_rng(seed)
    task = np.array(["a", "b"])[np.arange(count) % 2]
    log_critical = rng.uniform(np.log(15), np.log(60), count)
    log_y = np.where(task == "a", 6.0, 6.8) - 3.7 * slope + slope * log_critical + 0.2 * rng.normal(size=count)
    grid = np.array([50, 100, 200, 400, 800, 1600, np.inf])
    place = np.minimum(np.searchsorted(grid[:-1], np.exp(log_y)), len(grid) - 1)
    low = np.where(place > 0, grid[np.maximum(place - 1, 0)], 25.0)
    return pd.DataFrame({"task": task, "critical": np.exp(log_critical), "low": low, "high": grid[place]})
