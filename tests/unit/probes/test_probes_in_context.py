"""Probes in context of models by hand: one that copies, and one whose stream is its positions."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from probes.probes_in_context import EMBEDDING, ITEMS, TOKENS, InContextProbes, straight
from tests.support.circuits.copying_in_context import LENGTHS, SYMBOLS, copying, model_by_hand
from tests.support.models.pretrained_folders import VOCABULARY, save_folder
from workbench.measure.measurement import Grid
from workbench.measure.model_study import ModelStudy, run
from workbench.measure.rows import mean_row
from workbench.models import HookedTransformer, ModelConfig
from workbench.models.handmade.blank import blank
from workbench.models.interop.hugging_face.opening import open_folder

PART = 16
"""Strings."""


def found(model: HookedTransformer) -> Any:
    task = copying()
    return run(InContextProbes(), model, task, trained=task.fitting, sequences=PART)


def placed(code: torch.Tensor) -> HookedTransformer:
    """A model whose stream is a number that its position has, and its token."""
    cfg = ModelConfig(
        d_vocab=SYMBOLS + 1, n_layers=1, d_model=SYMBOLS + 2, n_heads=1, n_ctx=len(code), positions="learned",
        attn_only=True, normalization_type=None,
    )  # fmt: skip
    model = blank(cfg)
    with torch.no_grad():
        model.embed.W_E[:, 1:] = torch.eye(SYMBOLS + 1)
        model.pos_embed.W_pos[:, 0] = code
        model.unembed.W_U[1:] = torch.eye(SYMBOLS + 1)
    return model


@pytest.mark.asserts("lens_accuracy")
def test_behind_the_head_that_copies_the_answer_is_read_and_behind_the_layer_below_it_is_not() -> None:
    """Among symbols the copied one is the likeliest also where the output that is none wins."""
    model = model_by_hand()
    with torch.no_grad():  # below, the stream says which token stands there, which never is its own answer
        model.unembed.W_U[: SYMBOLS + 1] += 0.01 * torch.eye(SYMBOLS + 1)
    result = found(model)
    for n in LENGTHS:
        assert result.value("lens_accuracy", length=n, layer=1) == 1.0
        assert result.value("lens_accuracy", length=n, layer=0) == 0.0


@pytest.mark.asserts("item_position_r2", "item_position_transfer_r2")
def test_a_line_over_positions_is_read_exactly_and_at_every_length() -> None:
    result = found(placed(torch.arange(80) / 80.0))
    for n in LENGTHS:
        assert result.value("item_position_r2", length=n, layer=0) == pytest.approx(1.0, abs=1e-3)
        assert result.value("item_position_r2", length=n, control=EMBEDDING) < 0.2
    rows = [r for r in result.rows if r["quantity"] == "item_position_transfer_r2"]
    assert [r["status"] for r in rows] == ["not_applicable"], "the probe of the longest prompt is taken nowhere"


@pytest.mark.asserts("item_position_transfer_r2")
def test_a_code_that_ends_where_the_reference_does_is_not_read_beyond(monkeypatch) -> None:
    """Items 17 to 32 look like the last of the first 16: every later one is read as the 16th."""
    short, long = LENGTHS
    monkeypatch.setattr("probes.probes_in_context.FITTED_ON", short)
    result = found(placed(torch.arange(80).clamp(max=short) / 16.0))
    number = np.arange(1, long + 1)
    said = np.minimum(number, short)
    wanted = 1 - ((said - number) ** 2).sum() / ((number - number.mean()) ** 2).sum()
    for target in (ITEMS, TOKENS):  # one prefix stands before all items, at every length
        value = result.value("item_position_transfer_r2", length=long, layer=0, target=target, control="")
        assert value == pytest.approx(wanted, abs=0.01)
    assert wanted < 0.5


def test_intervals_of_a_target_are_drawn_from_the_stream_of_length_quantity_and_target(monkeypatch) -> None:
    """Another stream would change stored intervals without a new version of the measurement."""
    rows: dict[tuple[int, str, str], list[tuple[Any, Any]]] = {}

    def recorded(values: Any, rng: Any, *rest: Any, **fields: Any) -> Any:
        row = mean_row(values, rng, *rest, **fields)
        key = fields["length"], fields["quantity"], fields.get("target", "")
        rows.setdefault(key, []).append((values, row))
        return row

    monkeypatch.setattr("probes.probes_in_context.mean_row", recorded)
    code = torch.rand(80, generator=torch.Generator().manual_seed(0))
    found(placed(torch.arange(80) / 80.0 + code))
    short = LENGTHS[0]
    study = ModelStudy(placed(code), copying(), Grid(short, (short,), (short,), ()), PART, 0)
    positions = {key: group for key, group in rows.items() if key[1] == "item_position_r2"}
    assert {key[0] for key in positions} == {*LENGTHS}
    for (length, quantity, target), group in positions.items():
        stream = study.rng("probes.in_context", length, quantity, target)
        for values, row in group:
            expected = mean_row(values, stream, InContextProbes().resamples, "")
            assert (row["low"], row["high"]) == (expected["low"], expected["high"])
            assert row["low"] < row["high"]


def test_with_too_few_strings_rows_say_so() -> None:
    task = copying()
    result = run(InContextProbes(), placed(torch.zeros(80)), task, trained=task.fitting, sequences=4)
    rows = [r for r in result.rows if r["quantity"].startswith("item_position")]
    assert {r["status"] for r in rows} == {"undefined"}
    assert "takes 8 of them" in rows[0]["note"]


@pytest.mark.parametrize("name", ["llama", "gemma2", "gpt2"])
def test_behind_the_last_layer_the_straight_way_is_the_models_own(tmp_path, name) -> None:
    model = open_folder(save_folder(name, tmp_path / name), dtype=torch.float64)
    tokens = torch.randint(0, VOCABULARY, (2, 9), generator=torch.Generator().manual_seed(0))
    last = f"blocks.{model.cfg.n_layers - 1}.hook_resid_post"
    with torch.no_grad():
        logits, seen = model.run_with_cache(tokens, names_filter=[last])
        assert torch.allclose(straight(model, seen[last]), logits.float(), atol=1e-5)
