"""Verdicts and sentences, from table rows alone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pandas as pd
import pytest

from tests.support.cited import said, unfounded
from workbench.core.thresholds import UNTRAINED
from workbench.figures import (
    NotMeasured,
    rail_text,
    verdict_sentence,
)
from workbench.figures.text.run_sentences import _inside, wants_strings
from workbench.table.schema import row

Made = Callable[..., pd.DataFrame]
OTHER = '{"fitted":0.8,"robust":0.7}'
"""Settings of rows that were made with other thresholds than today's."""


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
        "Length-coupled at step 2,000. Accuracy falls from 0.99 [0.97, 0.99] at length 50 (the longest trained) "
        "to 0.52 [0.48, 0.56] at length 100 (2 N, matched test set, n = 512)."
    )
    assert pieces[0] == ("Length-coupled", "position")
    assert [text for text, role in pieces if role == "muted"] == [" [0.97, 0.99]", " [0.48, 0.56]"]


@pytest.mark.parametrize(("verdict", "skill"), [("length-coupled", 0.99), ("not fitted", 0.07), ("undecided", 0.95)])
def test_where_an_answer_is_several_tokens_the_verdict_names_both_shares(
    made: Made, synthetic: Any, verdict: str, skill: float
) -> None:
    """Accuracy is the share of whole answers; most of their tokens may be right."""
    width = 0.03 if verdict == "undecided" else 0.005
    accuracy = {11: (0.09, 0.07, 0.12), 45: (0.0, 0.0, 0.01)}
    levels = {11: (skill, skill - width, skill + width)}
    frame = made(accuracy, verdict, skill=levels, failed=(11, 45) if verdict == "length-coupled" else None)
    at = {"run": "r", "measurement": "behaviour", "step": 2000, "law": "matched", "mode": "teacher_forced"}
    tokens = synthetic.frame_of([row(**at, quantity="token_accuracy", length=11, value=0.76, low=0.74, high=0.78)])
    both = pd.concat([frame, tokens], ignore_index=True)
    plain_text = said(verdict_sentence(frame, step=2000, trained=11))
    pieces = verdict_sentence(both, step=2000, trained=11)
    end = " At length 11, 0.09 [0.07, 0.12] of whole answers and 0.76 of their tokens are correct."
    assert said(pieces) == plain_text + end
    assert unfounded(pieces, both, 11) == []


def test_failure_on_the_challenge_law_only_is_said(made: Made) -> None:
    frame = made({50: (1, 0.99, 1), 100: (0.5, 0.4, 0.6)}, "length-coupled", failed=(50, 100), law="challenge")
    assert said(verdict_sentence(frame, step=2000, trained=50)).endswith(
        "at length 100 (2 N, challenge test set, n = 512)."
    )


def test_scale_robust(made: Made) -> None:
    frame = made({50: (1, 0.99, 1), 256: (0.999, 0.99, 1), 1024: (0.998, 0.99, 1)}, "scale-robust")
    pieces = verdict_sentence(frame, step=2000, trained=50)
    assert said(pieces) == (
        "Scale-robust at step 2,000. Accuracy is 1.00 [0.99, 1.00] at every tested length from 50 (the longest trained) "
        "to 1,024 (20 N)."
    )
    assert pieces[0] == ("Scale-robust", "summary")


def test_a_robust_run_that_dips_is_quoted_at_its_lowest(made: Made) -> None:
    frame = made({50: (1, 0.99, 1), 256: (0.961, 0.95, 0.97), 1024: (0.99, 0.98, 1)}, "scale-robust")
    assert said(verdict_sentence(frame, step=2000, trained=50)) == (
        "Scale-robust at step 2,000. Accuracy is at least 0.96 at every tested length from 50 (the longest trained) to "
        "1,024 (20 N). It is lowest with 0.96 [0.95, 0.97] at length 256 (5.1 N, matched test set, n = 512)."
    )


