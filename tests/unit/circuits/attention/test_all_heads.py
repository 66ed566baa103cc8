"""All heads on one sequence: each map is that head's own attention, and too long a sequence is refused by name."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from circuits import all_heads as module
from circuits.all_heads import all_heads
from tests.unit.circuits.attention.test_attention_scores import make_model, write_run
from workbench.tasks.base import TaskError

SEQUENCE = {"law": "matched", "length": 15, "seed": 4}


def test_each_map_is_the_attention_of_its_own_head(tmp_path: Path) -> None:
    model = make_model("rotary")
    write_run(tmp_path / "run", model)
    found = all_heads(str(tmp_path / "run"), 0, SEQUENCE)
    ids = torch.tensor([["<bos>", "0", "1"].index(token) for token in found.tokens])[None]
    names = [f"blocks.{layer}.attn.hook_pattern" for layer in range(2)]
    _, cache = model.run_with_cache(ids, names_filter=names)
    own = np.stack([cache[name][0].numpy() for name in names])
    assert (found.maps.shape, found.pool, found.bos, found.length) == ((2, 2, 16, 16), 1, True, 15)
    assert np.isnan(found.maps[..., *np.triu_indices(16, 1)]).all()
    assert np.tril(np.nan_to_num(found.maps)) == pytest.approx(np.tril(own), abs=1e-6)
    assert np.ptp(own, axis=(0, 1)).max() > 0.1, "heads of one kind could stand for each other"

    small = all_heads(str(tmp_path / "run"), 0, SEQUENCE, cells=4)
    tiles = np.tril(own).reshape(2, 2, 4, 4, 4, 4).max((3, 5))
    assert small.pool == 4
    assert np.tril(np.nan_to_num(small.maps)) == pytest.approx(np.tril(tiles), abs=1e-6)


def test_a_sequence_with_too_many_scores_is_refused_with_the_way_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_run(tmp_path / "run", make_model("none"))
    monkeypatch.setattr(module, "MOST_SCORES", 4 * 10**2)
    with pytest.raises(TaskError, match="10 positions"):
        all_heads(str(tmp_path / "run"), 0, SEQUENCE)


def test_it_is_told_which_layer_is_looked_at_and_a_bound_on_positions_is_met(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_run(tmp_path / "run", make_model("none"))
    monkeypatch.setattr(module, "MOST_SCORES", 4 * 16**2)
    told: list[tuple[int, int]] = []
    found = all_heads(
        str(tmp_path / "run"), 0, SEQUENCE, cells=99, progress=lambda at, of, doing: told.append((at, of))
    )
    assert told == [(0, 2), (0, 2), (1, 2)]
    assert found.maps.shape == (2, 2, 16, 16)
    assert all_heads(str(tmp_path / "run"), 0, SEQUENCE, cells=5).maps.shape == (2, 2, 4, 4), "16 in fours"
    monkeypatch.setattr(module, "CELLS", ((3, 8), (4, 6), (9, 2)))
    assert all_heads(str(tmp_path / "run"), 0, SEQUENCE).pool == 3, "of 4 heads maps have sides of at most 6"
    monkeypatch.setattr(module, "CELLS", ((3, 8),))
    monkeypatch.setattr(module, "FEWEST", 2)
    assert all_heads(str(tmp_path / "run"), 0, SEQUENCE).maps.shape == (2, 2, 2, 2)
