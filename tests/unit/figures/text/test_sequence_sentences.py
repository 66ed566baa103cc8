"""What is said of one sequence: the right answer, the model's, how many are right, and what a query looks at."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from tests.support.cited import said
from tests.support.figures.sequences import a_pass, a_reading, a_sequence
from workbench.figures.rows.claims import cites
from workbench.figures.sequence.sequence_data import (
    answer_words,
    named_numbers,
    oracle_words,
    sequence_table,
)
from workbench.figures.sequence.sequence_view import sequence_view
from workbench.figures.text.sequence_sentences import answers_sentence, attention_sentence, prefix_of, tally_sentence
from workbench.measure.edits.reading import SequenceReading


@pytest.mark.parametrize(("bos", "prefix"), [(False, 3), (True, 2)])
def test_prefixes_count_from_one_where_nothing_stands_before(bos: bool, prefix: int) -> None:
    found = a_sequence(4, bos=bos)
    assert prefix_of(found, 2) == prefix
    assert (
        said(answers_sentence(found, 2))
        == f"At prefix {prefix} the oracle\u2019s answer is c0; the model predicts c0 (1.00)."
    )
    first = sequence_table(found)["prefix"].tolist()
    assert first == (["0", "1", "2", "3"] if bos else ["1", "2", "3", "4"])


def test_where_nothing_is_asked_the_model_alone_speaks() -> None:
    found = a_sequence(3, oracle=[None, 1, 0], edited=a_pass([[0.25, 0.75]] * 3))
    assert said(answers_sentence(found, 0)) == (
        "At prefix 1 the task has no answer; the model predicts c0 (1.00), edited c1 (0.75)."
    )


@pytest.mark.parametrize(
    ("classes", "told"),
    [(8, "c0 (1.00)"), (9, "c0 (1.00), then c1 (0.94), c2 (0.88), c3 (0.81), c4 (0.75)")],
)
def test_of_more_than_eight_classes_the_likeliest_five_are_told(classes: int, told: str) -> None:
    assert (
        said(answers_sentence(a_sequence(2, classes), 0))
        == f"At prefix 1 the oracle\u2019s answer is c0; the model predicts {told}."
    )


def numbers(**changes: Any) -> SequenceReading:
    """A sequence that is answered by two numbers."""
    made = {"outputs_names": None, "components": ["a", "b"], "oracle": [[0.5, 2.0], None], **changes}
    return a_sequence(2, clean=a_pass([[0.25, 3.0]] * 2), **made)


@pytest.mark.parametrize(
    ("components", "words"), [(["a", "b"], "a: 0.25, b: 3"), ([], "0.25, 3"), (["a", "b", "c"], "0.25, 3")]
)
def test_numbers_stand_behind_the_names_of_their_components(components: list[str], words: str) -> None:
    found = numbers(components=components)
    assert answer_words(found, "clean", 0) == named_numbers(found, [0.25, 3.0]) == words
    assert said(answers_sentence(found, 0)).endswith(f"; the model predicts {words}.")
    assert len(cites(answers_sentence(found, 0))) == (6 if ":" in words else 4)


@pytest.mark.parametrize(
    ("oracle", "names", "words"),
    [
        (None, None, ""),
        (0.5, None, "0.5"),
        ([0.5, 2.0], None, "0.5, 2"),
        (1, ["no", "yes"], "yes"),
        (0, ["no", "yes"], "no"),
    ],
)
def test_the_right_answer_is_a_class_or_numbers(oracle: Any, names: list[str] | None, words: str) -> None:
    assert oracle_words(a_sequence(1, oracle=[oracle], outputs_names=names), 0) == words


@pytest.mark.parametrize(
    ("clean", "edited", "within", "words"),
    [
        ([None, None], None, "", "The task has no answer for any prefix of this sequence."),
        ([True, None], None, "", "Right at 1 of 1 prefixes with an answer."),
        (
            [True, False],
            None,
            "within 0.1",
            "Right at 1 of 2 prefixes with an answer, within 0.1 of the oracle\u2019s.",
        ),
        ([True, False], [True, False], "", "Right at 1 of 2 prefixes with an answer, edited at 1; 0 answers change."),
        ([True, False], [False, False], "", "Right at 1 of 2 prefixes with an answer, edited at 0; 1 answer changes."),
        ([True, False], [False, True], "", "Right at 1 of 2 prefixes with an answer, edited at 1; 2 answers change."),
    ],
)
def test_right_answers_are_counted(clean: Any, edited: Any, within: str, words: str) -> None:
    outputs = [[0.5, 0.5]] * 2
    other = None if edited is None else a_pass(outputs, edited)
    found = a_sequence(2, clean=a_pass(outputs, clean), edited=other, within=within)
    pieces = tally_sentence(found)
    assert said(pieces) == words
    assert [one.text for one in cites(pieces)] == [
        word for word in words.replace(";", "").replace(".", " ").split() if word.isdigit()
    ] or within


def test_a_query_looks_at_what_has_the_largest_share_of_all_its_places() -> None:
    weights = np.array([0.3, 0.25, 0.0, 0.25, 0.2], np.float32)
    whole = a_sequence(5, tokens=["a", "b", "c", "b", "d"])
    assert whole.clean.pattern is not None
    pattern = whole.clean.pattern.copy()
    pattern[4] = weights
    found = replace(whole, clean=replace(whole.clean, pattern=pattern))
    assert said(attention_sentence(found, 4)) == (
        "L1H2 gives 0.50 of the query\u2019s attention to b: 2 of 5 keys, a share of 0.40."
    )
    assert said(attention_sentence(found, 0)) == (
        "L1H2 gives 1.00 of the query\u2019s attention to a: 1 of 1 keys, a share of 1.00."
    )
    assert attention_sentence(replace(found, pool=2), 3) == []


# ---- tables -------------------------------------------------------------------------------------------------
def test_readings_are_told_with_their_interval_and_classes_without() -> None:
    found = a_sequence(3)
    number = sequence_view.data(found, a_reading([1, 2, 3], [1, 2, 4], rmse=0.5), rows=["position"])
    assert number["low"].tolist() == pytest.approx([0.02, 1.02, 3.02])
    assert number["high"].tolist() == pytest.approx([1.98, 2.98, 4.98])
    assert (number["true"].tolist(), number["name"].tolist()) == (["1", "2", "3"], [""] * 3)
    named = sequence_view.data(found, a_reading([0, 1, -1], [1, 1, 0], ["x", "y"]), rows=["summary"])
    assert named["low"].isna().all()
    assert (named["true"].tolist(), named["name"].tolist()) == (["x", "y", ""], ["y", "y", "x"])
    assert len(sequence_view.data(found, None, rows=["summary"])) == 0


def test_a_table_has_a_column_of_each_pass_where_it_is_about_the_change() -> None:
    found = a_sequence(3, query=1)
    rows = [np.array(one, np.float32) for one in ([0.75, 0.25, 0.0], [0.5, 0.5, 0.0])]
    clean, edited = (replace(found.clean, row=row) for row in rows)
    found = replace(found, clean=clean, edited=edited)
    read = a_reading([0, 1, 0], [0, 1, 1], ["x", "y"], [1, 1, 1])
    change = sequence_table(found, read, part="change")
    assert list(change) == [
        "prefix", "token", "oracle", "as is", "edited", "attention from 1", "summary, true", "summary, as is",
        "summary, edited", "position, true", "position, as is", "position, edited",
    ]  # fmt: skip
    assert change["attention from 1"].tolist() == ["\u22120.250", "+0.250", ""]
    assert change["summary, edited"].tolist() == ["y", "y", "y"]
    plain = sequence_table(found, replace(read, asked=[True, False, True]), part="edited")
    assert list(plain)[:5] == ["prefix", "token", "oracle", "answer", "attention from 1"]
    assert plain["attention from 1"].tolist() == ["0.500", "0.500", ""]
    assert plain["summary, read"].tolist() == ["y", "", "y"]
    assert sequence_table(replace(found, keys=(1, 3)))["token"].tolist() == found.tokens[1:3]
