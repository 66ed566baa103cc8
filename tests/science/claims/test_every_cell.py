"""Every cell of every trained claim is a run that can be trained."""

from __future__ import annotations

import pytest

from workbench.claims.suites.registry import SUITES
from workbench.claims.trained_cells import TrainedCell

CELLS = {cell.name: cell for suite in SUITES.values() for claim in suite.claims for cell in claim.cells}


@pytest.mark.parametrize("cell", CELLS.values(), ids=lambda cell: cell.name)
def test_a_cell_can_be_built(cell: TrainedCell) -> None:
    config = cell.config(cell.seeds[0])
    assert config.training.steps == cell.training["steps"]
    assert config.training.trained_length <= cell.longest
