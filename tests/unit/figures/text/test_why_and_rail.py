"""Why a model does what it does, since when, and what the rail and a comparison state; from table rows alone."""

from __future__ import annotations

from typing import Any
from xml.etree import ElementTree

import pandas as pd
import pytest

from tests.support.cited import said, unfounded
from workbench.core.verdicts import VERDICTS, verdict_kind
from workbench.figures import (
    NotMeasured,
    accuracy_difference,
    compare_sentence,
    glyph_svg,
    rail_text,
    since,
    verdict_ribbon,
    why_sentence,
)
from workbench.figures.rows.claims import capital, cites, selection_without_row
from workbench.table.schema import row


def test_why(robust: pd.DataFrame, coupled: pd.DataFrame) -> None:
    pieces = why_sentence(robust, step=3000, trained=50, layer=0, head=0, length=200)
    assert said(pieces) == (
        "The verdict has been the same since step 200 (last different verdict: step 100). The residual stream carries the task state after block 1 in one code at every measured length past 50 "
        "(0.97 [0.95, 0.99] at 1,024, controls 0.15 [0.14, 0.16]); position is not above its controls after block 1 "
        "(0.10 [0.08, 0.12], controls 0.15 [0.14, 0.16] at 1,024). "
        "L0H0 is 0.08 from hardmax from length 50 to 1,024."
    )
    assert ("task state", "summary") in pieces
    assert ("position", "position") in pieces
    pieces = why_sentence(coupled, step=3000, trained=50, layer=0, head=1)
    text = said(pieces)
    assert (
        "in a code that moves (0.12 [0.10, 0.14] at 1,024, refitted 0.40, controls 0.15 [0.14, 0.16]); position is readable"
        in text
    )
    assert text.endswith(" L0H1 is 0.24 from hardmax at 50 and 0.50 at 1,024 from length 50 to 1,024.")


def test_why_leaves_out_what_is_not_measured(robust: pd.DataFrame) -> None:
    behaviour = robust[robust["measurement"] == "behaviour"]
    assert (
        said(why_sentence(behaviour, step=3000, trained=50, layer=0, head=0))
        == "The verdict has been the same since step 200 (last different verdict: step 100)."
    )
    attention = robust[robust["measurement"] == "circuits.hardmax"]
    assert said(why_sentence(attention, step=3000, trained=50, layer=0, head=0)).startswith("L0H0 is 0.08")
    position = robust[robust["measurement"] == "probes.position"]
    assert said(why_sentence(position, step=3000, trained=50)).startswith("Position is not above its controls")
    assert why_sentence(robust.iloc[:0], step=3000, trained=50) == []


def test_rail(robust: pd.DataFrame, coupled: pd.DataFrame) -> None:
    def rail(frame: pd.DataFrame, kind: Any, step: int = 3000, head: int = 0) -> str:
        pieces = rail_text(frame, kind, step, 100, 0, head, trained=50)
        if len(frame):
            assert unfounded(pieces, frame, 50) == []
        return said(pieces)

    assert (
        rail(robust, "behaviour")
        == "Yes. The lower limit of skill (accuracy beyond guessing) is at least 0.9 at every tested length up to 1,024."
    )
    assert rail(coupled, "behaviour") == "No. It fails at length 100. Every tested length up to 50 passes."
    assert rail(robust, "behaviour", step=1).startswith("No. It does not solve the trained lengths: skill ")
    assert rail(robust, "representation").startswith(
        "Task state 0.97 [0.95, 0.99] after block 1 at length 100, above its controls (0.15 [0.14, 0.16]), in the code of trained lengths; "
    )
    assert "not above its controls (0.15 [0.14, 0.16]), refitted 0.42; position 1.00" not in rail(
        robust, "representation"
    )
    assert ", refitted 0.42; position 1.00" in rail(coupled, "representation")
    assert rail(robust, "mechanism") == "L0H0 is 0.08 from hardmax from length 50 to 1,024."
    assert rail(coupled, "mechanism", head=2).startswith("L0H2 is 0.33 from hardmax at 50 and 0.5")
    for kind in ("behaviour", "representation", "mechanism"):
        assert "step 3,000" in rail(robust.iloc[:0], kind)
    with pytest.raises(ValueError, match="theory"):
        rail(robust, "theory")


def test_compare(robust: pd.DataFrame, coupled: pd.DataFrame) -> None:
    data = accuracy_difference.data(robust, coupled, trained=50)
    at_end = data[data["step"] == 3000]
    assert said(compare_sentence(at_end)) == (
        "Equal up to length 50; from length 100 on A is higher by 0.49 [0.47, 0.51] at 1,024."
    )
    swapped = accuracy_difference.data(coupled, robust, trained=50)
    assert "from length 100 on B is higher by 0.49" in said(compare_sentence(swapped[swapped["step"] == 3000]))
    assert said(compare_sentence(data[data["step"] == 0])).startswith("Equal at every length up to 1,024")


def test_the_ribbon_is_sorted(robust: pd.DataFrame, synthetic: Any) -> None:
    ribbon = verdict_ribbon(robust.sample(frac=1, random_state=0))
    assert [step for step, _ in ribbon] == list(synthetic.STEPS)
    with pytest.raises(NotMeasured):
        verdict_ribbon(robust.iloc[:0])


