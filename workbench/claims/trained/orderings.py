"""Statistics of claims about the order of cells: those of one group lie above those of another."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from workbench.claims.claim import Claim, Row
from workbench.claims.resampling import RESAMPLES, cell_means, drawn_shares, each_draw, over_seeds
from workbench.claims.trained.claim_runs import about_several, rng_of, runs_of, undefined_row
from workbench.claims.trained.run_rows import RunTable
from workbench.claims.typical_run import FEWEST


def separation(claim: Claim, table: RunTable, quantity: str, inside: int) -> list[Row]:
    """Return the smallest mean of the first ``inside`` configurations minus the largest mean of the others; seeds are
    resampled.

    In the first ``inside`` cells only runs that solve the trained lengths enter, and a cell needs enough of them. In
    the other cells all runs enter if the claim is exempt.
    """
    groups = [
        [run for run in runs_of(cell, table) if run.fitted or (claim.exempt and place >= inside)]
        for place, cell in enumerate(claim.cells)
    ]
    enough = [len(runs) >= min(FEWEST, len(cell.seeds)) for runs, cell in zip(groups, claim.cells, strict=True)]
    runs = [run for group, whole in zip(groups, enough, strict=True) if whole for run in group]
    place = np.array([claim.cells.index(run.cell) for run in runs])
    if not len(runs) or place.min() >= inside or place.max() < inside:
        return [undefined_row("separation", "", len(claim.cells))]
    value = np.array([run.row(quantity).value or 0.0 for run in runs])

    entering = np.unique(place)
    split = int(np.searchsorted(entering, inside))

    def means(chosen: np.ndarray) -> np.ndarray:
        """``[cell, draw]`` means of the cells that enter, in order."""
        return np.stack([cell_means(value[chosen], place[chosen[0]] == at) for at in entering])

    def apart(chosen: np.ndarray) -> np.ndarray:
        """``[draw]`` the least mean inside, minus the greatest outside."""
        mean = means(chosen)
        difference: np.ndarray = mean[:split].min(0) - mean[split:].max(0)
        return difference

    observed = means(np.arange(len(runs))[None])[:, 0]
    least, greatest = int(entering[observed[:split].argmin()]), int(entering[split + observed[split:].argmax()])
    rng = rng_of(claim)

    def strings() -> np.ndarray:
        shares = [(run.share(quantity), at) for run, at in zip(runs, place.tolist(), strict=True)]
        one, other = (
            np.stack([drawn_shares(share, RESAMPLES, rng) for share, at in shares if at == cell]).mean(0)
            for cell in (least, greatest)
        )
        difference: np.ndarray = one - other
        return difference

    found = over_seeds(place.tolist(), apart, rng, strings, (-1.0, 1.0))
    if found is None:
        return [undefined_row("separation", "", len(claim.cells))]
    item = f"{claim.cells[least].name} against {claim.cells[greatest].name}"
    return [about_several("separation", item, found, sum(enough), len(claim.cells))]


def label_lead(claim: Claim, table: RunTable, quantity: str, inside: int, other: Sequence[str]) -> list[Row]:
    """Return the area under the ROC curve of a quantity for the first ``inside`` configurations, minus that of another
    label.

    ``other`` are the tasks that the other label leaves out. The interval is from drawing seeds within cells.
    """
    runs = [run for cell in claim.cells for run in runs_of(cell, table) if run.fitted]
    place = np.array([claim.cells.index(run.cell) for run in runs], dtype=int)
    value = np.array([run.row(quantity).value or 0.0 for run in runs])
    cell_indices = list(dict.fromkeys(place.tolist()))
    is_inside = np.array([i < inside for i in cell_indices])
    two = np.array([claim.cells[i].task not in other for i in cell_indices])
    planned = len(claim.cells)
    if not (0 < is_inside.sum() < len(cell_indices) and 0 < two.sum() < len(cell_indices)):
        return [undefined_row("lead over in AC0", "", planned)]

    def lead(chosen: np.ndarray) -> float:
        means = np.array([value[chosen][place[chosen] == i].mean() for i in cell_indices])
        return area_under_curve(means, is_inside) - area_under_curve(means, two)

    found = over_seeds(place.tolist(), each_draw(lead), rng_of(claim), bounds=(-1.0, 1.0))
    if found is None:
        return [undefined_row("lead over in AC0", "", planned)]
    return [about_several("lead over in AC0", "", found, len(cell_indices), planned)]


def area_under_curve(value: np.ndarray, label: np.ndarray) -> float:
    """Return the area under the ROC curve: share of labelled and other values in the right order; ties count half."""
    yes, no = value[label][:, None], value[~label][None, :]
    return float(((yes > no) + 0.5 * (yes == no)).mean())