def test_the_number_of_all_sequences_of_one_length_is_not_said_of_other_lengths(made: Made) -> None:
    frame = made({50: (1, 0.99, 1), 256: (0.997, None, None), 1024: (0.998, 0.991, 1)}, "scale-robust")
    frame.loc[(frame["length"] == 256) & (frame["quantity"] == "accuracy"), "note"] = "all 374 sequences"
    assert said(verdict_sentence(frame, step=2000, trained=50)) == (
        "Scale-robust at step 2,000. Accuracy is 1.00 [0.99, 1.00] at every tested length from 50 (the longest trained) "
        "to 1,024 (20 N)."
    )


def test_unseen_positions_are_about_measured_lengths_as_none_of_them_is_judged(made: Made) -> None:
    frame = made({50: (1, 0.99, 1), 100: (0.5, 0.4, 0.6), 400: (0.6, 0.5, 0.7)}, "unseen position")
    assert (
        "Accuracy is lowest with 0.50 [0.40, 0.60] at length 100 (2 N, matched test set, n = 512), of every measured "
        "length from 50 (the longest trained) to 400 (8 N). The model reads positions never seen in training."
    ) in said(verdict_sentence(frame, step=2000, trained=50))


def test_not_fitted_quotes_the_worst_trained_length(made: Made) -> None:
    frame = made(
        {50: (0.52, 0.48, 0.56)},
        "not fitted",
        skill={10: (0, -0.9, 0.1), 16: (0.9, 0.8, 0.94), 25: (0.04, -0.04, 0.12), 50: (0.5, 0.4, 0.6)},
        step=64,
    )
    # length 10 is below N/4 and not one of the lengths that fitting is judged at
    assert said(verdict_sentence(frame, step=64, trained=50)) == (
        "Not fitted at step 64. Skill is 0.04 [\u22120.04, 0.12] at length 25, below the threshold of 0.95."
    )


@pytest.mark.parametrize(
    ("label", "reason", "note", "more"),
    [
        (
            "undecided",
            "too few strings",
            "it is not known yet whether it fits: skill 1.000 [0.790, 1.000] at trained length 50, the bar is 0.95; "
            "512 strings would decide",
            "; 512 strings would decide",
        ),
        (
            "undecided",
            "at the bar",
            "whether it fits stays open after 512 strings: skill ...",
            "; still inconclusive after 512 sequences",
        ),
        # by the former rules, which took a low limit for a finding
        ("not fitted", "", "skill at trained lengths has a lower limit below 0.95", ""),
    ],
)
def test_what_is_not_known_to_be_unfitted_is_not_called_so(
    made: Made, label: str, reason: str, note: str, more: str
) -> None:
    frame = made({50: (1, 0.99, 1)}, label, skill={50: (1.0, 0.79, 1.0)}, note=note)
    frame["reason"] = reason
    pieces = verdict_sentence(frame, step=2000, trained=50)
    assert said(pieces) == (
        f"Undecided at step 2,000. Skill is 1.00 [0.79, 1.00] at length 50; the threshold is 0.95{more}."
    )
    rail = rail_text(frame, "behaviour", 2000, 50, 0, 0, trained=50)
    assert said(rail) == f"Undecided. Skill is 1.00 [0.79, 1.00] at length 50; the threshold is 0.95{more}."
    assert pieces[0] == ("Undecided", "plain")
    assert unfounded([*pieces, *rail], frame, 50) == []


def test_one_length_known_to_fail_decides_whatever_is_open_at_another(made: Made) -> None:
    frame = made({50: (1, 0.99, 1)}, "not fitted", skill={25: (1.0, 0.79, 1.0), 50: (0.90, 0.88, 0.94)})
    assert said(verdict_sentence(frame, step=2000, trained=50)) == (
        "Not fitted at step 2,000. Skill is 0.90 [0.88, 0.94] at length 50, below the threshold of 0.95."
    )


def test_the_bar_is_the_one_that_the_rows_were_made_with(made: Made) -> None:
    frame = made({50: (1, 0.99, 1)}, "not fitted", skill={50: (0.90, 0.88, 0.94)})
    frame["setting"] = '{"fitted":0.97}'
    assert "below the threshold of 0.97" in said(verdict_sentence(frame, step=2000, trained=50))


