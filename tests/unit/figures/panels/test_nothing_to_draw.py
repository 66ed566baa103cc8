"""What was not measured is not painted, and an empty panel says why it is empty."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from workbench.figures import (
    NotApplicable,
    NotMeasured,
    Undefined,
    accuracy_heatmap,
    decodability_over_length,
    head_over_length,
    head_over_training,
)
from workbench.figures.style.template import u_step


def test_unmeasured_checkpoints_have_cells_of_their_own(robust: pd.DataFrame) -> None:
    behind = accuracy_heatmap(robust, trained=50)
    figure = accuracy_heatmap(robust, trained=50, checkpoints=[1500, 3000, 4000])
    (cells,) = (trace for trace in figure.data if trace.name == "cells")
    (before,) = (trace for trace in behind.data if trace.name == "cells")
    steps = sorted({*robust["step"].astype(int), 1500, 4000})
    assert len(cells.x) == len(steps) + 1 == len(before.x) + 2
    columns = [set(np.isnan(column)) for column in np.asarray(cells.z, dtype=float).T]
    empty = [step for step, column in zip(steps, columns, strict=True) if column == {True}]
    assert empty == [1500, 4000]
    # 1,000 and 2,000 used to share the ground of 1,500 between them
    edges = dict(zip(steps, zip(cells.x, cells.x[1:], strict=False), strict=False))
    assert edges[1000][1] < u_step(1500) < edges[2000][0]


def test_an_empty_panel_says_which_of_three_states_holds(robust: pd.DataFrame) -> None:
    where: dict[str, Any] = {"trained": 50, "layer": 0, "head": 0}
    with pytest.raises(NotMeasured) as missing:
        head_over_length(robust, step=4, **where)
    assert type(missing.value) is NotMeasured
    assert missing.value.helps
    assert "circuits.hardmax is not measured at training step 4" in missing.value.message
    with pytest.raises(NotMeasured) as elsewhere:
        head_over_training(robust, length=77, **where)
    assert not elsewhere.value.helps  # measuring again would look at the same lengths
    assert "It looks at length 5, 10, 16, 25, 50, 100, 200, 400, 512, 1,024" in elsewhere.value.message
    hardmax = robust["measurement"] == "circuits.hardmax"
    with pytest.raises(NotMeasured) as none:
        head_over_length(robust[~hardmax], step=3000, **where)
    assert none.value.helps
    for status, error, words in (
        ("undefined", Undefined, "Hardmax distance is undefined here: no keys"),
        ("not_applicable", NotApplicable, "no keys"),
    ):
        frame = robust.copy()
        frame.loc[hardmax, ["status", "note", "value"]] = [status, "no keys", float("nan")]
        with pytest.raises(error, match=words):
            head_over_length(frame, step=3000, **where)
    probes = robust.copy()
    own = probes["measurement"].str.startswith("probes.")
    probes.loc[own, ["status", "note", "value"]] = ["undefined", "one class only", float("nan")]
    with pytest.raises(Undefined, match="Decodability"):
        decodability_over_length(probes, trained=50, step=3000)
