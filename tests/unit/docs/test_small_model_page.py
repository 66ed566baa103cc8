"""The page of the small language model: what it says of rows whose values are known."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import torch

from tests.support.places import ROOT
from tests.support.training.small_model import small_model_config

sys.path.insert(0, str(ROOT / "docs"))
import small_model_control
import small_model_page
import small_model_text

from workbench.measure.known_measurements import BUILT_IN
from workbench.tasks.testing import check_task

STEPS = (0, 400, 14_650)


def frame() -> pd.DataFrame:
    """Two heads: L0H1 has a previous-token score of .1 a step, less by length; L1H0 never looks behind occurrences."""
    rows: list[dict[str, Any]] = []
    for at, step in enumerate(STEPS):
        for length in small_model_page.LENGTHS:
            place = {"step": step, "length": length, "law": "matched", "status": "ok", "low": None}
            for law in small_model_page.LAWS:
                for layer, head, score in ((0, 1, 0.4 * at), (1, 0, 0.01)):
                    share = min(1.0, 256 / length)
                    named = {**place, "mode": law, "layer": layer, "head": head, "measurement": "circuits.repeats"}
                    found = score * share
                    rows.append({**named, "quantity": "repeats_previous_token", "value": found, "low": found - 0.05})
                    for kind in ("repeats_induction", "repeats_displaced_induction"):
                        rows.append({**named, "quantity": kind, "value": 0.02 * head, "low": 0.0})
                for mode, value in (("first", 7.0), ("second", 7.0 - at)):
                    named = {**place, "mode": mode, "target": law, "measurement": "behaviour.copies"}
                    rows.append({**named, "quantity": "copy_loss", "value": value})
            loss = {**place, "measurement": "behaviour", "quantity": "loss", "mode": "teacher_forced"}
            rows.append({**loss, "value": 6.0 - at + length / 2048})
    return pd.DataFrame(rows)


def test_a_head_is_formed_where_the_lower_end_of_its_interval_is() -> None:
    rows = frame()
    assert small_model_page.formed_at(rows, "repeats_previous_token", "unigram") == 400  # .4 - .05
    assert small_model_page.formed_at(rows, "repeats_induction", "unigram") is None
    rows.loc[rows["quantity"] == "repeats_previous_token", "low"] -= 0.1
    assert small_model_page.formed_at(rows, "repeats_previous_token", "unigram") == 14_650


def test_the_head_that_is_followed_is_chosen_at_the_trained_length_alone() -> None:
    rows = frame()
    far = (rows["length"] == 1024) & (rows["layer"] == 1) & (rows["quantity"] == "repeats_previous_token")
    rows.loc[far, "value"] = 0.9  # better past N, which chooses nothing
    name, found = small_model_page.followed(rows, "repeats_previous_token", "unigram")
    assert name == "L0H1"
    assert found.loc[14_650].to_dict() == pytest.approx({64: 0.8, 128: 0.8, 256: 0.8, 512: 0.4, 1024: 0.2})


def test_gains_and_losses_are_those_of_the_rows() -> None:
    rows = frame()
    assert small_model_page.gains(rows, "unigram")[256].tolist() == [0.0, 1.0, 2.0]
    assert small_model_page.losses(rows).loc[0, 1024] == 6.5


def test_the_page_says_what_formed_what_did_not_and_by_how_many_tokens() -> None:
    said = "\n".join(small_model_page._found(frame()))
    assert "| Previous-token head | uniform | 1.6 M tokens | 0.80 |" in said
    assert "| Induction head | uniform | not formed | 0.020 |" in said
    assert (
        "**In 60.0 M tokens this recipe shows a previous-token head and no induction head.** This is one seed" in said
    )
    left = "At twice this length the head keeps 0.50 of this score, and at four times this length 0.25."
    told = (
        "- Beyond 256 tokens, the score of the previous-token head L0H1 falls. After 1.6 M training tokens, the score at "
        f"length 256 is 0.40. {left}"
    )
    assert f"{told} After 60.0 M training tokens, the score at length 256 is 0.80. {left}" in said
    assert "The induction head" not in said, "there is nothing of which a share could be left"
    assert "The cross-entropy at length 1,024 minus that at length 256 is +0.38 nats before training" in said
    assert "cut off" not in said
    cut = "\n".join(small_model_page._found(frame().query("step < 14650")))
    assert "**This is 1.6 of 60 M tokens**: training was cut off, and `make small-model` trains the 58.4 M" in cut


def test_tables_have_a_row_a_checkpoint() -> None:
    over = small_model_page._over_training(frame())
    assert over[-1] == "| 60.0 | 4.12 | 0.800 | 0.020 | 0.020 | 0.020 | 0.020 | +2.00 | +2.00 | +2.00 |"
    by_length = small_model_page._by_length(frame())
    assert "| 60.0 | 0.800 | 0.800 | 0.800 | 0.400 | 0.200 |" in by_length
    assert by_length[-1] == "| 60.0 | 4.03 | 4.06 | 4.12 | 4.25 | 4.50 |"


def test_the_figure_draws_every_length_three_times() -> None:
    drawn = small_model_page.figure(frame())
    assert len(drawn.data) == 3 * len(small_model_page.LENGTHS)
    first = drawn.data[3]
    assert list(first.x) == [400 * 4096, 14_650 * 4096]
    assert list(first.y) == pytest.approx([0.2, 0.4])


def test_the_control_passes_by_the_usual_score_alone() -> None:
    rows: list[dict[str, Any]] = []
    for rate, plain, behind in (("0.003", 0.05, 0.8), ("0.001", 0.4, 0.4), ("0.0003", 0.4, 0.4)):
        for n in (64, 128, 256):
            place = {"run": rate, "step": 9, "length": n, "status": "ok", "layer": 1, "head": 2, "mode": "uniform"}
            rows.append({**place, "quantity": "repeats_induction", "value": plain})
            rows.append({**place, "quantity": "repeats_displaced_induction", "value": behind * 64 / n})
            rows.append({**place, "quantity": "repeats_displacement", "value": 5.0})
            copied = {"quantity": "copy_accuracy", "mode": "second", "target": "uniform", "value": 0.9}
            rows.append({"run": rate, "step": 9, "length": n, **copied})
    told = small_model_page._control(pd.DataFrame(rows))
    assert "it exceeds 0.3 at learning rate 0.001, 0.0003." in told[0].replace("\n", " ")
    assert told[3] == "| 0.003 | 0.90 | 0.05 | 0.80, d = 5 | 0.40 | 0.20 |"


def test_the_rows_of_the_control_pass_and_are_those_of_the_page() -> None:
    """Made by the commands of ``small_model_page.made``; three minutes of one core each."""
    rows = pd.read_parquet(ROOT / "docs" / "small_model_control.parquet")
    assert [*rows["run"].unique()] == [*small_model_page.RATES]
    at_trained = rows[(rows["length"] == 64) & (rows["status"] == "ok")]
    best = at_trained[at_trained["quantity"] == "repeats_induction"].groupby("run")["low"].max()
    assert best["0.001"] > small_model_page.FORMED
    told = small_model_page._control(rows)
    page = (ROOT / "docs" / "small_model.md").read_text(encoding="utf-8")
    assert "\n".join(told) in page


def test_both_trainings_are_what_the_recipe_says(tmp_path: Path) -> None:
    config = small_model_config(tmp_path)
    law = config.training
    assert (law.steps, law.batch_size * law.trained_length) == (small_model_page.STEPS, small_model_page.TOKENS)
    assert law.checkpoints.steps(law.steps) == [0, *small_model_page.CHECKPOINTS, small_model_page.STEPS]
    assert (config.model.n_layers, config.model.d_model, law.trained_length) == (2, 128, small_model_page.TRAINED)
    assert {*small_model_page.MEASURED} <= {*BUILT_IN}


def test_the_task_of_the_control_keeps_what_a_task_promises() -> None:
    check_task(small_model_control.RepeatedTokens())


def test_strings_of_the_control_have_a_period_within_its_bounds() -> None:
    task = small_model_control.RepeatedTokens(symbols=50, shortest=3, longest=6)
    batch = task.sample(300, 20, torch.Generator().manual_seed(0))
    after = batch.meta["next_symbol"] + 1
    periods = []
    for row in torch.cat([batch.tokens[:, 1:], after[:, None]], 1).tolist():
        fits = [p for p in range(3, 7) if all(a == b for a, b in zip(row, row[p:], strict=False))]
        assert fits
        periods.append(fits[0])
    assert {*periods} >= {4, 5, 6}
    with pytest.raises(ValueError, match="shortest"):
        small_model_control.RepeatedTokens(shortest=9, longest=6)


# ---- the text --------------------------------------------------------------------------------------
def test_text_is_cut_behind_lines_and_pages_lose_their_marks(tmp_path: Path) -> None:
    line = "x" * 99 + "\n"
    pieces = list(small_model_text.pieces(line * 1500))
    assert "".join(pieces) == line * 1500
    assert all(len(piece) <= small_model_text.LONGEST and piece.endswith("\n") for piece in pieces)
    html = tmp_path / "a.html"
    html.write_text("<html><style>no</style><h1>One</h1><p>two  <b>three</b></p><script>no</script></html>")
    assert small_model_text.text_of(html) == "One\ntwo three"
