"""Labels of the table of claims in the words of the pages."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from tests.support.places import ROOT
from workbench.claims.claim import Condition, Row
from workbench.claims.claims_table import current_evidence, judge_stored, read_evidence
from workbench.claims.readable import condition_text, item_text, observation_text, prediction_text, prose, quantity_text
from workbench.claims.suites.registry import SUITES
from workbench.claims.verdict_rule import judge

CLAIMS = [claim for suite in SUITES.values() for claim in suite.claims]
EVIDENCE = read_evidence(ROOT / "docs" / "claims")


@pytest.mark.parametrize(
    ("stored", "words"),
    [
        ("b1 every prefix", "share of sequences with every prefix correct for lengths N+1 to 2N"),
        ("difference of b2, majority", "difference in accuracy for lengths 2N+1 to 3N (majority)"),
        ("b2 skill, challenge", "skill for lengths 2N+1 to 3N (challenge)"),
        ("certified", "a certificate of membership was found (1 = yes, 0 = no)"),
        ("of no claim", "of no claim"),
    ],
)
def test_quantities(stored: str, words: str) -> None:
    assert quantity_text(stored) == words


@pytest.mark.parametrize(
    ("stored", "words"),
    [
        ("tomita n 4 ask next ape n 96", "Tomita 4, learned positions, n = 96"),
        ("bounded_dyck n 12 ask next ssm", "D_12, state-space model"),
        (
            "planted k 2 span 4 lim 1 4",
            "planted correlation, k = 2, span = 4, limit positions of period 1 and locality 4",
        ),
        (
            "parity signed usual start less parity ssm usual start",
            "(parity, state-space model with signed gates, usual start) minus (parity, state-space model, usual start)",
        ),
        ("seed 0", "seed 0"),
        ("2 after 1", "2 after 1"),
    ],
)
def test_cases(stored: str, words: str) -> None:
    assert item_text(stored) == words


def test_conditions() -> None:
    assert condition_text(Condition("b1", at_least=0.95, fails_below=0.75)) == (
        "accuracy for lengths N+1 to 2N is at least 0.95 (the claim fails below 0.75)"
    )
    assert condition_text(Condition("certified", at_least=0.0, at_most=0.0)).endswith("(1 = yes, 0 = no): 0")
    assert condition_text(Condition("threshold", near=0.0)) == "threshold equals the expected value"


def test_every_number_of_an_observation_stays() -> None:
    """All committed verdicts: the digits are the same, in the same order, apart from those of labels."""
    for claim in CLAIMS:
        stored = current_evidence(claim, EVIDENCE)
        if stored is None:
            continue
        judgement = judge_stored(claim, EVIDENCE)
        words = observation_text(judgement, stored.rows)
        items = "|".join(re.escape(row.item) for row in stored.rows if row.item) or "none"
        before = re.sub(rf" at (?:{items})(?=:)", "", judgement.observation)
        after = re.sub(r" in the case `[^`]*`", "", words)
        names = {row.quantity for row in stored.rows}
        for name in sorted(names, key=len, reverse=True):
            before = before.replace(name, "")
        for name in sorted(map(quantity_text, names), key=len, reverse=True):
            after = after.replace(name, "")
        digits = [re.findall(r"-?\d[\d.e+-]*", text) for text in (before, after)]
        assert digits[0] == digits[1], (claim.id, judgement.observation, words)


def test_an_observation_of_several_cases() -> None:
    claim = replace(CLAIMS[0], conditions=(Condition("certified", at_least=0.0, at_most=0.0),), cells=(), kind="E")
    rows = [Row("certified", f"i {i}", 0.0) for i in range(4)]
    assert observation_text(judge(claim, rows), rows) == (
        "a certificate of membership was found (1 = yes, 0 = no): 0 in all 4 cases"
    )


def test_published_accuracies_name_their_lengths() -> None:
    told = prose("With positions addition is lost beyond the trained lengths (published 99.7/26.8/0).")
    assert told == (
        "With positions, addition fails beyond the trained lengths (published: 99.7 % up to N, 26.8 % at N+1 to 2N, 0 % at "
        "2N+1 to 3N)."
    )


def test_no_sentence_of_a_claim_is_given_for_a_claim_that_does_not_exist() -> None:
    from workbench.claims.claim_sentences import CLAIMED, MEASURED, NOTED

    assert set(CLAIMED) | set(MEASURED) | set(NOTED) <= {claim.id for claim in CLAIMS}
    assert all(prediction_text(claim).endswith((".", "?")) for claim in CLAIMS)
