"""A sequence's figure at its margins: where training ends in view, what is named, outlined and said."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from tests.support.figures.sequences import a_pass, a_sequence, uniform
from workbench import figures
from workbench.figures.sequence.attention_pattern import position_ticks
from workbench.figures.sequence.sequence_data import shown_cells
from workbench.figures.sequence.sequence_view import at_hand, names_fit, row_of
from workbench.figures.sequence.sequence_window import Window
from workbench.figures.sequence.wrong_string import twin_said
from workbench.measure.edits.reading import Twin

DRAW = figures.figure_by_name("sequence_view").plain
PATTERN = figures.figure_by_name("attention_pattern").plain


def shapes(figure: Any, name: str) -> list[Any]:
    """The shapes of a name."""
    return [one for one in figure.layout["shapes"] if one.name == name]


def texts(figure: Any) -> list[str]:
    """All notes."""
    return [one.text for one in figure.layout["annotations"]]


@pytest.mark.parametrize(
    ("bos", "trained", "edge"),
    [
        (False, 1, 0.5),
        (False, 5, 4.5),
        (False, 6, None),
        (False, 0, None),
        (True, 1, 1.5),
        (True, 4, 4.5),
        (True, 5, None),
    ],
)
def test_where_training_ends_is_drawn_inside_the_view(bos: bool, trained: int, edge: float | None) -> None:
    figure = DRAW(a_sequence(6, bos=bos, trained=trained))
    assert [one.x0 for one in shapes(figure, "training length")] == ([] if edge is None else [edge])
    tokens = ["<bos>" if bos and not i else "0" for i in range(6)]
    drawn = PATTERN(np.nan_to_num(uniform(6)), tokens, trained=trained, layer=0, head=0)
    lines = shapes(drawn, "training length")
    at = [one.x0 for one in lines if one.yref == "paper"] + [one.y0 for one in lines if one.xref == "paper"]
    assert at == ([] if edge is None and trained else [edge if edge is not None else -0.5] * 2)


@pytest.mark.parametrize(
    ("window", "fit"),
    [
        (Window(range(128), range(128), 300, 1), True),
        (Window(range(129), range(3), 300, 1), False),
        (Window(range(3), range(129), 300, 1), False),
        (Window(range(3), range(3), 300, 2), False),
    ],
)
def test_cells_are_named_where_few_are_in_view(window: Window, fit: bool) -> None:
    assert names_fit(window) is fit


@pytest.mark.parametrize(
    ("window", "whole", "said"),
    [
        (Window(range(5), range(5), 5, 1), True, ""),
        (Window(range(4), range(5), 5, 1), False, "queries 0 to 3 \u00b7 keys 0 to 4"),
        (Window(range(5), range(1, 5), 5, 1), False, "queries 0 to 4 \u00b7 keys 1 to 4"),
        (Window(range(2, 4), range(1, 3), 5, 1), False, "queries 2 to 3 \u00b7 keys 1 to 2"),
    ],
)
def test_a_part_in_view_is_said(window: Window, whole: bool, said: str) -> None:
    assert (window.whole, window.range_text) == (whole, said)
    assert window.limits(window.keys) == (window.keys.start - 0.5, window.keys.stop - 0.5)


@pytest.mark.parametrize(
    ("places", "pool", "edges"),
    [
        (range(4), 1, [-0.5, 0.5, 1.5, 2.5, 3.5]),
        (range(2, 7), 2, [1.5, 3.5, 5.5, 6.5]),
        (range(2, 6), 2, [1.5, 3.5, 5.5]),
    ],
)
def test_edges_of_cells_end_with_the_view(places: range, pool: int, edges: list[float]) -> None:
    assert Window(places, places, 9, pool).edges(places).tolist() == edges


@pytest.mark.parametrize(("count", "noted"), [(11, False), (12, True)])
def test_the_empty_corner_is_explained_where_it_is_large(count: int, noted: bool) -> None:
    assert ("no key after the query" in texts(DRAW(a_sequence(count)))) is noted
    drawn = PATTERN(np.nan_to_num(uniform(count)), ["0"] * count, trained=5, layer=0, head=0)
    assert ("no key after the query" in texts(drawn)) is noted


@pytest.mark.parametrize(
    ("keys", "queries", "noted"),
    [((0, 10), (5, 15), False), ((0, 10), (4, 14), True), ((10, 20), (14, 20), True), ((0, 10), (10, 20), False)],
)
def test_a_part_without_an_empty_corner_has_no_note(
    keys: tuple[int, int], queries: tuple[int, int], noted: bool
) -> None:
    whole = a_sequence(20)
    assert whole.clean.pattern is not None
    cells = whole.clean.pattern[slice(*queries), slice(*keys)]
    found = replace(whole, clean=replace(whole.clean, pattern=cells), keys=keys, queries=queries)
    assert ("no key after the query" in texts(DRAW(found, rows=["pattern"]))) is noted


@pytest.mark.parametrize(("count", "named"), [(128, True), (129, False)])
def test_pairs_of_tokens_are_named_of_short_sequences(count: int, named: bool) -> None:
    drawn = PATTERN(np.nan_to_num(uniform(count)), ["0"] * count, trained=5, layer=0, head=0)
    assert (drawn.data[0].text is not None) is named


@pytest.mark.parametrize(
    ("query", "outlined"),
    [(3, [("rect", -0.5, 3.5), ("line", 3, 3)]), (5, [("rect", -0.5, 5.5), ("line", 5, 5)]), (6, []), (None, [])],
)
def test_a_query_is_outlined_where_it_is_in_view(query: int | None, outlined: list[tuple[str, float, float]]) -> None:
    figure = DRAW(a_sequence(6), rows=["pattern", "outputs"], query=query)
    assert [(one.type, one.x0, one.x1) for one in shapes(figure, "query")] == outlined


@pytest.mark.parametrize(
    ("clean", "edited", "part", "said"),
    [
        ([True, False, None], None, "clean", " 1 of 2 answers are right."),
        ([None, None, None], None, "clean", ""),
        ([True, False, None], [False, True, None], "edited", " 1 of 2 answers are right."),
        ([True, False, None], [False, False, None], "change", " 1 answers change between right and wrong."),
    ],
)
def test_right_answers_are_counted_in_words(clean: Any, edited: Any, part: Any, said: str) -> None:
    outputs = np.full((3, 2), 0.5)
    other = None if edited is None else a_pass(outputs, edited, uniform(3))
    figure = DRAW(a_sequence(3, clean=a_pass(outputs, clean, uniform(3)), edited=other), part=part)
    assert figure.layout["meta"]["alt"].partition(".")[2] == said


def test_weights_of_a_query_are_at_hand_where_every_cell_is_its_own() -> None:
    found = a_sequence(4)
    assert at_hand(found)
    assert row_of(found, 1).tolist() == [0.5, 0.5]  # type: ignore[union-attr]
    pooled = replace(found, pool=2)
    assert not at_hand(pooled)
    assert row_of(pooled, 3).tolist() == [0.25] * 4  # type: ignore[union-attr]
    assert row_of(pooled, 2) is None
    assert not at_hand(replace(found, keys=(0, 3)))
    for lacking in ("pattern", "row"):
        assert row_of(replace(found, clean=replace(found.clean, **{lacking: None})), 3) is None


def test_a_view_of_attention_is_of_its_own_cells() -> None:
    found = a_sequence(3)
    seen = np.tril(np.ones((3, 3), bool))
    np.testing.assert_allclose(shown_cells(found, "clean", "times_length"), np.where(seen, 1.0, np.nan), rtol=1e-6)
    scores = np.where(seen, np.array([[0.0, 0.0, 0.0], [-3.0, 1.0, 0.0], [-100.0, 2.0, 4.0]]), np.nan)
    top = np.array([0.0, 1.0, 5.0], np.float32)
    told = replace(found, clean=replace(found.clean, scores=scores.astype(np.float32), row_top=top))
    np.testing.assert_allclose(
        shown_cells(told, "clean", "score"), np.where(seen, [[0, 0, 0], [-4, 0, 0], [-32, -3, -1]], np.nan)
    )
    assert shown_cells(replace(found, clean=replace(found.clean, pattern=None)), "clean", "attention") is None


@pytest.mark.parametrize(
    ("count", "start", "ticks"),
    [
        (8, 0, [0, 1, 2, 3, 4, 5, 6, 7]),
        (9, 0, [0, 2, 4, 6, 8]),
        (16, 0, list(range(0, 16, 2))),
        (17, 0, [0, 5, 10, 15]),
        (12, 3, [4, 6, 8, 10]),
        (11, 3, list(range(3, 11))),
        (9_000_000, 0, [0, 8_999_999]),
    ],
)
def test_positions_have_at_most_eight_ticks(count: int, start: int, ticks: list[int]) -> None:
    assert position_ticks(count, start) == ticks


@pytest.mark.parametrize(
    ("twin", "said"),
    [
        (None, "none in the sample"),
        (Twin("01", (1200,), 0.5, True, "0", "1"), "token 1,200: 0 \u2192 1"),
        (Twin("01", (3, 5), 0.5, False), "2 tokens differ"),
    ],
)
def test_what_it_takes_to_be_right_is_said(twin: Twin | None, said: str) -> None:
    assert twin_said(twin) == said


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"part": "half"}, "'half'"),
        ({"view": "odd"}, "'odd'"),
        ({"part": "edited"}, "edited"),
        ({"part": "change"}, "edited"),
    ],
)
def test_what_there_is_not_is_refused(given: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        DRAW(a_sequence(3), **given)