@pytest.mark.parametrize(("setting", "fitted", "robust"), [("{}", "0.95", "0.9"), (OTHER, "0.8", "0.7")])
def test_a_threshold_in_words_is_that_of_the_rows_and_is_founded(
    made: Made, setting: str, fitted: str, robust: str
) -> None:
    kept = made({50: (1, 0.99, 1), 256: (1, 0.99, 1)}, "scale-robust").assign(setting=setting)
    pieces = rail_text(kept, "behaviour", 2000, 256, 0, 0, trained=50)
    assert f"is at least {robust} at every tested length" in said(pieces)
    assert unfounded(pieces, kept, 50) == []
    low = made({50: (0.6, 0.5, 0.7)}, "not fitted", skill={50: (0.2, 0.1, 0.3)}).assign(setting=setting)
    pieces = verdict_sentence(low, step=2000, trained=50)
    assert f"below the threshold of {fitted}." in said(pieces)
    assert unfounded(pieces, low, 50) == []


def test_undecided_gives_its_reason(made: Made) -> None:
    accuracy = {50: (1.0, 0.99, 1.0), 100: (0.95, 0.93, 0.97)}
    skill = {50: (1.0, 0.98, 1.0), 100: (0.9, 0.86, 0.94)}
    frame = made(accuracy, "undecided", skill=skill, note="tested to 2 x N only", horizon=100)
    frame["reason"] = "horizon"
    pieces = verdict_sentence(frame, step=2000, trained=50)
    assert said(pieces) == (
        "Undecided at step 2,000. Accuracy is lowest with 0.95 [0.93, 0.97] at length 100 (2 N, matched test set, n = "
        "512), of every tested length from 50 (the longest trained) to 100 (2 N); tested to 2 x N only."
    )
    assert unfounded(pieces, frame, 50) == []
    assert (
        said(rail_text(frame, "behaviour", 2000, 50, 0, 0, trained=50)) == "Undecided (horizon); tested to 2 x N only."
    )


@pytest.mark.parametrize(
    ("label", "note", "words"),
    [
        (
            "fail",
            "lead 1: 0.50 at 249, 1.00 at 33 (matched law)",
            " Hard inputs fail, lead 1: 0.50 at 249, 1.00 at 33 (matched law).",
        ),
        ("hold", "", " Hard inputs hold."),
        ("open", "", " Hard inputs are inconclusive."),
    ],
)
def test_near_ties_stand_beside_the_verdict(made: Made, synthetic: Any, label: str, note: str, words: str) -> None:
    plain = made({50: (1, 0.99, 1), 400: (1, 0.99, 1)}, "scale-robust", horizon=400)
    assert "ard inputs" not in said(verdict_sentence(plain, step=2000, trained=50))
    ties = row(run="r", measurement="behaviour", quantity="near_ties", step=2000, label=label, note=note)
    frame = pd.concat([plain, synthetic.frame_of([ties])], ignore_index=True)
    verdict, rail = (
        verdict_sentence(frame, step=2000, trained=50),
        rail_text(frame, "behaviour", 2000, 50, 0, 0, trained=50),
    )
    assert said(verdict).endswith(words)
    assert "ard inputs" not in said(rail), "each fact of a page stands once"
    for pieces in (verdict, rail):
        assert unfounded(pieces, frame, 50) == []
    aside = row(
        run="r", measurement="behaviour", quantity="near_ties", step=2000, status="not_applicable", note="no ties"
    )
    frame = pd.concat([plain, synthetic.frame_of([aside])], ignore_index=True)
    assert "ard inputs" not in said(verdict_sentence(frame, step=2000, trained=50))


def test_unseen_position(made: Made) -> None:
    frame = made(
        {50: (0.99, 0.98, 1), 61: (0.7, 0.6, 0.8), 100: (0.5, 0.4, 0.6)},
        "unseen position",
        failed=(50, 61),
        unseen=61,
    )
    assert said(verdict_sentence(frame, step=2000, trained=50)) == (
        "Unseen position at step 2,000. Accuracy falls from 0.99 [0.98, 1.00] at length 50 (the longest trained) to "
        "0.70 [0.60, 0.80] at length 61 (1.2 N, matched test set, n = 512). From length 61 on, the model reads "
        "positions never seen in training."
    )