@pytest.mark.parametrize(
    ("labels", "words"),
    [
        ("nnrr", "The verdict has been the same since step 20 (last different verdict: step 10)."),
        (
            "nrurur",
            "The verdict has been the same since step 10 (last different verdict: step 0).",
        ),  # undecided steps neither confirm nor break
        ("nucr", "The verdict has been the same since step 30 (last different verdict: step 20)."),
        ("rcrr", "The verdict has been the same since step 20 (last different verdict: step 10)."),
        ("rrrr", "The model already had this verdict at step 0, the first measured one."),
        ("r", "The model already had this verdict at step 0, the first measured one."),
        ("urr", "The verdict has been the same since step 10."),
        ("nru", ""),
        ("nn", ""),
        ("rrnn", ""),  # what is not fitted has not begun
    ],
)
def test_since_is_a_bracket(synthetic: Any, labels: str, words: str) -> None:
    names = {"n": "not fitted", "r": "scale-robust", "c": "length-coupled", "u": "undecided"}
    rows = [
        row(run="r", measurement="behaviour", quantity="verdict", step=10 * i, label=names[label])
        for i, label in enumerate(labels)
    ]
    frame = synthetic.frame_of(rows)
    pieces = why_sentence(frame, step=10 * (len(labels) - 1), trained=50)
    assert said(pieces) == words
    assert unfounded(pieces, frame, 50) == []
    assert why_sentence(frame, step=5, trained=50) == []


def test_since_at_an_earlier_step_knows_nothing_of_later_ones(robust: pd.DataFrame) -> None:
    labels = dict(verdict_ribbon(robust))
    assert since(labels) == since({step: label for step, label in labels.items() if step <= 400})
    assert said(why_sentence(robust, step=400, trained=50)).startswith(
        "The verdict has been the same since step 200 (last different verdict: step 100)."
    )


@pytest.mark.parametrize("verdict", VERDICTS)
def test_glyphs_are_valid_svg_that_takes_the_text_colour(verdict: str) -> None:
    svg = ElementTree.fromstring(glyph_svg(verdict))
    assert svg.attrib["stroke"] == "currentColor"
    assert svg.attrib["aria-label"] == verdict_kind(verdict).word
    assert len({glyph_svg(v) for v in VERDICTS}) == len(VERDICTS)


def test_verdict_words() -> None:
    words = {style.word for style in VERDICTS.values()}
    assert words == {
        *("Scale-robust", "Length-coupled", "Not fitted", "Undecided", "Unseen position"),
        *("Holds in context", "Decays in context", "Partial, decays in context", "Not capable"),
    }
    with pytest.raises(KeyError, match="brilliant"):
        verdict_kind("brilliant")


def test_a_piece_that_begins_a_sentence_keeps_what_it_cites() -> None:
    made = capital(selection_without_row("step", 40, "at step ", "."))
    assert made == ("At step 40.", "plain")
    assert [one.text for one in cites([made])] == ["40"]
    assert capital(("no rows", "muted")) == ("No rows", "muted")


@pytest.mark.parametrize("place", [{"layer": 0}, {"head": 0}])
def test_a_head_is_spoken_of_where_layer_and_head_are_known(robust: pd.DataFrame, place: dict[str, int]) -> None:
    without = why_sentence(robust, step=3000, trained=50)
    assert why_sentence(robust, step=3000, trained=50, **place) == without
    assert why_sentence(robust, step=3000, trained=50, layer=0, head=0) != without


def test_whether_a_head_matters_is_said_of_that_head_and_of_all_heads(robust: pd.DataFrame) -> None:
    own = robust[
        (robust["measurement"] == "circuits.hardmax") & (robust["step"] == 3000) & (robust["length"] == 100)
    ].iloc[:1]
    own = own.assign(measurement="circuits.head_effect", quantity="necessary_head", layer=0, head=0, value=None, n=512)
    drop = own.assign(quantity="head_drop", mode="mean", value=0.2, low=0.1, high=0.3)
    named, unnamed = (
        pd.concat([robust, own.assign(label=label), drop], ignore_index=True) for label in ("named", "not named")
    )
    at = {"step": 3000, "trained": 50, "length": 200}
    effect = (
        "L0H0 matters at length 100: without it, accuracy drops by 0.20 [0.10, 0.30] with its mean output in its place."
    )
    none = (
        "No single head is shown to matter at length 100: without L0H0, accuracy drops by 0.20 [0.10, 0.30] with its "
        "mean output in its place."
    )
    for frame, place, said_of_it in (
        (named, (0, 0), effect), (named, (0, 1), ""), (unnamed, (0, 1), none), (unnamed, (None, None), none), (robust, (0, 0), ""),
    ):  # fmt: skip
        layer, head = place
        pieces = why_sentence(frame, layer=layer, head=head, **at)
        assert unfounded(pieces, frame, 50) == []
        assert said_of_it in said(pieces)
        assert said_of_it or "matter" not in said(pieces)
        rail = rail_text(frame, "mechanism", 3000, 200, layer, head, trained=50)
        assert (said(rail) == said_of_it) == (layer is None)
    assert said(rail_text(robust, "mechanism", 3000, 200, None, None, trained=50)) == (
        "Whether a single head matters is not measured at step 3,000."
    )
