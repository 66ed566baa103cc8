"""The sentence of a diagnosis, from rows alone."""

from __future__ import annotations

from typing import Any

import pandas as pd
import pytest

from workbench.diagnosis.trials import PASSES
from workbench.figures.errors import NotMeasured
from workbench.figures.rows.claims import cites
from workbench.figures.text.diagnosis_sentence import ENOUGH, FAR, NEAR, diagnosis_sentence, told
from workbench.table.schema import FIELDS, row

HERE: dict[str, Any] = {"run": "r", "step": 7, "measurement": "diagnosis", "law": "matched", "length": 64}


def frame(*rows: dict[str, Any]) -> pd.DataFrame:
    return pd.DataFrame([row(**{**HERE, **r}) for r in rows], columns=list(FIELDS))


def share(target: str, value: float, note: str = "", mode: str = "alone") -> dict[str, Any]:
    ends = {"value": value, "low": value - 0.1, "high": value + 0.1}
    return {"quantity": "restored_share", "target": target, "mode": mode, "note": note, **ends}


NOTHING = FAR - NEAR
"""What untrained weights read below 0, for the margin to be reached from what N has in these tests."""


def said(*rows: dict[str, Any]) -> str:
    return told(diagnosis_sentence(frame(*rows), step=7, longest=32))


CHOSEN = "chosen of its family on the other half of the strings"


def entry(label: str, target: str = "", grade: str = "strong") -> tuple[dict[str, Any], dict[str, Any]]:
    return (
        {"quantity": "entry", "label": label, "target": target},
        {"quantity": "entry_grade", "label": grade, "target": target},
    )


def site(label: str, layer: int | None = None, head: int | None = None) -> dict[str, Any]:
    return {"quantity": "failure_site", "label": label, "layer": layer, "head": head}


def test_entry_site_what_restores_and_what_does_not() -> None:
    rows = (*entry("position", "P.int"), site("selection", 0, 1), share("P.int", 0.93, CHOSEN))
    text = said(*rows, share("D.beta2", -0.12, CHOSEN), share("D.logn", 0.4))
    assert text == (
        "At 64, fails because positions beyond 32 make L0 H1 attend to wrong keys: ids inside the trained range "
        "restore 0.93 [0.83, 1.03]; sharpening restores −0.12 [−0.22, −0.02]."
    )


@pytest.mark.parametrize(
    ("where", "effect"),
    [
        (site("dispersion", 1, 0), "thin out what L1 H0 gives to the right keys"),
        (site("code", 1), "move the code of the answer after block 1"),
        (site("read-out"), "make the read-out miss an answer that the last row still holds as at N"),
        (site("lost", 0), "lose the answer after block 0"),
    ],
)
def test_every_site_has_its_clause(where: dict[str, Any], effect: str) -> None:
    text = said(*entry("keys", "K.sink", "partly"), where, share("K.sink", 0.6, CHOSEN))
    assert text == (
        f"At 64, fails partly because more keys than at 32 {effect}: the first key's weight held as at N restores 0.60 "
        "[0.50, 0.70]."
    )


def test_a_pair_names_both() -> None:
    pair = share("P.int and K.sink", 0.9, mode="pair")
    text = said(*entry("joint", "P.int and K.sink"), site("lost", 1), pair)
    assert "positions and more keys, together, beyond 32" in text
    assert "ids inside the trained range with the first key's weight held as at N restore 0.90" in text


def test_what_is_not_explained_says_how_much_is_restored_at_most_and_where_the_answer_still_is() -> None:
    readable = {"quantity": "answer_readable", "layer": 0, "value": 0.97}
    text = said(
        *entry("not explained", grade="none"), share("P.int", 0.4), share("D.gap", 0.1),
        {"quantity": "balanced_accuracy", "value": 0.5}, {"quantity": "balanced_loss", "value": 0.5},
        readable, {**readable, "value": 0.5, "control": "untrained"},
    )  # fmt: skip
    assert text == (
        "At 64, no repair restores more than 0.40 of the loss: not explained; the answer is still readable after block 0."
    )


@pytest.mark.parametrize(("value", "untrained", "readable"), [
    (0.0, -NOTHING, True),
    (-0.001, -NOTHING, False),
    (0.0, -NOTHING + 0.001, False),
])  # fmt: skip
def test_the_answer_is_readable_within_its_margin_of_n_where_untrained_weights_are_far_from_it(
    value: float, untrained: float, readable: bool
) -> None:
    """Both margins are met where they are reached exactly."""
    row = {"quantity": "answer_readable", "layer": 0, "value": value}
    at_trained = [{"quantity": "balanced_accuracy", "value": NEAR}, {"quantity": "balanced_loss", "value": 0.0}]
    control = {**row, "value": untrained, "control": "untrained"}
    text = said(*entry("not explained", grade="none"), share("D.gap", 0.1), *at_trained, row, control)
    assert ("still readable" in text) is readable


