"""The answers as they are above the edited ones: every drawn number is one of the reading, and wrong prefixes are marked."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tests.support.cited import NUMBER, said
from tests.support.figures.sequences import a_pass, a_sequence
from workbench import figures
from workbench.figures.rows.claims import cites
from workbench.figures.text.story_sentences import chosen_sentence, right_means, story_sentence
from workbench.measure.edits.reading import FirstWrong, SequenceReading

RIGHT = [True, False, None, True, False, True]
REPAIRED = [True, True, None, True, False, True]
OUTPUTS = [[0.9, 0.1], [0.7, 0.3], [0.5, 0.5], [0.2, 0.8], [0.6, 0.4], [0.1, 0.9]]


def edited(**changes: object) -> SequenceReading:
    found = a_sequence(6, clean=a_pass(OUTPUTS, RIGHT), edited=a_pass(OUTPUTS[::-1], REPAIRED))
    asked = [correct is not None for correct in RIGHT]
    return replace(found, **{"asked": asked, "intervention": "ids interpolated", **changes})


def traces(figure: object, name: str) -> list[object]:
    return [trace for trace in figure.data if trace.name == name]


def test_crosses_stand_where_the_answer_of_each_pass_is_wrong() -> None:
    found = edited()
    made = figures.answer_maps(found)
    assert [list(trace.x) for trace in traces(made, "wrong")] == [[1, 4], [4]]
    assert [trace.hovertext[-1] for trace in traces(made, "wrong")] == ["prefix 5: the answer is wrong"] * 2
    cells = traces(made, "probability")
    for trace, one in zip(cells, (found.clean, found.edited), strict=True):
        np.testing.assert_allclose(np.asarray(trace.z, dtype=float), one.outputs.T, atol=1e-6)
    titles = [one.text for one in made.layout.annotations if one.name == "pass"]
    assert titles == ["as is: 3 of 5 right", "with ids interpolated: 4 of 5 right"]
    heights = [made.layout[trace.yaxis.replace("y", "yaxis")].domain for trace in cells]
    assert heights[0][0] > heights[1][1], "as is stands above the edited one"


def test_the_rows_say_which_answers_are_wrong() -> None:
    found = edited()
    rows = figures.answer_maps.data(found)
    for part, correct in (("clean", RIGHT), ("edited", REPAIRED)):
        of_it = rows[(rows["part"] == part) & (rows["name"] == "c0")]
        assert [
            None if value is np.nan or value != value else bool(value) for value in of_it["wrong"].astype(float)
        ] == [None if one is None else not one for one in correct]
        np.testing.assert_allclose(of_it["value"], found.of(part).outputs[:, 0], atol=1e-6)


def test_a_pass_without_an_error_has_no_cross_and_without_edits_one_map_is_drawn() -> None:
    made = figures.answer_maps(a_sequence(6, clean=a_pass(OUTPUTS, [True] * 6)))
    assert [[x for x in trace.x if x is not None] for trace in traces(made, "wrong")] == [[]]
    assert len(traces(made, "probability")) == 1


@pytest.mark.parametrize(
    ("strength", "words"),
    [
        (1.0, "As is: 3 of 5 prefixes right; with ids interpolated: 4 of 5."),
        (0.5, "As is: 3 of 5 prefixes right; with ids interpolated at strength 0.50: 4 of 5."),
    ],
)
def test_the_headline_says_what_changed(strength: float, words: str) -> None:
    pieces = story_sentence(edited(strength=strength))
    assert said(pieces) == words
    assert [one.text for one in cites(pieces)] == NUMBER.findall(words)


def test_digits_in_the_name_of_an_intervention_have_a_source() -> None:
    pieces = story_sentence(edited(intervention="scores \u00d7 2"))
    assert said(pieces) == "As is: 3 of 5 prefixes right; with scores \u00d7 2: 4 of 5."
    assert [one.text for one in cites(pieces)] == ["3", "5", "2", "4", "5"]


def test_without_an_intervention_or_an_answer_there_is_no_story() -> None:
    assert story_sentence(edited(intervention="")) == []
    assert story_sentence(replace(edited(), asked=[False] * 6)) == []
    assert right_means(edited()) == []
    assert said(right_means(edited(within="within 0.1"))) == " Right means within 0.1 of the oracle\u2019s answer."


@pytest.mark.parametrize(
    ("chosen", "words"),
    [
        (
            FirstWrong(4, 64, "matched", wrong=True),
            "This is number 5 of 64 matched test sequences of length 6: the first whose last answer the model gets wrong.",
        ),
        (
            FirstWrong(0, 64, "challenge", wrong=False),
            "The model\u2019s last answer is right in all 64 challenge test sequences of length 6. This is the first of "
            "them.",
        ),
    ],
)
def test_the_page_says_how_a_sequence_was_chosen(chosen: FirstWrong, words: str) -> None:
    pieces = chosen_sentence(edited(chosen=chosen))
    assert said(pieces) == words
    assert [one.text for one in cites(pieces)] == NUMBER.findall(words)
    assert chosen_sentence(edited()) == []
