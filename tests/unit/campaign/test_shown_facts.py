"""The sample of shown facts: what counts as a fact, and that every run has its share."""

from __future__ import annotations

from urllib.parse import parse_qsl, urlsplit

import pytest

from tests.campaign.shown_facts import Fact, addresses, drawn, sentences
from tests.support.dashboard.claims import gallery  # noqa: F401
from workbench.dashboard.pages import compare
from workbench.dashboard.server.context import Context


def test_what_states_nothing_is_no_fact() -> None:
    text = (
        "How to read this\n\nAccuracy falls to 0.84 at length 48. It is scale-robust!\nShort. Saved views are kept "
        "beside the runs."
    )
    assert list(sentences(text)) == ["Accuracy falls to 0.84 at length 48.", "It is scale-robust!"]


@pytest.mark.parametrize(
    "text",
    [
        "Selected step and length, length 64",
        "Query at prefix 128.",
        "Behaviour over prefix length, 95 % intervals",
        "Over training, accuracies on the matched test set",
        "step verdict accuracy at 31 at 249",
        "all 512: the test set has 512 sequences, and each was evaluated",
        "Which component reads which?",
    ],
)
def test_titles_captions_and_legends_are_no_facts(text: str) -> None:
    assert list(sentences(text)) == []


def test_the_page_that_compares_shows_the_run_that_is_asked_for(gallery: Context) -> None:
    *_, address = addresses("parity_nope", "compiled/majority_first_32")
    asked = dict(parse_qsl(urlsplit(address).query))
    shown, notices = compare.check(gallery, gallery.store.runs()[asked["run"]], asked)
    assert (shown["run2"], notices) == ("compiled/majority_first_32", [])


def test_facts_are_drawn_from_each_run_in_turn_and_by_seed() -> None:
    facts = [Fact(run, "show", f"fact {number} of {run}") for run in "abc" for number in range(20)]
    sample = drawn(facts, 10, 1)
    assert sorted({fact.run: sum(one.run == fact.run for one in sample) for fact in sample}.values()) == [3, 3, 4]
    assert len(set(sample)) == 10
    assert sample == drawn(facts[::-1], 10, 1)
    assert sample != drawn(facts, 10, 2)


def test_a_run_with_few_facts_leaves_the_rest_to_others() -> None:
    facts = [Fact("a", "show", "fact 1"), *(Fact("b", "show", f"fact {number}") for number in range(9))]
    assert len(drawn(facts, 8, 0)) == 8
    assert len(drawn(facts, 99, 0)) == 10