def test_a_repair_whose_control_restores_as_much_explains_nothing_and_is_told_with_it() -> None:
    assert ENOUGH == PASSES
    wrong = {**share("P.lag", 0.76, "best of P"), "control": "wrong_constant"}
    text = said(*entry("not explained", grade="none"), share("P.lag", 1.0, CHOSEN), wrong, share("D.gap", 0.1, CHOSEN))
    assert text == (
        "At 64, lags inside the trained range restore 1.00 [0.90, 1.10] of the loss, and with the wrong constant 0.76 "
        "[0.66, 0.86]: not explained."
    )
    unchosen = said(*entry("not explained", grade="none"), share("P.low", 0.9), share("P.lag", 0.3, CHOSEN))
    assert unchosen == (
        "At 64, of the repairs chosen on the other half of the strings none restores more than 0.30 of the loss: not "
        "explained."
    )


def test_where_all_repairs_of_ids_harm_it_says_that_positions_cannot_be_tested() -> None:
    harm = {
        "quantity": "restored_share", "target": "P.int", "mode": "alone", "status": "not_applicable",
        "note": "it harms inside training: it costs 0.48 at N",
    }  # fmt: skip
    text = said(*entry("not explained", grade="none"), share("D.gap", 0.1), harm)
    assert text.endswith("; whether positions are to blame cannot be tested by ids, for such repairs harm at N.")


def test_a_refusal_is_a_sentence_and_a_longer_length_with_a_name_comes_before_it() -> None:
    why = {"quantity": "entry", "status": "undefined", "note": "37 wrong strings of the 100 that are needed"}
    assert said(why) == "37 wrong strings of the 100 that are needed."
    later = [{**r, "length": 128} for r in (*entry("content"), site("selection", 1, 0))]
    assert said(why, *later).startswith("At 128, fails because what strings hold beyond 32 makes L1 H0 attend")


def test_where_nothing_is_to_be_explained_it_says_up_to_where_and_under_which_law() -> None:
    """A run can fail under the challenge law alone, and its diagnosis be that of the matched one."""
    why = {"quantity": "entry", "status": "undefined", "note": "loss below 0.1: nothing to explain at 64"}
    assert said(why) == "Loss below 0.1: nothing to explain at 64 under the matched law."
    later = {**why, "length": 128, "note": "loss below 0.1: nothing to explain at 128"}
    assert said(why, later) == "Loss below 0.1: nothing to explain at 64, nor at 128 under the matched law."
    named = [{**r, "length": 128} for r in entry("content")]
    of_one = told(diagnosis_sentence(frame(why, *named), step=7, longest=32, length=64))
    assert of_one == "Loss below 0.1: nothing to explain at 64 under the matched law."
    few = {**later, "note": "37 wrong strings of the 100 that are needed"}
    assert said(why, few) == (
        "Loss below 0.1: nothing to explain at 64 under the matched law; at 128: 37 wrong strings of the 100 that are "
        "needed."
    )
    found = cites(diagnosis_sentence(frame(why, later), step=7, longest=32))
    assert [one.row["length"] for one in found] == [64, 128]


def test_a_diagnosis_of_the_challenge_law_names_it_and_reads_no_row_of_the_other() -> None:
    mine = [{**r, "law": "challenge"} for r in (*entry("content"), site("selection", 1, 0))]
    why = {"quantity": "entry", "status": "undefined", "note": "loss below 0.1: nothing to explain at 64"}
    text = said(why, site("code", 0), *mine)
    assert text.startswith(
        "At 64 under the challenge law, fails because what strings hold beyond 32 makes L1 H0 attend"
    )


def test_each_number_cites_its_row() -> None:
    rows = frame(*entry("position", "P.int"), site("selection", 0, 1), share("P.int", 0.93, CHOSEN))
    found = cites(diagnosis_sentence(rows, step=7, longest=32))
    assert [one.text for one in found] == ["64", "32", "0", "1", "0.93", "0.83", "1.03"]


def test_a_step_without_diagnosis_is_not_measured() -> None:
    with pytest.raises(NotMeasured, match="no diagnosis at step 8"):
        diagnosis_sentence(frame(*entry("content")), step=8, longest=32)


