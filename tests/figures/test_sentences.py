"""Verdicts and sentences, from table rows alone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from xml.etree import ElementTree

import pandas as pd
import pytest

from workbench.figures import (
    NotMeasured,
    accuracy_difference_data,
    compare_sentence,
    glyph_svg,
    rail_text,
    since_step,
    verdict_ribbon,
    verdict_sentence,
    why_sentence,
)
from workbench.figures.verdicts import VERDICTS, verdict_style
from workbench.table.schema import row

Made = Callable[..., pd.DataFrame]


def said(pieces: list[tuple[str, str]]) -> str:
    return "".join(text for text, _ in pieces)


@pytest.fixture
def made(synthetic: Any) -> Made:
    """A run made of a few rows: accuracies and skills per length as (value, low, high), a verdict, a failure."""

    def make(
        accuracy: dict[int, tuple[float, float, float]],
        verdict: str,
        *,
        skill: dict[int, tuple[float, float, float]] | None = None,
        failed: tuple[int, int] | None = None,
        law: str = "matched",
        note: str = "",
        unseen: int | None = None,
        horizon: int = 1024,
        step: int = 2000,
    ) -> pd.DataFrame:
        common = {"run": "r", "measurement": "behaviour", "step": step}
        rows = []
        for quantity, values in (("accuracy", accuracy), ("skill", skill or {})):
            for n, (value, low, high) in values.items():
                status = "unseen_position" if unseen is not None and n >= unseen else "ok"
                for one in ("matched", "challenge"):
                    rows.append(
                        row(
                            **common,
                            quantity=quantity,
                            law=one,
                            mode="teacher_forced",
                            length=n,
                            value=value,
                            low=low,
                            high=high,
                            n=512,
                            status=status,
                        )
                    )
        if failed is not None:
            low, high = failed
            rows.append(
                row(
                    **common,
                    quantity="failure_length",
                    law=law,
                    mode="teacher_forced",
                    value=float(high),
                    low=float(low),
                    high=float(high),
                    n=512,
                )
            )
        rows.append(row(**common, quantity="verdict", label=verdict, length=horizon, note=note))
        frame: pd.DataFrame = synthetic.frame_of(rows)
        return frame

    return make


def test_length_coupled(made: Made) -> None:
    frame = made(
        {50: (0.986, 0.97, 0.99), 100: (0.52, 0.48, 0.56), 200: (0.5, 0.46, 0.54)},
        "length-coupled",
        failed=(50, 100),
    )
    pieces = verdict_sentence(frame, step=2000, trained=50)
    assert said(pieces) == (
        "Length-coupled at step 2,000: accuracy falls from 0.99 [0.97, 0.99] at length 50 "
        "to 0.52 [0.48, 0.56] at length 100."
    )
    assert pieces[0] == ("Length-coupled", "position")
    assert [text for text, role in pieces if role == "muted"] == [" [0.97, 0.99]", " [0.48, 0.56]"]


def test_failure_on_the_challenge_law_only_is_said(made: Made) -> None:
    frame = made({50: (1, 0.99, 1), 100: (0.5, 0.4, 0.6)}, "length-coupled", failed=(50, 100), law="challenge")
    assert said(verdict_sentence(frame, step=2000, trained=50)).endswith("at length 100 under the challenge law.")


def test_scale_robust(made: Made) -> None:
    frame = made({50: (1, 0.99, 1), 256: (0.999, 0.99, 1), 1024: (0.998, 0.99, 1)}, "scale-robust")
    pieces = verdict_sentence(frame, step=2000, trained=50)
    assert said(pieces) == ("Scale-robust at step 2,000: accuracy stays at 1.00 [0.99, 1.00] from length 50 to 1,024.")
    assert pieces[0] == ("Scale-robust", "summary")


def test_a_robust_run_that_dips_is_quoted_at_its_lowest(made: Made) -> None:
    frame = made({50: (1, 0.99, 1), 256: (0.961, 0.95, 0.97), 1024: (0.99, 0.98, 1)}, "scale-robust")
    assert "stays at 0.96 [0.95, 0.97] or above from" in said(verdict_sentence(frame, step=2000, trained=50))


def test_not_fitted_quotes_the_worst_trained_length(made: Made) -> None:
    frame = made(
        {50: (0.52, 0.48, 0.56)},
        "not fitted",
        skill={10: (0, -0.9, 0.1), 16: (0.9, 0.8, 0.94), 25: (0.04, -0.04, 0.12), 50: (0.5, 0.4, 0.6)},
        step=64,
    )
    # length 10 is below N/4 and not one of the lengths that fitting is judged at
    assert said(verdict_sentence(frame, step=64, trained=50)) == (
        "Not fitted at step 64: skill at trained lengths is 0.04 [\u22120.04, 0.12]; "
        "a verdict needs a lower limit of 0.95."
    )


def test_an_interval_across_the_threshold_asks_for_more_sequences(made: Made) -> None:
    crossing = "The interval crosses the band; more sequences would decide."
    frame = made({50: (1, 0.99, 1)}, "not fitted", skill={50: (0.95, 0.93, 0.97)})
    assert said(verdict_sentence(frame, step=2000, trained=50)).endswith(crossing)
    accuracy = {50: (1.0, 0.99, 1.0), 100: (0.95, 0.93, 0.97)}
    frame = made(accuracy, "undecided", skill={50: (1, 0.98, 1), 100: (0.9, 0.86, 0.94)}, horizon=100)
    assert said(verdict_sentence(frame, step=2000, trained=50)).endswith(f"from length 50 to 100. {crossing}")
    frame = made(accuracy, "undecided", skill={100: (0.93, 0.91, 0.94)}, note="tested to 2 x N only", horizon=100)
    sentence = said(verdict_sentence(frame, step=2000, trained=50))
    assert crossing not in sentence
    assert sentence.endswith("; tested to 2 x N only.")


def test_unseen_position(made: Made) -> None:
    frame = made(
        {50: (0.99, 0.98, 1), 61: (0.7, 0.6, 0.8), 100: (0.5, 0.4, 0.6)},
        "unseen position",
        failed=(50, 61),
        unseen=61,
    )
    assert said(verdict_sentence(frame, step=2000, trained=50)) == (
        "Unseen position at step 2,000: accuracy falls from 0.99 [0.98, 1.00] at length 50 to "
        "0.70 [0.60, 0.80] at length 61, reading positions never seen in training from length 61 on."
    )


def test_no_verdict_names_behaviour(robust: pd.DataFrame) -> None:
    with pytest.raises(NotMeasured) as caught:
        verdict_sentence(robust, step=3, trained=50)
    assert caught.value.measurement == "behaviour"


def test_why(robust: pd.DataFrame, coupled: pd.DataFrame) -> None:
    pieces = why_sentence(robust, step=3000, trained=50, layer=0, head=0)
    assert said(pieces) == (
        "Since step 200. It carries the summary in one code at every length (0.97 at 1,024) and little position "
        "(0.10); head L0 H0 stays within 0.10 of hardmax up to length 1,024."
    )
    assert ("summary", "summary") in pieces
    assert ("position", "position") in pieces
    text = said(why_sentence(coupled, step=3000, trained=50, layer=0, head=1))
    assert "in a code that moves (0.12 at 1,024, refitted 0.40); position stays readable (1.00)" in text
    assert text.endswith("head L0 H1 moves away from hardmax (0.24 at length 50, 0.50 at 1,024).")


def test_a_summary_that_controls_hold_as_well_is_given_with_them(robust: pd.DataFrame) -> None:
    frame = robust.copy()
    probes = frame["measurement"] == "probes.summary"
    frame.loc[probes & (frame["control"] != ""), "value"] = 0.99
    frame.loc[probes & (frame["control"] == "") & frame["mode"].isin(["transfer", "refit"]), "low"] = 0.95
    text = said(why_sentence(frame, step=3000, trained=50))
    assert "It carries the summary in one code at every length (0.97 at 1,024, controls 0.99)" in text


def test_why_leaves_out_what_is_not_measured(robust: pd.DataFrame) -> None:
    behaviour = robust[robust["measurement"] == "behaviour"]
    assert said(why_sentence(behaviour, step=3000, trained=50, layer=0, head=0)) == "Since step 200."
    attention = robust[robust["measurement"] == "circuits.hardmax"]
    assert said(why_sentence(attention, step=3000, trained=50, layer=0, head=0)).startswith("Head L0 H0 stays")
    position = robust[robust["measurement"] == "probes.position"]
    assert said(why_sentence(position, step=3000, trained=50)) == "Little position is readable (0.10 at 1,024)."
    assert why_sentence(robust.iloc[:0], step=3000, trained=50) == []


def test_rail(robust: pd.DataFrame, coupled: pd.DataFrame) -> None:
    def rail(frame: pd.DataFrame, kind: Any, step: int = 3000, head: int = 0) -> str:
        return said(rail_text(frame, kind, step, 100, 0, head, trained=50))

    assert rail(robust, "behaviour").startswith("Yes. No length up to 1,024")
    assert rail(coupled, "behaviour") == "No. Failure length 100; 50 was still kept."
    assert rail(robust, "behaviour", step=1).startswith("No. It does not yet")
    assert rail(robust, "representation") == (
        "Summary 0.97 [0.95, 0.99] at length 100, in the code of trained lengths; position 0.10 [0.08, 0.12]."
    )
    assert ", refitted 0.42; position 1.00" in rail(coupled, "representation")
    assert rail(robust, "mechanism").startswith("Yes. L0 H0 stays within 0.10")
    assert rail(robust, "mechanism", head=2).startswith("Yes. L0 H2 keeps its distance")
    assert rail(coupled, "mechanism", head=2).startswith("No. L0 H2 moves away from hardmax")
    for kind in ("behaviour", "representation", "mechanism"):
        assert "step 3,000" in rail(robust.iloc[:0], kind)
    with pytest.raises(ValueError, match="theory"):
        rail(robust, "theory")


def test_compare(robust: pd.DataFrame, coupled: pd.DataFrame) -> None:
    data = accuracy_difference_data(robust, coupled, trained=50)
    at_end = data[data["step"] == 3000]
    assert said(compare_sentence(at_end)) == (
        "Equal up to length 50; from length 100 on A is higher by 0.49 [0.47, 0.51] at 1,024."
    )
    swapped = accuracy_difference_data(coupled, robust, trained=50)
    assert "from length 100 on B is higher by 0.49" in said(compare_sentence(swapped[swapped["step"] == 3000]))
    assert said(compare_sentence(data[data["step"] == 0])).startswith("Equal at every length up to 1,024")


def test_ribbon_and_since(robust: pd.DataFrame, synthetic: Any) -> None:
    ribbon = verdict_ribbon(robust.sample(frac=1, random_state=0))
    assert [step for step, _ in ribbon] == list(synthetic.STEPS)
    assert since_step(robust) == 200
    assert since_step(robust, 3000) == 200
    assert since_step(robust, 10) == 0


def test_since_counts_only_the_last_uninterrupted_stretch(synthetic: Any) -> None:
    labels = ["not fitted", "scale-robust", "length-coupled", "scale-robust", "scale-robust"]
    rows = [
        row(run="r", measurement="behaviour", quantity="verdict", step=10 * i, label=label)
        for i, label in enumerate(labels)
    ]
    frame = synthetic.frame_of(rows)
    assert since_step(frame) == 30
    assert since_step(frame, 10) == 10
    with pytest.raises(NotMeasured):
        since_step(frame, 15)
    with pytest.raises(NotMeasured):
        verdict_ribbon(frame.iloc[:0])


@pytest.mark.parametrize("verdict", VERDICTS)
def test_glyphs_are_valid_svg_that_takes_the_text_colour(verdict: str) -> None:
    svg = ElementTree.fromstring(glyph_svg(verdict))
    assert svg.attrib["stroke"] == "currentColor"
    assert svg.attrib["aria-label"] == verdict_style(verdict).word
    assert len({glyph_svg(v) for v in VERDICTS}) == len(VERDICTS)


def test_verdict_words() -> None:
    words = {style.word for style in VERDICTS.values()}
    assert words == {"Scale-robust", "Length-coupled", "Not fitted", "Undecided", "Unseen position"}
    with pytest.raises(KeyError, match="brilliant"):
        verdict_style("brilliant")