def test_no_verdict_names_behaviour(robust: pd.DataFrame) -> None:
    with pytest.raises(NotMeasured) as caught:
        verdict_sentence(robust, step=3, trained=50)
    assert caught.value.measurement == "behaviour"


@pytest.mark.parametrize(
    ("reason", "note", "wants"),
    [
        ("too few strings", "2,048 strings would decide", True),
        ("too few strings", "4,096 strings would not decide it", False),
        ("at the bar", "no number of strings would decide", False),
    ],
)
def test_strings_are_wanted_where_too_few_were_asked_and_more_would_tell(reason: str, note: str, wants: bool) -> None:
    rows = [
        row(run="r", step=3, measurement="behaviour", quantity="verdict", reason=reason, note=note, label="undecided")
    ]
    assert wants_strings(pd.DataFrame(rows), 3) is wants
    assert wants_strings(pd.DataFrame(rows), 4) is False


# ---- margins and rarer words ---------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("lengths", "trained", "inside"),
    [
        ([4, 8, 16, 32, 64], 32, [8, 16, 32]),
        ([7, 9, 15, 17, 31, 33], 32, [9, 17, 31]),
        ([30], 32, [30]),
        ([4], 32, [4]),
        ([40, 64], 32, [40]),
        ([8, 33], 32, [8]),
    ],
)
def test_fitting_is_judged_at_a_quarter_half_and_all_of_training(
    lengths: list[int], trained: float, inside: list[int]
) -> None:
    assert _inside(lengths, trained) == inside


@pytest.mark.parametrize(
    ("low", "high", "words"),
    [
        (0.95, 1.0, "Not fitted at step 2,000. "),
        (0.9, 0.95, "Undecided at step 2,000. "),
        (0.9, 0.9499, "Not fitted at step 2,000. "),
        (0.9499, 0.99, "Undecided at step 2,000. "),
    ],
)
def test_what_may_reach_the_bar_is_open(made: Made, low: float, high: float, words: str) -> None:
    frame = made({50: (1, 0.99, 1)}, "not fitted", skill={50: ((low + high) / 2, low, high)})
    assert said(verdict_sentence(frame, step=2000, trained=50)).startswith(words)


def test_without_skills_the_bar_is_named_alone(made: Made) -> None:
    frame = made({50: (1, 0.99, 1)}, "not fitted")
    assert said(verdict_sentence(frame, step=2000, trained=50)) == (
        "Not fitted at step 2,000. Skill at trained lengths does not reach 0.95."
    )
    assert said(rail_text(frame, "behaviour", 2000, 50, 0, 0, trained=50)) == (
        "No. It does not solve the trained lengths."
    )


def test_without_accuracies_that_is_said(made: Made) -> None:
    words = "Scale-robust at step 2,000. Its accuracies are not in the table."
    assert said(verdict_sentence(made({}, "scale-robust"), step=2000, trained=50)) == words


@pytest.mark.parametrize(
    ("accuracy", "horizon", "words"),
    [
        (
            {50: 0.99, 100: 0.99},
            100,
            "Accuracy is 0.99 at every tested length from 50 (the longest trained) to 100 (2 N).",
        ),
        (
            {50: 0.99, 100: 0.991},
            100,
            "Accuracy is 0.99 at every tested length from 50 (the longest trained) to 100 (2 N).",
        ),
        (
            {50: 0.99, 100: 0.97},
            100,
            "Accuracy is at least 0.97 at every tested length from 50 (the longest trained) to 100 (2 N). It is lowest with 0.97 at length 100 (2 N, matched test set).",
        ),
        (
            {50: 0.99, 100: 0.99, 101: 0.5},
            100,
            "Accuracy is 0.99 at every tested length from 50 (the longest trained) to 100 (2 N).",
        ),
        (
            {49: 0.5, 50: 0.99, 100: 0.99},
            100,
            "Accuracy is 0.99 at every tested length from 50 (the longest trained) to 100 (2 N).",
        ),
    ],
)
def test_accuracy_stays_from_n_to_the_horizon(made: Made, accuracy: dict[int, float], horizon: int, words: str) -> None:
    bare = made({n: (v, v - 0.01, v) for n, v in accuracy.items()}, "scale-robust", horizon=horizon)
    bare["low"] = bare["high"] = None
    assert said(verdict_sentence(bare, step=2000, trained=50)) == f"Scale-robust at step 2,000. {words}"


