"""Selectivity over training and accuracy under erasure: which rows are drawn."""

from __future__ import annotations

import pandas as pd
import pytest

from workbench.figures import (
    NotMeasured,
    erasure_over_length,
    selectivity_over_training,
)
from workbench.figures.look import Look
from workbench.figures.style.template import u_length
from workbench.table.schema import row


def summary_rows() -> pd.DataFrame:
    rows = []
    for step, score in ((0, 0.5), (100, 0.9)):
        for part in ("mid", "post"):
            site = {"site": f"blocks.0.hook_resid_{part}", "layer": 0, "law": "matched", "length": 12, "n": 256}
            common = {"run": "r", "step": step, "measurement": "probes.summary", "mode": "refit", **site}
            value = score if part == "post" else 0.1
            rows.append(row(**common, quantity="summary_decodability", value=value))
            rows.append(row(**common, quantity="summary_decodability", control="untrained", value=0.5))
            rows.append(row(**common, quantity="summary_decodability", control="token_only", value=0.55))
            rows.append(row(**common, quantity="selectivity", value=value - 0.55))
    return pd.DataFrame(rows)


def erasure_rows() -> pd.DataFrame:
    rows = []
    for n in (12, 24):
        common = {"run": "r", "step": 100, "length": n, "law": "matched", "n": 128}
        accuracy = {"quantity": "accuracy", "mode": "teacher_forced", "value": 1.0}
        rows.append(row(**common, measurement="behaviour", **accuracy))
        rows.append(row(**{**common, "law": "challenge"}, measurement="behaviour", **accuracy))
        place = {"measurement": "probes.erasure", "quantity": "erased_accuracy", "layer": 0, "mode": "refit"}
        for target, control, value in (
            ("output_summary", "", 0.5), ("output_summary", "random_of_equal_rank", 0.97), ("log_i", "", 0.99),
        ):  # fmt: skip
            rows.append(row(**common, **place, target=target, control=control, value=value))
    return pd.DataFrame(rows)


def test_selectivity_after_the_last_block_beside_the_untrained_model() -> None:
    data = selectivity_over_training.data(summary_rows(), length=12)
    values = {name: part["value"].tolist() for name, part in data.groupby("series")}
    assert values["refit"] == [0.5, 0.9]
    assert values["untrained"] == [0.5, 0.5]
    assert values["gain"] == pytest.approx([-0.05, 0.35])
    assert "0.35" in selectivity_over_training(summary_rows(), trained=12, length=12).layout.meta["alt"]
    with pytest.raises(NotMeasured, match="length 13"):
        selectivity_over_training.data(summary_rows(), length=13)


def test_erasure_beside_what_the_model_does_as_it_is() -> None:
    data = erasure_over_length.data(erasure_rows(), step=100, layer=0)
    values = {name: part["value"].tolist() for name, part in data.groupby("series")}
    assert values == {
        "as it is": [1, 1], "\u2212task state": [0.5, 0.5], "\u2212position": [0.99, 0.99], "random, task state": [0.97, 0.97]
    }  # fmt: skip
    drawn = erasure_over_length(erasure_rows(), trained=12, step=100, layer=0, look=Look("dark"))
    assert drawn.data
    longest = max((one.text for one in drawn.layout.annotations if one.xref == "paper" and one.x == 1), key=len)
    assert drawn.layout.margin.r >= 4 + 7.5 * len(longest), "its widest name has room right of the lines"
    assert not [shape for shape in drawn.layout.shapes if shape.name == "leader"]
    part = erasure_rows().query("measurement == 'behaviour' or length == 12")
    led = [
        one.path
        for one in erasure_over_length(part, trained=12, step=100, layer=0).layout.shapes
        if one.name == "leader"
    ]
    assert [path.split("L")[0] for path in led] == [f"M{u_length(12):g},{y:g}" for y in (0.5, 0.99, 0.97)], "stop at 12"
    with pytest.raises(NotMeasured, match="layer 3"):
        erasure_over_length.data(erasure_rows(), step=100, layer=3)
