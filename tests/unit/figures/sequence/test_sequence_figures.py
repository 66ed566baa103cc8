"""One sequence drawn: cells, marks and words agree with what was computed; nothing is drawn that is not in the data."""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd
import pytest

from tests.support.cited import said, same
from workbench import figures
from workbench.figures.look import Look
from workbench.figures.rows.claims import CURSOR, Cite, Claim, cites
from workbench.figures.sequence.sequence_data import answer_words, oracle_words, shown_cells
from workbench.figures.sequence.sequence_marks import (
    MOST_MARKS,
    chosen_positions,
    round_ticks,
)
from workbench.figures.sequence.sequence_view import row_domains
from workbench.figures.text.sequence_sentences import answers_sentence, attention_sentence, tally_sentence
from workbench.measure.edits.reading import ConceptReading, Pass, ProbeReading, SequenceReading

TOKENS = ["<bos>", "1", "0", "1", "1"]
COUNT = len(TOKENS)


def one_pass(shift: float, pool: int = 1) -> Pass:
    side = -(-COUNT // pool)
    uniform = np.tril(np.ones((side, side))) / np.arange(1, side + 1)[:, None]
    hidden = np.triu(np.ones((side, side), dtype=bool), 1)
    second = np.array([0.5, 0.8, 0.4, 0.7, 0.9]) + shift
    outputs = np.stack([1 - second, second], 1)
    return Pass(
        outputs=outputs.astype(np.float32),
        correct=[None, True, None, bool(outputs[3, 1] > 0.5), bool(outputs[4, 1] > 0.5)],
        pattern=np.where(hidden, np.nan, uniform).astype(np.float32),
        scores=np.where(hidden, np.nan, np.arange(side) + shift).astype(np.float32),
        row_top=(np.arange(side) + shift).astype(np.float32),
        row=np.full(COUNT, 1 / COUNT, np.float32),
    )


def looked(edited: bool = True, pool: int = 1, **changes: Any) -> SequenceReading:
    made = SequenceReading(
        clean=one_pass(0.0, pool),
        edited=one_pass(-0.6, pool) if edited else None,
        tokens=TOKENS,
        text="1011",
        bos=True,
        length=4,
        oracle=[None, 1, None, 1, 1],
        outputs_names=["0", "1"],
        asked=[False, True, False, True, True],
        query=4,
        queries=(0, COUNT),
        keys=(0, COUNT),
        pool=pool,
        trained=2,
        step=7,
        layer=0,
        head=1,
        edits="zero.0.1" if edited else "",
    )
    return replace(made, **changes)


def was_read(problem: str = "") -> ProbeReading:
    summary = ConceptReading(
        true=np.array([-1.0, 1, 0, 1, 1]),
        clean=None if problem else np.array([[0.0, 0, 0, 0, 0], [0, 1, 0, 1, 1]]),
        edited=None if problem else np.array([[0.0, 0, 0, 0, 0], [0, 0, 0, 1, 0]]),
        rmse=[0.0, 0.0],
        strings=256,
        problem=problem,
        classes=["even", "odd"],
        name="parity",
    )
    position = ConceptReading(
        true=np.arange(5.0),
        clean=np.array([np.arange(5.0), np.arange(5.0) + 0.5]),
        edited=np.array([np.arange(5.0), np.full(5, 2.0)]),
        rmse=[0.1, 0.2],
        strings=128,
    )
    return ProbeReading([-1, 0], list(range(5)), [False, True, False, True, True], summary, position)


def trace(figure: Any, name: str) -> Any:
    found = [one for one in figure.data if one.name == name]
    assert len(found) == 1, [one.name for one in figure.data]
    return found[0]


@pytest.mark.parametrize("part", ["clean", "edited", "change"])
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_every_part_is_drawn_in_both_themes(part: Any, theme: Any) -> None:
    figure = figures.sequence_view(looked(), was_read(), part=part, look=Look(theme))
    assert {one.name for one in figure.data} >= {"cells", "probability", "oracle", "summary", "position"}
    assert figure.layout.xaxis.anchor == "y4"
    assert figure.layout.meta["alt"].endswith(".")
    assert "training length" in [shape.name for shape in figure.layout.shapes]


def test_what_is_drawn_is_what_is_exported() -> None:
    found, read = looked(), was_read()
    for part in ("clean", "edited", "change"):
        figure = figures.sequence_view(found, read, part=part)  # type: ignore[arg-type]
        data = figures.sequence_view.data(found, read, part=part)  # type: ignore[arg-type]
        cells = trace(figure, "cells").customdata
        pattern = data[data["row"] == "pattern"]
        np.testing.assert_allclose(pattern["value"], cells[np.isfinite(cells)], rtol=1e-6)
        position = data[data["row"] == "position"]
        np.testing.assert_allclose(trace(figure, "position").y, position["value"])
        np.testing.assert_array_equal(trace(figure, "position").x, position["position"])
        drawn = np.asarray(trace(figure, "probability").z)
        outputs = data[data["row"] == "outputs"]
        np.testing.assert_allclose(drawn.T.ravel(), outputs["value"], rtol=1e-6)


def part_in_view(**changes: Any) -> SequenceReading:
    """Queries 3 and 4, keys 1 to 3, of :func:`looked`."""
    made = looked(**changes)

    def cut(one: Pass) -> Pass:
        assert one.pattern is not None
        assert one.scores is not None
        assert one.row_top is not None
        return replace(one, pattern=one.pattern[3:5, 1:4], scores=one.scores[3:5, 1:4], row_top=one.row_top[3:5])

    return replace(made, clean=cut(made.clean), edited=cut(made.edited_pass), queries=(3, 5), keys=(1, 4))


@pytest.mark.parametrize("part", ["clean", "edited", "change"])
def test_of_a_part_only_what_is_in_view_is_drawn_and_exported(part: Any) -> None:
    found, read = part_in_view(), was_read()
    figure = figures.sequence_view(found, read, part=part, query=4)
    data = figures.sequence_view.data(found, read, part=part)
    assert tuple(figure.layout.xaxis.range) == (0.5, 3.5)
    assert tuple(figure.layout.yaxis2.range) == (4.5, 2.5)
    assert list(trace(figure, "cells").x) == [0.5, 1.5, 2.5, 3.5]
    assert list(trace(figure, "cells").y) == [2.5, 3.5, 4.5]
    cells = data[data["row"] == "pattern"]
    assert list(zip(cells["position"], cells["key"], strict=True)) == [(q, k) for q in (3, 4) for k in (1, 2, 3)]
    assert list(cells["key_token"][:3]) == TOKENS[1:4]
    np.testing.assert_allclose(cells["value"], trace(figure, "cells").customdata.ravel(), rtol=1e-6)
    for row in ("outputs", "position"):
        assert set(data[data["row"] == row]["position"]) <= {1, 2, 3}
    np.testing.assert_array_equal(trace(figure, "position").x, data[data["row"] == "position"]["position"])
    assert np.asarray(trace(figure, "probability").z).shape[1] == 3
    assert "queries 3 to 4 · keys 1 to 3" in figure.layout.meta["slice"]
    assert list(figures.sequence_table(found, read, part=part)["prefix"]) == ["1", "2", "3"]
    # The query is in view among the rows, and not among the prefixes below them.
    assert [shape.type for shape in figure.layout.shapes if shape.name == "query"] == ["rect"]


def test_scores_of_a_part_stand_below_the_highest_of_the_whole_row() -> None:
    whole, part = shown_cells(looked(), "clean", "score"), shown_cells(part_in_view(), "clean", "score")
    assert whole is not None
    assert part is not None
    np.testing.assert_allclose(part, whole[3:5, 1:4])
    assert np.nanmax(part[1]) < 0  # the highest key of that row is out of view
    times, all_times = (shown_cells(one, "clean", "times_length") for one in (part_in_view(), looked()))
    assert times is not None
    assert all_times is not None
    np.testing.assert_allclose(times, all_times[3:5, 1:4])


def test_a_part_drawn_anew_forgets_how_the_browser_stretched_the_one_before() -> None:
    whole, part = (figures.sequence_view(found).layout for found in (looked(), part_in_view()))
    assert whole.uirevision != part.uirevision
    assert (whole.dragmode, whole.xaxis.fixedrange, whole.yaxis2.fixedrange) == ("zoom", False, False)
    assert whole.yaxis.fixedrange is not False


def test_the_change_is_edited_minus_clean() -> None:
    found, read = looked(), was_read()
    np.testing.assert_allclose(
        trace(figures.sequence_view(found, read, part="change"), "probability").z[1], -0.6, atol=1e-6
    )
    np.testing.assert_allclose(
        trace(figures.sequence_view(found, read, part="change"), "position").y, [0.5, -1.5, -2.5]
    )


def test_only_readings_that_changed_are_marked() -> None:
    figure = figures.sequence_view(looked(), was_read(), part="change")
    assert list(trace(figure, "summary").x) == [1, 4]
    read = was_read()
    same = replace(read, summary=replace(read.summary, edited=read.summary.clean))
    said = [a.text for a in figures.sequence_view(looked(), same, part="change").layout.annotations]
    assert "0 of 3 readings change" in said


def test_misread_summaries_are_open_marks_and_unknown_classes_leave_a_gap() -> None:
    figure = figures.sequence_view(looked(), was_read(), part="edited")
    assert list(trace(figure, "summary").marker.symbol) == ["circle-open", "circle", "circle-open"]


def test_the_oracle_is_black_where_the_model_disagrees() -> None:
    colours = list(trace(figures.sequence_view(looked(), part="edited"), "oracle").marker.color)
    assert colours[0] == "#FFFFFF"
    assert colours[1:] == ["#14181F", "#14181F"]


def test_times_length_is_one_under_uniform_attention_pooled_or_not() -> None:
    found = shown_cells(looked(), "clean", "times_length")
    assert found is not None
    np.testing.assert_allclose(found[np.isfinite(found)], 1, rtol=1e-6)


def test_scores_are_below_the_highest_of_their_row() -> None:
    found = shown_cells(looked(), "clean", "score")
    assert found is not None
    np.testing.assert_allclose(np.nanmax(found, axis=1), 0)
    assert found[4, 0] == -4


def test_pooled_patterns_have_their_edges_at_positions() -> None:
    figure = figures.sequence_view(looked(pool=2))
    np.testing.assert_allclose(trace(figure, "cells").x, [-0.5, 1.5, 3.5, 4.5])
    assert "highest of 2 × 2 positions" in figure.layout.meta["slice"]
    assert list(figures.sequence_view.data(looked(pool=2), rows=("pattern",))["position"].unique()) == [0, 2, 4]


def test_a_model_without_attention_is_said_so() -> None:
    found = looked(edited=False)
    found = replace(found, clean=replace(found.clean, pattern=None, scores=None, row=None))
    figure = figures.sequence_view(found, was_read())
    assert "this model has no attention" in [a.text for a in figure.layout.annotations]
    assert not len(figures.sequence_view.data(found, rows=("pattern",)))
    assert "attention" not in " ".join(figures.sequence_table(found).columns)


def test_a_probe_that_could_not_be_fitted_is_said_so() -> None:
    figure = figures.sequence_view(looked(), was_read("one class only"))
    assert "no probe for the summary: one class only" in [a.text for a in figure.layout.annotations]


def test_readings_that_are_on_their_way_have_their_place() -> None:
    figure = figures.sequence_view(looked(), None, waiting="fitting probes")
    assert [a.text for a in figure.layout.annotations].count("fitting probes") == 2
    full = figures.sequence_view(looked(), was_read())
    assert figure.layout.yaxis4.domain == full.layout.yaxis4.domain


def test_real_answers_are_drawn_beside_the_oracle() -> None:
    found = looked(edited=False, outputs_names=None, oracle=[None, 0.5, None, 0.7, 0.75])
    outputs = np.array([[0.0], [0.4], [0.6], [0.7], [0.8]], np.float32)
    found = replace(found, clean=replace(found.clean, outputs=outputs))
    figure = figures.sequence_view(found, rows=("outputs",))
    np.testing.assert_allclose(trace(figure, "output").y, [0.4, 0.7, 0.8])
    np.testing.assert_allclose(trace(figure, "true").y, [0.5, 0.7, 0.75])
    assert oracle_words(found, 1) == "0.5"
    assert answer_words(found, "clean", 4) == "0.8"


def test_the_table_tells_every_position() -> None:
    table = figures.sequence_table(looked(), was_read(), part="change")
    assert list(table["token"]) == TOKENS
    assert list(table["oracle"]) == ["", "1", "", "1", "1"]
    assert table["as is"].iloc[1] == "1 (0.80)"
    assert table["edited"].iloc[1] == "0 (0.80)"
    assert list(table["summary, true"]) == ["", "odd", "", "odd", "odd"]
    assert table["attention from 4"].iloc[0] == "0.000"


def many_classes() -> SequenceReading:
    """Thirty classes: at prefix 4 the likeliest are c14 to c10, and c29 is right."""
    found = looked(edited=False, outputs_names=[f"c{i}" for i in range(30)], oracle=[None, 7, None, 29, 29])
    outputs = np.zeros((COUNT, 30), np.float32)
    outputs[:, 10:15] = np.array([0.05, 0.1, 0.15, 0.25, 0.4])
    outputs[:, 29] = 0.03
    return replace(found, clean=replace(found.clean, outputs=outputs))


def test_of_many_classes_the_likeliest_five_and_the_right_one_are_drawn_and_said() -> None:
    found = many_classes()
    figure = figures.sequence_view(found, rows=("outputs",))
    cells = trace(figure, "probability")
    np.testing.assert_allclose(cells.z[:, 4], [0.05, 0.1, 0.15, 0.25, 0.4, 0.03])
    assert list(cells.text[:, 4]) == ["c10", "c11", "c12", "c13", "c14", "c29"]
    assert np.isnan(cells.z[5, 2]), "nothing is asked there"
    assert list(figure.layout.yaxis.ticktext) == ["top 4", "top 2", "oracle"]
    told = answers_sentence(found, 4)
    assert said(told) == (
        "At prefix 4 the oracle\u2019s answer is c29; the model predicts c14 (0.40), then c13 (0.25), c12 (0.15), c11 (0.10), c10 (0.05)."
    )
    for one in cites(told)[1:]:
        value = worked_out(one, found)
        assert one.text == value if isinstance(value, str) else same(one.text, value)


def test_a_vector_answer_names_its_components_and_how_near_it_must_come() -> None:
    within = "within 0.1 in total variation"
    found = looked(edited=False, outputs_names=None, components=["a", "b"], within=within)
    found = replace(found, oracle=[None, [0.5, 0.5], None, [0.3, 0.7], [0.1, 0.9]])
    figure = figures.sequence_view(found, rows=("outputs",))
    np.testing.assert_allclose(trace(figure, "probability").z, found.clean.outputs.T)
    assert list(figure.layout.yaxis.ticktext) == ["a", "b"]
    assert trace(figure, "probability").text[1, 4] == "b, the oracle 0.9"
    assert oracle_words(found, 3) == "a: 0.3, b: 0.7"
    told = answers_sentence(found, 4)
    assert said(told) == "At prefix 4 the oracle\u2019s answer is a: 0.1, b: 0.9; the model predicts a: 0.1, b: 0.9."
    assert [one.text for one in cites(told)[2:]] == ["a", "0.1", "b", "0.9"]
    assert all(same(one.text, worked_out(one, found)) for one in cites(told)[3::2])
    tally = tally_sentence(found)
    assert said(tally) == f"Right at 3 of 3 prefixes with an answer, {within} of the oracle\u2019s."
    assert cites(tally)[-1].text == "0.1"


def test_long_sequences_are_thinned_evenly_and_never_beyond_the_limit() -> None:
    chosen = chosen_positions([True] * (3 * MOST_MARKS + 5), range(3 * MOST_MARKS + 5))
    assert len(chosen) <= MOST_MARKS
    assert set(np.diff(chosen)) == {4}


def test_rows_fill_the_plot_from_top_to_bottom() -> None:
    domains = row_domains(("outputs", "pattern", "summary", "position"), strip=True)
    assert domains[0][1] == 1
    assert domains[-1][0] == pytest.approx(0, abs=1e-9)
    assert all(above[0] > below[1] for above, below in pairwise(domains))


@pytest.mark.parametrize(("low", "high"), [(0, 1), (-23.0, 178.0), (0.113, 0.117), (-1e6, 3e6), (5, 5.5)])
def test_ticks_are_few_and_round(low: float, high: float) -> None:
    ticks = round_ticks(low, high)
    assert 1 <= len(ticks) <= 4
    assert all(low <= tick <= high for tick in ticks)
    assert all(float(f"{tick:.2e}") == pytest.approx(tick) for tick in ticks)


@pytest.mark.parametrize(("options", "said"), [({"part": "sideways"}, "unknown part"), ({"view": "x"}, "unknown view")])
def test_unknown_options_are_named(options: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        figures.sequence_view(looked(), **options)


def test_a_change_without_edits_is_refused() -> None:
    with pytest.raises(ValueError, match="edited"):
        figures.sequence_view(looked(edited=False), part="change")


def test_the_data_always_have_the_same_columns() -> None:
    empty = figures.sequence_view.data(looked(), None, rows=("summary",))
    full = figures.sequence_view.data(looked(), was_read())
    assert list(empty.columns) == list(full.columns)
    assert isinstance(full, pd.DataFrame)


def test_without_attention_the_readings_get_the_room() -> None:
    rows = ("pattern", "summary", "position")
    with_pattern, without = (row_domains(rows, strip=True, pattern=p) for p in (True, False))
    assert without[1][1] - without[1][0] > 2 * (with_pattern[1][1] - with_pattern[1][0])


# ---- sentences ----------------------------------------------------------------------------------------
def rows_at(cite: Cite, found: SequenceReading) -> pd.DataFrame:
    """The rows of the figure that a number of a sentence names."""
    where = dict(cite.row)
    data = figures.sequence_view.data(found, part=where.pop("part", "clean"))
    at = where.pop("at", None)
    for column, value in where.items():
        data = data[data[column] == value]
    return data if at is None else data.iloc[[at]]


def asked_rows(data: pd.DataFrame) -> pd.DataFrame:
    """One row per position that the task asks at: the oracle's answer and the likeliest one."""
    best = data.loc[data.groupby("position")["value"].idxmax()].set_index("position")
    return best[best["true"] != ""]


def worked_out(cite: Cite, found: SequenceReading) -> Any:
    if cite.column in ("layer", "head"):
        return getattr(found, cite.column)
    rows = rows_at(cite, found)
    if cite.column in ("right", "asked"):
        told = asked_rows(rows)
        return len(told) if cite.column == "asked" else int((told["name"] == told["true"]).sum())
    if cite.column == "changed":
        told = [
            asked_rows(figures.sequence_view.data(found, part=one, rows=("outputs",))) for one in ("clean", "edited")
        ]
        right = [one["name"] == one["true"] for one in told]
        return int((right[0] != right[1]).sum())
    if cite.column == "key_token":
        return rows.groupby("key_token")["value"].sum().idxmax()
    if cite.column == "share":
        query = rows_at(replace(cite, row={k: v for k, v in cite.row.items() if k != "key_token"}), found)
        return len(rows) / len(query)
    if cite.column == "name":
        return rows.loc[rows["value"].idxmax(), "name"]
    found_at = {"sum": rows["value"].sum(), "rows": len(rows), "value": rows["value"].iloc[0]}
    return rows["true"].iloc[0] if cite.column == "true" else found_at[cite.column]


@pytest.mark.parametrize("query", range(1, COUNT))
@pytest.mark.parametrize("edited", [False, True])
def test_every_number_of_a_sentence_on_a_sequence_is_of_its_rows(query: int, edited: bool) -> None:
    uneven = np.array([0.05, 0.3, 0.4, 0.2, 0.05])
    pattern = np.where(np.triu(np.ones((COUNT, COUNT), bool), 1), np.nan, uneven).astype(np.float32)
    clean, changed = (
        replace(one, correct=[None if i in (0, 2) else bool(one.outputs[i].argmax() == 1) for i in range(COUNT)])
        for one in (one_pass(0.0), one_pass(-0.35))
    )
    found = looked(clean=replace(clean, pattern=pattern), query=query)
    found = replace(found, edited=changed if edited else None)
    told = [*answers_sentence(found, query), *tally_sentence(found), *attention_sentence(found, query)]
    for text, _ in (piece for piece in told if not isinstance(piece, Claim)):
        assert not re.search(r"\d", text)
    listed = cites(told)
    for one in listed:
        if one.source == CURSOR:
            assert (one.text, one.row) == (str(query), {"prefix": query})
            continue
        value = worked_out(one, found)
        assert same(one.text, value) if not isinstance(value, str) else one.text == value, one
    assert {one.column for one in listed} >= {"right", "asked", "sum", "rows", "share", "value", "name"}
    assert ("changed" in {one.column for one in listed}) is edited


def test_a_real_answer_cites_each_of_its_numbers() -> None:
    clean = replace(one_pass(0.0), correct=[None] * COUNT)
    found = looked(edited=False, outputs_names=None, oracle=[None] * COUNT, clean=clean)
    told = answers_sentence(found, 3)
    assert said(told) == "At prefix 3 the task has no answer; the model predicts 0.3, 0.7."
    assert [same(one.text, worked_out(one, found)) for one in cites(told)[1:]] == [True, True]
    assert said(tally_sentence(found)) == "The task has no answer for any prefix of this sequence."
    assert attention_sentence(looked(pool=2), 1) == []