def test_of_two_laws_the_earlier_failure_counts(made: Made) -> None:
    accuracy = {50: (1.0, 1.0, 1.0), 100: (0.7, 0.7, 0.7), 200: (0.5, 0.5, 0.5)}
    one = made(accuracy, "length-coupled", failed=(100, 200))
    other = made({}, "length-coupled", failed=(50, 100), law="challenge")
    frame = pd.concat([one, other[other["quantity"] == "failure_length"]], ignore_index=True)
    told = said(rail_text(frame, "behaviour", 2000, 50, 0, 0, trained=50))
    assert told == "No. It fails at length 100 on the challenge test set. Every tested length up to 50 passes."
    frame["low"] = None
    told = said(rail_text(frame, "behaviour", 2000, 50, 0, 0, trained=50))
    assert told == "No. It fails at length 100 on the challenge test set."


@pytest.mark.parametrize(
    ("label", "reason", "note", "words"),
    [
        ("undecided", "", "", "Undecided."),
        ("undecided", "horizon", "", "Undecided (horizon)."),
        ("undecided", "", "why", "Undecided; why."),
        ("length-coupled", "", "why", "Length-coupled."),
    ],
)
def test_a_verdict_without_a_failure_gives_its_reason(
    made: Made, label: str, reason: str, note: str, words: str
) -> None:
    frame = made({50: (1, 1, 1)}, label, note=note)
    frame["reason"] = reason
    assert said(rail_text(frame, "behaviour", 2000, 50, 0, 0)) == words


@pytest.mark.parametrize(
    ("status", "label", "words"),
    [
        ("ok", "odd", " Hard inputs are not known."),
        ("censored", "open", " Hard inputs are inconclusive."),
        ("undefined", "hold", " (the longest trained)."),
    ],
)
def test_near_ties_that_are_not_known_say_so(made: Made, status: str, label: str, words: str) -> None:
    plain = made({50: (1, 1, 1)}, "scale-robust")
    ties = {"quantity": "near_ties", "status": status, "label": label, "note": ""}
    frame = pd.concat([plain, plain[plain["quantity"] == "verdict"].assign(**ties)], ignore_index=True)
    assert said(verdict_sentence(frame, step=2000, trained=50)).endswith(words)


def test_positions_are_unseen_from_the_first_of_their_lengths_on(made: Made) -> None:
    frame = made({50: (1, 1, 1), 61: (1, 1, 1), 100: (1, 1, 1)}, "unseen position", unseen=61)
    frame = frame[(frame["length"] != 61) | (frame["law"] == "matched")].iloc[::-1]
    assert said(verdict_sentence(frame, step=2000, trained=50)).endswith(
        "From length 61 on, the model reads positions never seen in training."
    )
    frame = frame[frame["status"] != "unseen_position"]
    assert said(verdict_sentence(frame, step=2000, trained=50)).endswith(
        " The model reads positions never seen in training."
    )


# ---- rows of several lengths, of all sequences, and without a threshold --------------------------
def unfitted(note: str, value: float, low: float | None, high: float | None) -> pd.DataFrame:
    own = {"run": "r", "measurement": "behaviour", "step": 20, "law": "matched", "n": 16}
    skill = row(
        quantity="skill",
        mode="teacher_forced",
        length=4,
        value=value,
        low=low,
        high=high,
        note=note,
        distinct=16,
        **own,
    )
    return pd.DataFrame([skill, row(quantity="verdict", label="not fitted", length=32, **own)])


