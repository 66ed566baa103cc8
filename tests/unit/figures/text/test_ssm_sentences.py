"""What the Run page says where there is nothing to draw: no attention, or nothing a probe could find."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import pandas as pd
import pytest

from tests.support.cited import unfounded
from workbench.figures import decodability_by_layer, decodability_over_length
from workbench.figures.errors import Undefined
from workbench.figures.rows.frame import Frame
from workbench.figures.text.run_sentences import rail_text
from workbench.table.schema import row

HARDMAX: dict[str, Any] = {
    "measurement": "circuits.hardmax", "quantity": "hardmax_distance", "status": "not_applicable", "note": "no attention",
}  # fmt: skip


def looks_back(length: int, channel: int, tokens: float, **more: Any) -> dict[str, Any]:
    scan = {"measurement": "circuits.effective_attention", "quantity": "scan_locality", "layer": 0, "step": 10}
    return {**scan, "length": length, "head": channel, "value": tokens, **more}


def said(frame: pd.DataFrame | Frame) -> str:
    pieces = rail_text(frame, "mechanism", 10, 64, 0, 0, trained=64)
    if isinstance(frame, pd.DataFrame):
        assert unfounded(pieces, frame, 64) == []
    return "".join(text for text, _ in pieces)


@pytest.fixture
def frame_of(synthetic: ModuleType) -> Any:
    return lambda rows: synthetic.frame_of([row(**{"run": "r", "law": "matched", **one}) for one in rows])


def test_a_model_without_attention_tells_how_far_its_scan_looks_back(frame_of: Any) -> None:
    rows = [
        looks_back(n, channel, tokens * n / 64) for n in (32, 64, 512) for channel, tokens in enumerate((1, 20, 90))
    ]
    undefined = looks_back(512, 3, 9000.0, status="undefined", note="no weights")
    frame = frame_of([HARDMAX, *rows, undefined, looks_back(64, 0, 777.0, step=5)])
    told = (
        "This model has no attention. The scan looks back, as the median over its channels, 20 tokens at length 64 "
        "and 160 at length 512."
    )
    assert said(frame) == said(Frame.of(frame)) == told


def test_no_scan_measured_leaves_it_at_that(frame_of: Any) -> None:
    assert said(frame_of([HARDMAX])) == "This model has no attention."


def test_attention_that_is_not_measured_is_not_called_none(frame_of: Any) -> None:
    assert said(frame_of([looks_back(64, 0, 1.0)])) == "Attention is not measured at step 10."


def test_probes_without_any_value_say_why_and_draw_nothing(frame_of: Any) -> None:
    probe = {
        "measurement": "probes.summary", "quantity": "summary_decodability", "target": "output_summary",
        "mode": "transfer", "site": "blocks.0.hook_resid_post", "layer": 1, "step": 10, "length": 64,
        "status": "undefined", "note": "one class only",
    }  # fmt: skip
    frame = frame_of([probe])
    for drawn in (
        lambda: decodability_over_length(frame, step=10, trained=64),
        lambda: decodability_by_layer(frame, step=10, length=64),
    ):
        with pytest.raises(Undefined, match="class"):
            drawn()
    assert "".join(text for text, _ in rail_text(frame, "representation", 10, 64, 0, 0, trained=64)) == (
        "What probes read there is undefined: one class only."
    )


@pytest.mark.parametrize(
    ("channels", "median"),
    [((7.0,), "7"), ((90.0, 7.0), "7"), ((90.0, 7.0, 20.0), "20"), ((90.0, 7.0, 30.0, 20.0), "20")],
)
def test_of_an_even_number_of_channels_the_lower_one_is_the_median(
    frame_of: Any, channels: tuple[float, ...], median: str
) -> None:
    frame = frame_of([HARDMAX, *(looks_back(64, i, tokens) for i, tokens in enumerate(channels))])
    assert said(frame).endswith(f", {median} tokens at length 64.")


@pytest.mark.parametrize(("trained", "near"), [(None, 32), (31.0, 32), (64.0, 64), (100.0, 64), (1000.0, 512)])
def test_a_scan_is_told_at_n_or_from_the_shortest_length(frame_of: Any, trained: float | None, near: int) -> None:
    frame = frame_of([HARDMAX, *(looks_back(n, 0, float(n)) for n in (64, 32, 512))])
    told = "".join(text for text, _ in rail_text(frame, "mechanism", 10, 64, 0, 0, trained=trained))
    assert told.endswith(f", {near} tokens at length {near}" + (" and 512 at length 512." if near < 512 else "."))


def test_one_kind_of_row_that_applies_is_attention(frame_of: Any) -> None:
    assert said(frame_of([HARDMAX, {**HARDMAX, "status": "undefined"}])) == "Attention is not measured at step 10."
