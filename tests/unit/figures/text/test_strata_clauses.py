"""Hard strata are named by the task, and every number of their sentences stands in the row of the cell it is of."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pandas as pd
import pytest

from tests.support.cited import said, unfounded
from workbench.dashboard.components import prose
from workbench.figures import accuracy_over_length, rail_text, verdict_sentence
from workbench.figures.rows.composition import other_lengths
from workbench.figures.rows.frame import Frame
from workbench.figures.text import strata_clauses
from workbench.figures.text.evidence import evidence
from workbench.figures.text.strata_clauses import REPEATED_SAID, each_stratum, note_of
from workbench.table.schema import row

N, STEP = 31, 1000
Made = Callable[..., pd.DataFrame]
UR, MAJORITY = "<1> ur symbols=3", "<2> majority"


@pytest.fixture
def made(synthetic: Any) -> Made:
    """A run with a verdict, accuracies at 31, 63, 187 and 249, and further rows of behaviour."""

    def make(*further: dict[str, Any], verdict: str = "scale-robust", fails: int | None = None) -> pd.DataFrame:
        common = {"run": "r", "measurement": "behaviour", "step": STEP}
        rows = []
        for law in ("matched", "challenge"):
            for n in (N, 63, 187, 249):
                value = 0.77 if fails is not None and n >= fails else 0.99
                at = {"law": law, "mode": "teacher_forced", "length": n, "n": 512}
                limits = {"value": value, "low": value - 0.01, "high": value + 0.01}
                rows.append(row(**common, **at, quantity="accuracy", **limits))
                rows.append(row(**common, **at, quantity="skill", **limits))
                rows.append(row(**common, **at, quantity="chance", value=0.5))
        if fails is not None:
            ends = {"value": float(fails), "low": float(N), "high": float(fails), "length": 249}
            at = {"law": "matched", "mode": "teacher_forced", "n": 512}
            rows.append(row(**common, quantity="failure_length", **at, **ends))
        rows.append(row(**common, quantity="verdict", label=verdict, length=249))
        rows += [row(**common, **one) for one in further]
        frame: pd.DataFrame = synthetic.frame_of(rows)
        return frame

    return make


def together(kind: str, label: str, first: str) -> dict[str, Any]:
    note = f"{first}: 0.42 [0.34, 0.51] at 187 (challenge law), 1.00 [0.97, 1.00] at 31; worst of 20 cells"
    return {"quantity": "near_ties", "target": kind, "label": label, "length": 249, "note": note}


def stratum(name: str, label: str, law: str, length: int, value: float) -> dict[str, Any]:
    ends = {"value": value, "low": value - 0.08, "high": min(1.0, value + 0.08), "n": 128}
    at = {"quantity": "stratum_verdict", "mode": "teacher_forced", "law": law, "length": length}
    return {**at, **ends, "target": name, "label": label, "note": "1.00 [0.97, 1.00] at 31; worst of 10 cells"}


def agreement(shortcut: str, mode: str, law: str, length: int, low: float) -> dict[str, Any]:
    ends = {"value": 1.0, "low": low, "high": 1.0, "n": 128}
    return {"quantity": "shortcut_agreement", "target": shortcut, "mode": mode, "law": law, "length": length, **ends}


def sentences(frame: pd.DataFrame) -> tuple[str, str]:
    """Verdict and rail, every number of both looked up in the rows."""
    verdict = verdict_sentence(frame, step=STEP, trained=N)
    rail = rail_text(frame, "behaviour", STEP, 249, 0, 0, trained=N)
    for pieces in (verdict, rail):
        assert unfounded(pieces, frame, N) == [], said(pieces)
    return said(verdict), said(rail)


MARGINS = (
    together("small margins", "fail", "lead 1"),
    stratum("lead 3 to 5", "hold", "matched", 249, 0.99),
    stratum("lead 1", "fail", "challenge", 187, 0.42),
)


def test_small_margins_are_called_so_with_the_interval_and_the_number_of_cells(made: Made) -> None:
    verdict, rail = sentences(made(*MARGINS))
    told = "mall margins fail: lead 1 has 0.42 [0.34, 0.50] at length 187 on the challenge test set, worst of 20 cells (kind, length and test set)."
    assert verdict.endswith(f" S{told}")
    assert "mall margins" not in rail, "the sentence of the verdict, on the same page, has them"
    assert "near ties" not in verdict


@pytest.mark.parametrize(
    ("distinct", "over"),
    [(4, "over 4 distinct sequences"), (1, "over 1 distinct sequence"), (128, ""), (None, "")],
)
def test_draws_that_repeat_stand_with_how_many_are_distinct(made: Made, distinct: int | None, over: str) -> None:
    summary, kept, lost = MARGINS
    frame = made(summary, kept, lost | {"distinct": distinct})
    verdict, _ = sentences(frame)
    cell = f"0.42 [0.34, 0.50]{over and f' {over}'} at length 187 on the challenge test set"
    assert cell in verdict
    shown = prose.pieces(verdict_sentence(frame, step=STEP, trained=N))
    explained = [one.children for one in shown if getattr(one, "title", "") == REPEATED_SAID]
    assert explained == ([f" {over}"] if over else []), "a tooltip says what the interval covers"
    (line,) = (one for one in evidence(frame, step=STEP, trained=N, length=249) if one.topic == "small margins")
    assert unfounded(line.clause, frame, N) == []
    assert f"lead 1 at length 187 on the challenge test set{over and f', {over}'}; 1.00" in said(line.clause)


def test_the_note_on_all_strata_says_how_many_sequences_are_distinct(made: Made) -> None:
    summary, kept, lost = MARGINS

    def told(*rows: dict[str, Any]) -> str:
        frame = Frame.of(made(*rows))
        row = strata_clauses.joint_row(frame, STEP)
        assert row is not None
        return note_of(row, each_stratum(frame, STEP))

    assert told(summary, kept, lost | {"distinct": 4}) == (
        "lead 1: 0.42 [0.34, 0.51] at 187 (challenge law, over 4 distinct sequences), 1.00 [0.97, 1.00] at 31; "
        "worst of 20 cells"
    )
    for strata in ([kept, lost], [kept], []):
        assert told(summary, *strata) == summary["note"]
    other = {**summary, "note": "lead 7: 0.42 at 187 (challenge law)"}
    assert told(other, lost | {"distinct": 4}) == other["note"], "the cell is of another stratum"


def test_the_shortcut_that_is_followed_is_named(made: Made) -> None:
    follow = agreement("first_window", "lead 1", "challenge", 187, 0.972)
    _, rail = sentences(made(*MARGINS, follow))
    words = "On small margins (lead 1) of length 187 on the challenge test set, it is right exactly where the first 31 tokens alone would be (agreement 1.00 [0.97, 1.00], n 128)."
    assert rail.endswith(f" {words}")
    elsewhere = [agreement("first_window", "lead 1", "challenge", 249, 0.972)]  # another length
    elsewhere += [agreement("first_window", "lead 3 to 5", "challenge", 187, 0.972)]  # another stratum
    elsewhere += [agreement("first_window", "lead 1", "challenge", 187, 0.94)]  # not shown
    for other in elsewhere:
        assert "exactly" not in sentences(made(*MARGINS, other))[1]
    whole = agreement("last_window", "teacher_forced", "matched", 63, 0.972)
    _, rail = sentences(made(whole, verdict="length-coupled", fails=63))
    assert "There, at length 63, it is right exactly where the last 31 tokens alone would be" in rail


COMPONENTS = (
    together("components", "fail", UR),
    stratum(MAJORITY, "hold", "matched", 249, 0.97),
    stratum(UR, "fail", "matched", 249, 0.48),
)


def composition(length: int, ur: float) -> list[dict[str, Any]]:
    at = {"quantity": "composition", "law": "matched", "mode": "teacher_forced", "length": length}
    return [{**at, "target": UR, "value": ur}, {**at, "target": MAJORITY, "value": 1 - ur}]


def test_a_failing_component_is_the_headline_of_a_mixture(made: Made) -> None:
    verdict, rail = sentences(made(*COMPONENTS))
    assert verdict.startswith(
        "Scale-robust at step 1,000. Of the components, ur symbols=3 fails with 0.48 [0.40, 0.56] at length 249, worst of its 10 cells (length and test set); "
        "majority holds with 0.97 [0.89, 1.00] at length 249, worst of its 10 cells (length and test set). On all components together, accuracy is "
    )
    assert "ur symbols=3" not in rail, "the sentence of the verdict, on the same page, has them"
    holds = (together("components", "hold", UR), stratum(UR, "hold", "matched", 249, 0.97))
    verdict, _ = sentences(made(*holds))
    assert verdict.endswith(
        " Components hold: ur symbols=3 has 0.97 [0.89, 1.00] at length 249, worst of 20 cells (kind, length and test set)."
    )


def test_the_ledger_has_a_line_for_each_component_with_its_row(made: Made) -> None:
    frame = made(*COMPONENTS)
    found = [one for one in evidence(frame, step=STEP, trained=N, length=249) if one.topic == "small margins"]
    assert [(said(one.clause).partition(";")[0], one.standing) for one in found] == [
        ("Components: ur symbols=3 fails at length 249", "contradicts"),
        ("Components: majority holds at length 249", "supports"),
    ]
    for one, (target, value) in zip(found, ((UR, 0.48), (MAJORITY, 0.97)), strict=True):
        assert one.row is not None
        assert (one.row["target"], one.row["value"], one.row["length"], one.row["step"]) == (target, value, 249, STEP)
        assert unfounded(one.clause, frame, N) == []
        assert one.cells[1] == f"[{one.row['low']:.2f}, {one.row['high']:.2f}]"


def test_a_step_of_composition_is_said_where_accuracy_falls_and_drawn(made: Made) -> None:
    shares = [*composition(N, 0.5), *composition(63, 1.0), *composition(187, 0.5), *composition(249, 0.75)]
    frame = made(*shares, verdict="length-coupled", fails=63)
    verdict, _ = sentences(frame)
    assert verdict.endswith(
        "to 0.77 [0.76, 0.78] at length 63 (2 N, matched test set, n = 512), where every sequence is of ur symbols=3."
    )
    later = made(*shares, verdict="length-coupled", fails=249)
    assert sentences(later)[0].endswith(
        "at length 249 (8 N, matched test set, n = 512), where the components are mixed in other shares than at length 31."
    )
    same = made(*composition(N, 0.5), *composition(63, 0.5), verdict="length-coupled", fails=63)
    assert "where" not in sentences(same)[0]
    figure = accuracy_over_length(frame, trained=N, step=STEP)
    (hollow,) = [trace for trace in figure.data if trace.name == "other components"]
    assert [round(2**x) for x in hollow.x] == [63, 249]
    assert hollow.hovertext[0].endswith("components: 1.00 ur symbols=3")
    assert "hollow: other components" in figure.layout.meta["slice"]
    assert not [
        trace for trace in accuracy_over_length(same, trained=N, step=STEP).data if trace.name == "other components"
    ]


def test_other_lengths_name_the_shares(made: Made) -> None:
    frame = Frame.of(made(*composition(N, 0.5), *composition(63, 0.25)))
    assert other_lengths(frame, STEP, N) == {63: "components: 0.25 ur symbols=3, 0.75 majority"}
    assert other_lengths(Frame.of(made()), STEP, N) == {}


def test_lengths_at_which_challenge_is_not_judged_are_not_quoted(made: Made) -> None:
    """N is 31: a dip at 63 on the challenge test set, of which half of the strings can be read off one end."""
    frame = made()
    dip = (frame["law"] == "challenge") & (frame["length"] == 63) & (frame["quantity"] == "accuracy")
    frame.loc[dip, ["value", "low", "high"]] = [0.6, 0.58, 0.62]
    assert "Accuracy is 0.99" in sentences(frame)[0]
    frame.loc[dip, "length"] = 187
    frame = frame[~((frame["law"] == "challenge") & (frame["length"] == 187) & (frame["value"] == 0.99))]
    assert "Accuracy is at least 0.60" in sentences(frame)[0]
