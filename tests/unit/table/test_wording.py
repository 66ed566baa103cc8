"""Stored specs are shown in the words of this version of the software, where their version is the same."""

from __future__ import annotations

from docs.quantity_wording import declared
from workbench.table.wording import WORDS, current, in_current_words


def test_the_file_has_the_words_of_the_measurements() -> None:
    assert current() == declared(), "run python -m docs.quantity_wording"


def test_a_stored_spec_of_the_same_version_gets_todays_words() -> None:
    words = current()["behaviour"]
    stored = {
        "name": "behaviour",
        "version": words["version"],
        "title": "Old title",
        "settings": {"looks": [512]},
        "quantities": [
            {"name": "accuracy", "definition": "old", "low": 0, "high": 1},
            {"name": "of_a_plug_in", "definition": "kept"},
        ],
    }
    shown = in_current_words(stored)
    assert shown["title"] == words["title"]
    accuracy, other = shown["quantities"]
    assert {part: accuracy[part] for part in WORDS} == words["quantities"]["accuracy"]
    assert (accuracy["low"], accuracy["high"]) == (0, 1)
    assert other == {"name": "of_a_plug_in", "definition": "kept"}
    assert shown["settings"] == {"looks": [512]}
    assert stored["quantities"][0]["definition"] == "old", "the stored spec is not changed"


def test_other_versions_and_measurements_keep_their_own_words() -> None:
    older = {"name": "behaviour", "version": current()["behaviour"]["version"] - 1, "title": "T", "quantities": []}
    foreign = {"name": "mine", "version": 1, "title": "T", "quantities": [{"name": "q", "definition": "d"}]}
    assert in_current_words(older) == older
    assert in_current_words(foreign) == foreign
    assert in_current_words({"name": "mine"}) == {"name": "mine"}
