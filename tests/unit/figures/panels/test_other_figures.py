"""Attention, comparison of two runs, the training log, and sparklines."""

from __future__ import annotations

import math
import re
from typing import Any
from urllib.parse import unquote
from xml.etree import ElementTree

import numpy as np
import pandas as pd
import pytest

from workbench import figures
from workbench.figures import NotMeasured
from workbench.figures.panels.differences import difference
from workbench.figures.rows.frame import Frame
from workbench.figures.rows.select_rows import COLUMNS
from workbench.figures.style.design_tokens import TOKENS
from workbench.figures.style.heatmap import CAP, pool, pooled_edges
from workbench.figures.style.template import u_length, u_step


def uniform(count: int) -> np.ndarray:
    """Every query attends equally to all keys it sees."""
    return np.tril(np.ones((count, count))) / np.arange(1, count + 1)[:, None]


def tokens(count: int, bos: bool = True) -> list[str]:
    names = [str(i % 2) for i in range(count)]
    return ["<bos>", *names[1:]] if bos else names


# ---- pooling ----------------------------------------------------------------------------------------
def test_pooling_keeps_the_strongest_cell_and_never_strides() -> None:
    values = np.zeros((1025, 600))
    values[777, 333] = 1.0
    pooled, by, bx = pool(values)
    assert pooled.shape == (342, 300)
    assert (by, bx) == (3, 2)
    assert pooled.max() == 1.0
    assert pooled[777 // 3, 333 // 2] == 1.0
    assert pooled.dtype == np.float32
    assert pooled.flags["C_CONTIGUOUS"]


def test_mean_pooling_averages_what_is_there() -> None:
    values = np.array([[1.0, 3.0, np.nan, np.nan], [5.0, np.nan, np.nan, np.nan]])
    pooled, by, bx = pool(values, cap=2, how="mean")
    assert (by, bx) == (1, 2)
    np.testing.assert_array_equal(pooled, [[2.0, np.nan], [5.0, np.nan]])


def test_small_matrices_are_left_alone_and_edges_follow_blocks() -> None:
    values = np.arange(12.0).reshape(3, 4)
    pooled, by, bx = pool(values)
    np.testing.assert_array_equal(pooled, values)
    assert (by, bx) == (1, 1)
    assert list(pooled_edges(np.arange(6.0), 2)) == [0, 2, 4, 5]
    assert list(pooled_edges(np.arange(5.0), 2)) == [0, 2, 4]


# ---- attention --------------------------------------------------------------------------------------
def test_attention_is_coloured_by_square_root_with_plain_ticks() -> None:
    pattern = uniform(20)
    figure = figures.attention_pattern(pattern, tokens(20), trained=8, layer=0, head=3)
    (heat,) = figure.data
    z, shown = np.asarray(heat.z), np.asarray(heat.customdata)
    assert z.dtype == shown.dtype == np.float32
    lower = np.tril(np.ones((20, 20), dtype=bool))
    np.testing.assert_allclose(z[lower] ** 2, pattern[lower], atol=1e-6)
    np.testing.assert_allclose(shown[lower], pattern[lower], atol=1e-6)
    assert np.isnan(z[~lower]).all()
    assert (heat.zmin, heat.zmax) == (0, 0.5)
    ticks = dict(zip(heat.colorbar.ticktext, heat.colorbar.tickvals, strict=True))
    assert ticks["≥ 0.25"] == pytest.approx(0.5)
    assert ticks["0.01"] == pytest.approx(0.1)
    assert "L0H3" in figure.layout.meta["slice"]
    assert "no key after the query" in [a.text for a in figure.layout.annotations]
    assert figure.layout.xaxis.fixedrange is figure.layout.yaxis.fixedrange is True, "every cell is there already"
    long = figures.attention_pattern(uniform(700), tokens(700), trained=8, layer=0, head=3)
    assert long.layout.xaxis.fixedrange is long.layout.yaxis.fixedrange is False, "a part of it has finer cells"


def test_times_length_is_one_for_uniform_attention() -> None:
    figure = figures.attention_pattern(uniform(9), tokens(9), trained=4, layer=0, head=0, view="times_length")
    shown = np.asarray(figure.data[0].customdata)
    np.testing.assert_allclose(shown[np.tril_indices(9)], 1.0, atol=1e-6)


def test_scores_are_free_of_a_constant_per_query() -> None:
    rng = np.random.default_rng(0)
    scores = np.where(np.tril(np.ones((9, 9))) > 0, rng.normal(size=(9, 9)), -np.inf)
    moved = scores + rng.normal(size=(9, 1)) * 5
    one, other = (
        np.asarray(figures.attention_pattern(s, tokens(9), trained=4, layer=0, head=0, view="score").data[0].z)
        for s in (scores, moved)
    )
    np.testing.assert_allclose(one, other, atol=1e-5)
    assert np.nanmax(one) == 0


@pytest.mark.parametrize(("bos", "edge"), [(True, 8.5), (False, 7.5)])
def test_training_length_counts_task_tokens(bos: bool, edge: float) -> None:
    figure = figures.attention_pattern(uniform(20), tokens(20, bos), trained=8, query=12, layer=0, head=0)
    lines = [s for s in figure.layout.shapes if s.name == "training length"]
    assert sorted((s.x0, s.y0) for s in lines) == sorted([(edge, 0), (0, edge)])
    (row,) = [s for s in figure.layout.shapes if s.name == "query"]
    assert (row.x0, row.x1, row.y0, row.y1) == (-0.5, 12.5, 11.5, 12.5)
    inside = figures.attention_pattern(uniform(5), tokens(5, bos), trained=8, layer=0, head=0)
    assert not [s for s in inside.layout.shapes if s.name == "training length"]


def test_long_patterns_are_pooled_to_the_cap_and_can_be_zoomed() -> None:
    count = 2 * CAP + 6
    pattern = uniform(count)
    pattern[900, 417] = 0.9
    figure = figures.attention_pattern(pattern, tokens(count), trained=50, layer=0, head=0)
    (heat,) = figure.data
    z = np.asarray(heat.z)
    assert z.shape == (344, 344)
    assert len(heat.x) == 345
    assert heat.x[-1] == count - 0.5
    assert z[900 // 3, 417 // 3] == pytest.approx(math.sqrt(0.9))
    assert figure.layout.xaxis.fixedrange is False
    data = figures.attention_pattern.data(pattern, tokens(count))
    assert len(data) == int(np.isfinite(z).sum())
    assert data["value"].max() == pytest.approx(0.9, abs=0.11)


def test_attention_data_are_the_cells() -> None:
    data = figures.attention_pattern.data(uniform(6), tokens(6))
    assert len(data) == 21
    cell = data[(data["query"] == 4) & (data["key"] == 2)]
    assert cell["value"].item() == pytest.approx(0.2)
    assert (cell["query_token"].item(), cell["key_token"].item()) == ("0", "0")
    assert data[data["key"] == 0]["key_token"].unique().tolist() == ["<bos>"]


def test_bad_patterns_are_refused_by_name() -> None:
    with pytest.raises(ValueError, match="4 tokens"):
        figures.attention_pattern(uniform(5), tokens(4), trained=4, layer=0, head=0)
    with pytest.raises(ValueError, match="sideways"):
        figures.attention_pattern(uniform(5), tokens(5), trained=4, layer=0, head=0, view="sideways")  # type: ignore[arg-type]


# ---- two runs ---------------------------------------------------------------------------------------
def made(value: float, low: float, high: float, n: int = 100) -> pd.DataFrame:
    blank: dict[str, Any] = dict.fromkeys(COLUMNS, "")
    numbers = {"step": 1, "length": 5, "layer": np.nan, "head": np.nan}
    return pd.DataFrame([blank | numbers | {"value": value, "low": low, "high": high, "n": n, "status": "ok"}])


def test_interval_of_a_difference_is_newcombes() -> None:
    """Newcombe 1998, example (a): 56/70 - 48/80, Wilson limits of each; published interval 0.0524 to 0.3339."""
    a = made(56 / 70, 0.69162, 0.87695)
    b = made(48 / 80, 0.49042, 0.70018)
    row = difference(Frame.of(a), Frame.of(b)).row(0)
    assert row["value"] == pytest.approx(0.2)
    assert row["low"] == pytest.approx(0.0524, abs=2e-4)
    assert row["high"] == pytest.approx(0.3339, abs=2e-4)


@pytest.mark.parametrize(("a", "b", "sentence"), [
    ((0.496, None, None), (0.461, 0.418, 0.504), "Equal at every length up to 5."),
    ((0.496, None, None), (0.361, 0.318, 0.404), "At length 5 A is higher by 0.14 [0.09, 0.18]."),
    ((0.75, None, None), (0.5, None, None), "At length 5 A is higher by 0.25."),
    ((1.0, None, None), (1.0, None, None), "Equal at every length up to 5."),
    ((1.0, None, None), (1.0, 0.99, 1.0), "Equal at every length up to 5."),
])  # fmt: skip
def test_a_difference_from_an_exact_value_keeps_the_interval_of_the_other(a: Any, b: Any, sentence: str) -> None:
    exact = difference(*(Frame.of(made(*(np.nan if x is None else x for x in one))) for one in (a, b)))
    assert "".join(piece[0] for piece in figures.compare_sentence(exact)) == sentence


def test_accuracy_difference(robust: pd.DataFrame, coupled: pd.DataFrame) -> None:
    figure = figures.accuracy_difference(robust, coupled, trained=50)
    (heat,) = figure.data
    assert heat.zmin == -heat.zmax
    assert list(heat.colorbar.tickvals) == [heat.zmin, 0, heat.zmax]
    assert list(heat.colorbar.ticktext) == [f"\u2212{heat.zmax:.2f}", "0", f"+{heat.zmax:.2f}"]
    data = figures.accuracy_difference.data(robust, coupled, trained=50)
    table = data.pivot(index="length", columns="step", values="value").to_numpy()
    np.testing.assert_allclose(np.asarray(heat.z), table, atol=1e-6)
    swapped = figures.accuracy_difference.data(coupled, robust, trained=50)
    np.testing.assert_allclose(data["value"], -swapped["value"])
    np.testing.assert_allclose(data["low"], -swapped["high"])


def test_decodability_difference(robust: pd.DataFrame, coupled: pd.DataFrame) -> None:
    figure = figures.decodability_difference(robust, coupled, trained=50, step=3000)
    (line,) = [t for t in figure.data if t.name == "summary"]
    assert line.y[-1] > 0.7
    sides = {a.text: a.font.color for a in figure.layout.annotations if a.name == "side"}
    assert sides == {"A higher": TOKENS["light"]["a"], "B higher": TOKENS["light"]["b"]}


def test_head_grid_difference(robust: pd.DataFrame, coupled: pd.DataFrame) -> None:
    grid = figures.head_grid_difference(robust, coupled, step=3000, length=1024)
    a, b = (figures.head_grid(f, step=3000, length=1024) for f in (robust, coupled))
    np.testing.assert_allclose(grid["value"], a["value"] - b["value"])
    assert (grid["share"].abs() <= 1).all()
    assert all(text[0] in "+\u2212" for text in grid["text"])


def test_runs_without_common_lengths_are_refused(robust: pd.DataFrame, coupled: pd.DataFrame) -> None:
    with pytest.raises(figures.NotShared, match="lengths 5"):
        figures.accuracy_difference(robust[robust["length"] <= 50], coupled[coupled["length"] > 50], trained=50)


# ---- training log -----------------------------------------------------------------------------------
def log(count: int) -> pd.DataFrame:
    step = np.arange(count)
    return pd.DataFrame(
        {
            "step": step,
            "loss": 0.7 * np.exp(-step / 300) + 0.01,
            "accuracy_in": np.where(step % 50 == 0, 0.9, np.nan),
            "accuracy_out": np.where(step % 50 == 0, 0.6, np.nan),
        }
    )


def test_loss_is_drawn_on_a_log_scale_above_both_accuracies() -> None:
    frame = log(400)
    figure = figures.loss_over_training(frame)
    parts = {t.name: t for t in figure.data}
    assert set(parts) == {"loss", "inside", "outside"}
    np.testing.assert_allclose(parts["loss"].y, np.log10(frame["loss"]))
    assert list(parts["loss"].x) == [u_step(s) for s in frame["step"]]
    assert len(parts["inside"].y) == 8
    assert figure.layout.yaxis.domain[0] > figure.layout.yaxis2.domain[1]


@pytest.mark.parametrize(
    ("highest", "lowest", "ticks"),
    [
        (200.0, 0.02, ["0.1", "10", "100"]),
        (2000.0, 0.5, ["1", "100", "1k"]),
        (20.0, 0.5, ["1", "10"]),
        (0.2, 0.1, ["0.1", "0.19"]),
    ],
)
def test_a_loss_has_two_or_three_ticks_from_end_to_end(highest: float, lowest: float, ticks: list[str]) -> None:
    frame = log(20).assign(loss=np.geomspace(highest, lowest, 20))
    axis = figures.loss_over_training(frame).layout.yaxis
    assert list(axis.ticktext) == ticks
    pad = 0.06 * max(np.log10(highest / lowest), 0.3)
    assert list(axis.range) == pytest.approx([np.log10(lowest) - pad, np.log10(highest) + pad])


def test_long_logs_are_thinned_without_losing_a_spike() -> None:
    frame = log(30_000)
    frame.loc[23_456, "loss"] = 9.0
    data = figures.loss_over_training.data(frame)
    loss = data[data["series"] == "loss"]
    assert len(loss) <= 2002
    assert loss["value"].max() == 9.0
    assert loss["step"].is_monotonic_increasing
    assert (loss["step"].iloc[0], loss["step"].iloc[-1]) == (0, 29_999)


def test_an_empty_log_is_said() -> None:
    with pytest.raises(NotMeasured, match="log"):
        figures.loss_over_training(log(0))


# ---- sparklines -------------------------------------------------------------------------------------
def test_spark_path_runs_from_bottom_to_top_and_breaks_at_gaps() -> None:
    assert figures.spark_path([0, 1], 0, 1, 10, 6, inset=1) == "M0.00 5.00L10.00 1.00"
    path = figures.spark_path([0, 1, None, 1, 0], 0, 1, 8, 4, inset=0)
    assert path == "M0.00 4.00L2.00 0.00M6.00 0.00L8.00 4.00"
    assert figures.spark_path([math.nan, 0.5, None], 0, 1, 8, 4, inset=0) == "M4.00 2.00L4.00 2.00"
    assert figures.spark_path([], 0, 1, 8, 4) == ""


def test_spark_places_follow_the_axis() -> None:
    lengths = [5, 50, 1024]
    low, high = u_length(5), u_length(1024)
    x = [(u_length(n) - low) / (high - low) for n in lengths]
    path = figures.spark_path([1, 1, 0], 0, 1, 100, 10, x=x)
    across = [float(v) for v in re.findall(r"[ML]([\d.]+) ", path)]
    assert across == pytest.approx([0, 100 * x[1], 100], abs=0.01)


def test_spark_svg_is_a_data_uri_of_valid_svg() -> None:
    uri = figures.spark_svg([0, 0.5, 5], 0, 1, 60, 20)
    assert uri.startswith("data:image/svg+xml,")
    assert '"' not in uri
    svg = ElementTree.fromstring(unquote(uri.split(",", 1)[1]))
    assert svg.attrib["preserveAspectRatio"] == "none"
    (path,) = svg
    assert path.attrib["vector-effect"] == "non-scaling-stroke"


def test_spark_refuses_an_empty_range_and_unequal_places() -> None:
    with pytest.raises(ValueError, match="high"):
        figures.spark_path([1], 1, 1, 10, 10)
    with pytest.raises(ValueError, match="2 values"):
        figures.spark_path([1, 2], 0, 1, 10, 10, x=[0.5])