@pytest.mark.parametrize(
    ("note", "low", "high", "words"),
    [
        ("all 16 sequences", None, None, "Skill is 0.25 (all 16 sequences) at length 4, below"),
        ("lengths 3 to 4", 0.16, 0.34, "Skill is 0.25 [0.16, 0.34] at lengths 3 to 4, below"),
        ("1 of 4 lengths, all counted: lengths 1 to 4", None, None, "Skill is 0.25 at lengths 1 to 4, below"),
        ("", 0.16, 0.34, "Skill is 0.25 [0.16, 0.34] at length 4, below"),
    ],
)
def test_a_sentence_says_which_lengths_and_that_all_sequences_were_evaluated(
    note: str, low: float | None, high: float | None, words: str
) -> None:
    frame = unfitted(note, 0.25, low, high)
    pieces = verdict_sentence(frame, step=20, trained=4)
    assert words in said(pieces)
    assert unfounded(pieces, frame, 4) == []


def test_a_length_shorter_than_all_trained_sequences_is_no_trained_length() -> None:
    frame = unfitted("", 0.5, 0.4, 0.6)
    short = frame.iloc[:1].assign(length=1, value=-0.92, low=-0.95, high=-0.8, note=f"{UNTRAINED}: all 2 sequences")
    both = pd.concat([short, frame], ignore_index=True)
    assert "Skill is 0.50 [0.40, 0.60] at length 4" in said(verdict_sentence(both, step=20, trained=4))


def test_a_task_without_a_threshold_is_not_called_unfitted() -> None:
    note = "the best possible accuracy is not known, so there is no threshold; accuracy is 0.360 at trained length 256"
    own = {"run": "r", "measurement": "behaviour", "step": 20, "law": "matched", "n": 512}
    frame = pd.DataFrame([row(quantity="verdict", label="undecided", reason="no threshold", note=note, **own)])
    pieces = verdict_sentence(frame, step=20, trained=256)
    assert said(pieces) == f"Undecided at step 20. {note[:1].upper()}{note[1:]}."


def test_a_language_model_is_read_against_the_table_of_its_text_and_not_the_best_constant_answer_alone() -> None:
    """0.36 stood against 0.03 where the table of the training text scores 0.33."""
    note = "the best possible accuracy is not known, so there is no threshold; accuracy is 0.359 at trained length 256"
    own = {"run": "r", "measurement": "behaviour", "step": 20, "law": "matched"}
    at = own | {"length": 256, "mode": "teacher_forced"}
    rows = [
        row(quantity="verdict", label="undecided", reason="no threshold", note=note, n=64, **own),
        row(quantity="chance", value=0.027, **at),
        row(quantity="shortcut", target="last_token", value=0.4, **at),
        row(quantity="shortcut", target="bigram", value=0.3284, **at),
        row(quantity="shortcut", target="bigram", value=0.0, **at | {"law": "challenge"}),
    ]
    frame = pd.DataFrame(rows)
    pieces = verdict_sentence(frame, step=20, trained=256)
    assert said(pieces) == (
        f"Undecided at step 20. {note[:1].upper()}{note[1:]}; a table of the training text (the likeliest symbol after the last two) scores 0.328."
    )
    assert unfounded(pieces, frame, 256) == []
    rail = rail_text(frame, "behaviour", 20, 256, None, None, trained=256)
    assert said(rail).endswith("; a table of the training text (the likeliest symbol after the last two) scores 0.328.")
    for high, where in ((0.48, "inside"), (0.32, "outside")):
        accuracy = row(quantity="accuracy", value=0.3594, low=0.25, high=high, n=64, **at)
        frame = pd.DataFrame([*rows, accuracy])
        pieces = verdict_sentence(frame, step=20, trained=256)
        end = f" scores 0.328, {where} the interval of the accuracy: 0.36 [0.25, {high:.2f}] (n = 64)."
        assert said(pieces).endswith(end)
        assert unfounded(pieces, frame, 256) == []
    weak = pd.DataFrame([*rows[:3], row(quantity="shortcut", target="bigram", value=0.02, **at)])
    assert said(verdict_sentence(weak, step=20, trained=256)) == f"Undecided at step 20. {note[:1].upper()}{note[1:]}."
