"""Positions in attention of models that were opened: windows, and weights that are not read by name."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch

from circuits.positional.measurement import UNREAD, Positional, positional_statistics
from tests.support.models.pretrained_folders import HEADS, LAYERS, VOCABULARY, save_folder
from workbench.measure.running.applicable import why_not_applicable
from workbench.models.interop.hugging_face.opening import open_folder

SPAN, LENGTH = 8, 16
TOKENS = torch.randint(0, VOCABULARY, (24, LENGTH), generator=torch.Generator().manual_seed(1))


def shares(scores: torch.Tensor, size: int) -> torch.Tensor:
    """``[head]`` positional share of scores ``[string, head, query, key]`` among the last ``size`` positions, by hand."""
    seen = torch.ones(size, size, dtype=torch.bool).tril()
    part = scores[:, :, -size:, -size:].double().masked_fill(~seen, 0.0)
    rows = (part - part.sum(-1, keepdim=True) / seen.sum(-1)[:, None]) * seen
    half = len(rows) // 2
    return (rows[:half].mean(0) * rows[half:].mean(0)).sum((1, 2)) / rows.pow(2).sum((2, 3)).mean(0)


@pytest.mark.parametrize("name", ["gpt2", "gpt_neox", "llama", "mistral", "gemma2"])
def test_rows_are_those_of_the_scores_within_the_window(name: str, tmp_path: Path) -> None:
    model = open_folder(save_folder(name, tmp_path / name), dtype=torch.float64)
    rows = positional_statistics(model, TOKENS, span=SPAN, resamples=20).rows
    _, seen = model.run_with_cache(TOKENS)
    for layer in range(LAYERS):
        window = model.cfg.windows[layer]
        size = SPAN if window is None else min(SPAN, window)
        wanted = shares(seen[f"blocks.{layer}.attn.hook_attn_scores"], size)
        by_lag = seen[f"blocks.{layer}.attn.hook_pattern"][:, :, -1].flip(-1).cumsum(-1)
        reach = (by_lag < 0.95).sum(-1).double().mean(0)
        for head in range(HEADS):
            here: dict[str, Any] = {
                row["quantity"]: row["value"]
                for row in rows
                if (row["layer"], row["head"], row["mode"]) == (layer, head, "activations")
            }
            assert here["positional_share"] == pytest.approx(float(wanted[head]), abs=1e-9)
            assert here["attention_locality"] == pytest.approx(float(reach[head]), abs=1e-9)
    weights = [row for row in rows if row["mode"] == "weights"]
    assert weights
    assert {row["status"] for row in weights} == {"not_applicable"}
    assert ({row["note"] for row in weights} == {UNREAD}) == (name == "gpt2")


def test_a_window_is_met_in_the_families_that_have_one(tmp_path: Path) -> None:
    model = open_folder(save_folder("gemma2", tmp_path / "gemma2"), dtype=torch.float64)
    assert {window is None for window in model.cfg.windows} == {True, False}
    assert min(window for window in model.cfg.windows if window is not None) < SPAN


def test_of_a_task_in_a_prompt_it_says_why_not() -> None:
    class Presented:
        presented = True

    assert "the template stands at the same places" in why_not_applicable(Positional(), Presented())  # type: ignore[arg-type]
