"""Predictions: the published labels, what is derived here proved again, and silence where theory is silent."""

from __future__ import annotations

import pytest

from benchmarks.deciders import random_languages
from workbench.tasks.registry import task_names
from workbench.theory.crasp.zoo import ZOO
from workbench.theory.prediction.known_maps import ENTRIES
from workbench.theory.prediction.predict import one_line, predict, predict_regex
from workbench.theory.regular.deciders import in_crasp

VERDICTS = {"guaranteed", "not expressible", "open", "not decided"}


@pytest.mark.parametrize("name", task_names())
def test_every_task_of_the_house_has_a_prediction(name: str) -> None:
    for positions in ("none", "learned", "rotary"):
        said = predict(name, positions)
        assert said.verdict in VERDICTS
        assert said.reason
        assert (said.theorem == "none") == (said.verdict in ("open", "not decided"))
        assert said.line == one_line(name, positions)
    assert predict(name, "rotary").verdict == "open"


def test_without_positions_is_never_more_than_with_them() -> None:
    for name in {*task_names(), *ENTRIES, *ZOO}:
        if predict(name, "none").verdict == "guaranteed":
            assert predict(name, "learned").verdict == "guaranteed", name


def test_what_no_decider_reaches_is_not_decided() -> None:
    said = predict_regex("(aa(b|a)(b|a)(b)*ba)*", "learned")
    assert (said.verdict, said.theorem, said.program) == ("not decided", "none", "")


def test_the_readings_part_exactly_where_the_deciders_do() -> None:
    parted = 0
    for expression, language in random_languages(0, 120):
        differ = in_crasp(language, "last_position").decision != in_crasp(language, "neutral_symbol").decision
        parted += differ
        assert bool(predict_regex(expression, alphabet="".join(language.alphabet)).other_reading) == differ, expression
    assert parted >= 1
