"""Length coupling is drawn with its band where the checkpoint is fitted, and in grey where it is not."""

from __future__ import annotations

import pandas as pd
import pytest

from workbench.figures import (
    NotMeasured,
    coupling_over_length,
    coupling_over_training,
)
from workbench.figures.look import Look
from workbench.table.schema import row

STEPS, LENGTHS, TRAINED = (0, 10, 100, 1000), (6, 12, 24, 48, 96), 12


def frame(verdicts: bool = True) -> pd.DataFrame:
    rows = []
    for i, step in enumerate(STEPS):
        common = {"run": "parity", "step": step, "measurement": "probes.length_coupling", "target": "output_summary"}
        value = (0.02, 0.1, 0.9, 0.97)[i]
        near = {"value": value, "low": value - 0.02, "high": value + 0.02, "n": 512}
        rows.append(row(**common, quantity="length_coupling", mode="used", site="logits", **near))
        rows.append(row(**common, quantity="length_coupling_in", mode="used", site="logits", value=0.01, n=512))
        for n in LENGTHS:
            at = {"quantity": "length_coupling_at", "length": n, "value": 0.01 if n <= TRAINED else value, "n": 512}
            rows.append(row(**common, **at, mode="used", site="logits"))
            for layer in (0, 1):
                for part in ("mid", "post"):
                    site = f"blocks.{layer}.hook_resid_{part}"
                    rows.append(row(**common, **(at | {"value": 0.1 * layer}), mode="stored", site=site, layer=layer))
        if verdicts:
            label = "not fitted" if step < 100 else "length-coupled"
            told = {"run": "parity", "step": step, "measurement": "behaviour", "quantity": "verdict", "length": 96}
            rows.append(row(**told, label=label))
    return pd.DataFrame(rows)


def test_over_training_only_fitted_checkpoints_are_drawn_in_colour() -> None:
    data = coupling_over_training.data(frame())
    steps = {name: part["step"].tolist() for name, part in data.groupby("series")}
    assert steps == {"past N": [100, 1000], "not fitted": [0, 10], "inside N": [100, 1000]}
    figure = coupling_over_training(frame(), trained=TRAINED, look=Look("dark"))
    assert {trace.name for trace in figure.data} >= {"past N", "not fitted", "band"}
    assert "0.97" in figure.layout.meta["alt"]
    assert figure.layout.meta["n"] == 512


def test_over_length_used_beside_stored_after_the_last_block() -> None:
    data = coupling_over_length.data(frame(), step=1000)
    used, stored = (data[data["series"] == name] for name in ("past N", "stored"))
    assert used["length"].tolist() == list(LENGTHS)
    assert set(stored["value"]) == {0.1}
    assert set(coupling_over_length.data(frame(), step=10)["series"]) == {"not fitted", "stored"}
    assert coupling_over_length(frame(), trained=TRAINED, step=1000, cursor={"length": 24}).data


def test_without_a_verdict_or_rows_nothing_is_drawn() -> None:
    with pytest.raises(NotMeasured, match="No verdicts"):
        coupling_over_training(frame(verdicts=False), trained=TRAINED)
    none = frame()
    none = none[none["measurement"] == "behaviour"]
    with pytest.raises(NotMeasured, match=r"probes\.length_coupling"):
        coupling_over_training(none, trained=TRAINED)
    with pytest.raises(NotMeasured, match="step 7"):
        coupling_over_length(frame(), trained=TRAINED, step=7)