# ---- every cause, every repair, and margins ---------------------------------------------------------------
@pytest.mark.parametrize(
    ("label", "words"),
    [
        ("position", "because positions beyond 32 break the answer"),
        ("keys", "because more keys than at 32 break the answer"),
        ("steps", "because more steps than at 32 break the answer"),
        ("joint", "because positions and more keys, together, beyond 32 break the answer"),
        ("steps or content", "because what grows with strings beyond 32 breaks the answer"),
        ("keys or content", "because what grows with strings beyond 32 breaks the answer"),
        ("content", "because what strings hold beyond 32 breaks the answer"),
    ],
)
def test_every_cause_agrees_with_its_verb(label: str, words: str) -> None:
    assert said(*entry(label, "P.int")) == f"At 64, fails {words}; no blind repair restores half."
    assert words in said(*entry(label, "P.int"), site(""))
    lost = said(*entry(label, "P.int"), site("lost"))
    assert (" loses the answer;" if words.endswith("breaks the answer") else " lose the answer;") in lost


@pytest.mark.parametrize(
    ("target", "words"),
    [
        ("P.lag", "lags inside the trained range restore 0.60"),
        ("P.row", "trained rows in place of others restore 0.60"),
        ("P.other", "ids inside the trained range restore 0.60"),
        ("D.logn", "scores scaled by log n restore 0.60"),
        ("D.other", "sharpening restores 0.60"),
        ("K.sink", "the first key's weight held as at N restores 0.60"),
        ("K.scale", "head outputs held at their scale at N restore 0.60"),
        ("T.slow", "steps slowed to those of N restore 0.60"),
        ("C.pool1", "rows moved to where they lay at N restore 0.60"),
        ("D.other and P.int", "sharpening with ids inside the trained range restores 0.60"),
    ],
)
def test_every_repair_is_said(target: str, words: str) -> None:
    assert said(*entry("position", target), share(target, 0.6)).partition(": ")[2].startswith(words)


@pytest.mark.parametrize(
    ("target", "aside"),
    [("P.int", "D.gap"), ("D.gap", "P.int"), ("K.sink", "P.int"), ("T.slow", "C.pool"), ("C.pool", "P.int")],
)
def test_a_repair_is_told_beside_the_chosen_one_of_another_family(target: str, aside: str) -> None:
    own = (*entry("position", target), share(target, 0.6, CHOSEN))
    assert "; " in said(*own, share(aside, 0.3, CHOSEN))
    for other in (share(aside, 0.3), share(aside, 0.3, CHOSEN, "pair"), share(f"X{aside}", 0.3, CHOSEN)):
        assert "; " not in said(*own, other)
    pair = f"{target} and {aside}"
    assert "; " not in said(*entry("joint", pair), share(pair, 0.6, mode="pair"), share(aside, 0.3, CHOSEN))


def test_without_a_blind_repair_the_best_right_key_is_told() -> None:
    oracle = [{**share("O", value), "quantity": "oracle_key_share"} for value in (0.4, 0.8, 0.6)]
    assert said(*entry("keys"), *oracle).endswith(
        ": the right key alone restores 0.80 [0.70, 0.90]; no blind repair restores half."
    )


@pytest.mark.parametrize(
    ("best", "wrong", "words"),
    [
        (
            0.5,
            True,
            "ids inside the trained range restore 0.50 [0.40, 0.60] of the loss, and with the wrong constant 0.45",
        ),
        (0.5, False, "of the repairs chosen on the other half of the strings none restores more than 0.50 of the loss"),
        (0.4999, True, "no repair restores more than 0.50 of the loss"),
    ],
)
def test_half_of_the_loss_is_enough_where_its_control_restores_less(best: float, wrong: bool, words: str) -> None:
    control = [{**share("P.int", 0.45), "control": "wrong_constant"}] * wrong
    text = said(*entry("not explained", grade="none"), share("P.int", best, CHOSEN), *control)
    assert text.startswith(f"At 64, {words}")


@pytest.mark.parametrize(
    ("other", "untestable"),
    [
        ({}, True),
        ({"target": "P.lag", "value": 0.1}, False),
        ({"target": "P.lag", "value": None}, True),
        ({"target": "D.gap", "value": 0.1}, True),
    ],
)
def test_positions_can_be_tested_where_one_repair_of_ids_does_no_harm(other: dict[str, Any], untestable: bool) -> None:
    harm = {"quantity": "restored_share", "target": "P.int", "mode": "alone", "status": "not_applicable"}
    rows = [{**harm, "note": "it harms inside training: much"}]
    rows += [{**harm, "status": "ok", **other}] if other else []
    text = said(*entry("not explained", grade="none"), *rows)
    assert ("cannot be tested by ids" in text) is untestable
    elsewhere = [{**one, "note": "it does not apply"} for one in rows]
    assert "cannot be tested" not in said(*entry("not explained", grade="none"), *elsewhere)
    if not other:
        assert "no repair is applicable: not explained" in text
