"""The ledger of evidence: every number is a row's, and what is at its control's level claims nothing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pandas as pd
import pytest

from tests.support.cited import said, same, unfounded
from workbench.figures import NotMeasured
from workbench.figures.text.evidence import Evidence, evidence, tally
from workbench.table.schema import row

N = 32
Made = Callable[..., pd.DataFrame]


@pytest.fixture
def made(synthetic: Any) -> Made:
    """Rows of a run: what a probe reads, its control, a head's kinds over length, what ablating it costs."""

    def make(
        verdict: str = "scale-robust",
        *,
        skill: tuple[float, float] = (0.98, 1.0),
        fails: bool = False,
        far: float = 0.99,
        summary: tuple[float, float, float] = (0.97, 0.98, 0.6),
        position: tuple[float, float] = (0.1, 0.3),
        kinds: tuple[str, ...] = ("hardmax", "hardmax", "hardmax"),
        drop: float = 0.4,
        named: bool = True,
        fallen: str = "",
        ties: str = "",
        nothing: float = 0.0,
    ) -> pd.DataFrame:
        rows = []
        own = {"run": "r", "step": 7, "n": 512}
        behaviour = own | {"measurement": "behaviour", "mode": "teacher_forced"}
        for law in ("matched", "challenge"):
            for n, value in ((16, 1.0), (N, 1.0), (64, far), (256, far)):
                limits = {"low": value - 0.02, "high": min(1.0, value + 0.01)}
                rows.append(row(**behaviour, quantity="accuracy", law=law, length=n, value=value, **limits))
                rows.append(row(**behaviour, quantity="chance", law=law, length=n, value=0.5))
                ends = {"value": sum(skill) / 2, "low": skill[0], "high": skill[1]}
                rows.append(row(**behaviour, quantity="skill", law=law, length=n, **ends))
            end = {"value": 64.0, "low": 32.0, "high": 64.0} if fails else {"low": 256.0, "status": "censored"}
            rows.append(row(**behaviour, quantity="failure_length", law=law, length=256, **end))
        rows.append(row(**own, measurement="behaviour", quantity="verdict", label=verdict, length=256))
        if ties:
            told = {"label": ties, "note": "lead 1: 0.42 at 256, 1.00 at 32 (matched law)"}
            rows.append(row(**own, measurement="behaviour", quantity="near_ties", length=256, **told))
        for concept, (value, refit, control) in (("summary", summary), ("position", (*position[:1], *position))):
            target = "output_summary" if concept == "summary" else "log_i"
            common = own | {"measurement": f"probes.{concept}", "quantity": f"{concept}_decodability", "target": target}
            common |= {"law": "matched", "layer": 1, "length": 256, "site": "blocks.1.hook_resid_post"}
            for mode, read in (("transfer", value), ("refit", refit)):
                rows.append(row(**common, mode=mode, value=read, low=read - 0.02, high=read + 0.02))
            limits = {"low": control - 0.01, "high": control + 0.01}
            rows.append(row(**common, mode="refit", control="token_only", value=control, **limits))
        head = own | {"law": "matched", "layer": 0, "head": 1}
        for n, kind in zip((N, 64, 256), kinds, strict=True):
            at = head | {"measurement": "circuits.hardmax", "length": n}
            rows.append(row(**at, quantity="hardmax_distance", value=0.05, low=0.04, high=0.06))
            rows.append(row(**at, quantity="hardmax_verdict", label=kind))
        tested = head | {"measurement": "circuits.head_effect", "length": 64}
        rows.append(row(**tested, quantity="necessary_head", label="named" if named else "not named"))
        for mode, less in (("mean", 0.0), ("resample", -0.05)):
            cost = {"value": drop - less, "low": drop - less - 0.1, "high": drop - less + 0.1, "mode": mode}
            rows.append(row(**tested, quantity="head_drop", label=fallen, **cost))
            least = tested | {"head": 0, "control": "least head", "mode": mode}
            rows.append(row(**least, quantity="head_drop", value=nothing, low=nothing - 0.05, high=nothing + 0.05))
        frame: pd.DataFrame = synthetic.frame_of(rows)
        return frame

    return make


def found(frame: pd.DataFrame) -> dict[str, list[Evidence]]:
    """The evidence by topic, every number of it looked up in the rows."""
    told = evidence(frame, step=7, trained=N, length=128, layer=0, head=1)
    by_topic: dict[str, list[Evidence]] = {}
    for one in told:
        assert unfounded(one.clause, frame, N) == [], said(one.clause)
        value, _, n, control, _ = one.cells
        control, *ends = (part.strip("[],") for part in control.split())
        for text, held, column in ((value, one.row, "value"), (n, one.row, "n"), (control, one.control, "value")):
            assert text == "\u2013" if held is None else same(text, held[column])
        limits = [] if one.control is None else [one.control[end] for end in ("low", "high")]
        limits = [limit for limit in limits if limit is not None and limit == limit]
        assert len(ends) == len(limits), "a control stands with its interval, where it has one"
        assert all(same(text, limit) for text, limit in zip(ends, limits, strict=True))
        for held in (one.row, one.control):
            assert held is None or held["quantity"] in set(frame["quantity"])
        by_topic.setdefault(one.topic, []).append(one)
    return by_topic


def standings(frame: pd.DataFrame) -> dict[str, set[str]]:
    return {topic: {one.standing for one in listed} for topic, listed in found(frame).items()}


def test_a_robust_run_whose_evidence_agrees(made: Made) -> None:
    told = found(made())
    assert {topic: {one.standing for one in listed} for topic, listed in told.items()} == {
        "fit": {"supports"},
        "past training": {"supports"},
        "summary": {"supports"},
        "position": {"neutral"},
        "head": {"supports"},
    }
    [matched, challenge] = told["past training"]
    assert said(matched.clause) == "Accuracy stays past 32, up to 256; lowest at 64 on the matched test set"
    assert matched.cells == ("0.99", "[0.97, 1.00]", "512", "0.50", "")
    assert "challenge" in said(challenge.clause)
    [summary] = told["summary"]
    assert said(summary.clause) == "The task state is carried in the code of trained lengths at length 256"
    assert summary.cells == ("0.97", "[0.95, 0.99]", "512", "0.60 [0.59, 0.61]", "after block 1")
    [head] = told["head"]
    assert head.cells == ("0.40", "[0.30, 0.50]", "512", "0.00 [\u22120.05, 0.05]", "L0H1")


def test_a_coupled_run_whose_evidence_agrees(made: Made) -> None:
    kinds = ("hardmax", "mixed", "soft")
    told = standings(
        made(
            "length-coupled",
            fails=True,
            far=0.7,
            summary=(0.5, 0.9, 0.6),
            position=(0.8, 0.3),
            kinds=kinds,
            ties="fail",
        )
    )
    assert set(told) == {"fit", "past training", "small margins", "summary", "position", "head"}
    assert all(one == {"supports"} for one in told.values()), told


def test_what_speaks_the_other_way_contradicts(made: Made) -> None:
    told = standings(made("length-coupled", fails=True, far=0.7))
    assert told["summary"] == told["head"] == {"contradicts"}
    told = standings(
        made(summary=(0.5, 0.9, 0.6), position=(0.8, 0.3), kinds=("hardmax", "mixed", "soft"), ties="fail")
    )
    assert told["summary"] == told["position"] == told["head"] == told["small margins"] == {"contradicts"}


@pytest.mark.parametrize("verdict", ["scale-robust", "length-coupled", "not fitted", "undecided", "unseen position"])
@pytest.mark.parametrize("level", [0.97, 0.95, 0.945, 1.0])
def test_nothing_is_claimed_at_the_level_of_a_control(made: Made, verdict: str, level: float) -> None:
    # 0.945: the intervals [0.95, 0.99] of the probe and [0.935, 0.955] of its control overlap
    frame = made(verdict, summary=(0.97, 0.98, level), position=(0.97, level), named=False)
    told = standings(frame)
    assert told["summary"] == told["position"] == told["head"] == {"neutral"}
    assert "not above its controls" in said(found(frame)["summary"][0].clause)
    assert said(found(frame)["head"][0].clause).endswith("but it is not shown to matter at length 64")


def test_without_a_control_nothing_is_claimed(made: Made) -> None:
    frame = made(position=(0.9, 0.1))
    told = standings(frame[frame["control"] != "token_only"])
    assert told["summary"] == told["position"] == {"neutral"}
    untested = frame[frame["measurement"] != "circuits.head_effect"]
    assert said(found(untested)["head"][0].clause).endswith("; whether it matters is not measured")


def test_accuracy_at_chance_supports_no_claim_that_it_stays(made: Made) -> None:
    assert standings(made(far=0.51))["past training"] == {"neutral"}


def test_a_fall_inside_the_interval_at_n_is_none(made: Made) -> None:
    assert standings(made("length-coupled", fails=True, far=0.98))["past training"] == {"neutral"}


@pytest.mark.parametrize(("named", "standing"), [(True, "supports"), (False, "neutral")])
def test_a_head_counts_where_it_is_shown_to_matter(made: Made, named: bool, standing: str) -> None:
    assert standings(made(named=named))["head"] == {standing}


def test_a_drop_to_chance_is_no_number_of_the_evidence(made: Made) -> None:
    (head,) = found(made(fallen="falls to chance"))["head"]
    assert (
        "without it, accuracy drops by 0.40 [0.30, 0.50], to chance, with its mean output in its place and by 0.45 "
        "[0.35, 0.55], to chance, with its output on another sequence in its place at length 64"
    ) in said(head.clause)
    assert head.cells == ("\u2013", "", "\u2013", "\u2013", "L0H1")
    assert head.standing == "supports"


@pytest.mark.parametrize(
    ("kinds", "standing"),
    [
        (("hardmax", "mixed", "hardmax"), "neutral"),
        (("hardmax", "undecided", "hardmax"), "neutral"),
        (("soft", "soft", "soft"), "neutral"),
        (("undecided", "soft", "soft"), "neutral"),
        (("hardmax", "hardmax", "soft"), "contradicts"),
    ],
)
def test_a_head_speaks_where_it_is_hard_at_n_and_decided_past_it(
    made: Made, kinds: tuple[str, ...], standing: str
) -> None:
    assert standings(made(kinds=kinds))["head"] == {standing}


def test_little_position_speaks_for_nothing(made: Made) -> None:
    assert standings(made("length-coupled", position=(0.2, 0.0)))["position"] == {"neutral"}


@pytest.mark.parametrize(
    ("skill", "verdict", "standing"),
    [
        ((-0.1, 0.1), "not fitted", "supports"),
        ((-0.1, 0.1), "scale-robust", "contradicts"),
        ((0.9, 0.97), "not fitted", "neutral"),
        ((0.97, 1.0), "not fitted", "contradicts"),
        ((0.97, 1.0), "undecided", "neutral"),
    ],
)
def test_the_fit_speaks_for_what_it_shows(made: Made, skill: tuple[float, float], verdict: str, standing: str) -> None:
    told = standings(made(verdict, skill=skill))
    assert told["fit"] == {standing}
    assert ("past training" in told) == (skill == (0.97, 1.0)), "nothing falls, or stays, of what was never fitted"


def test_open_near_ties_cannot_tell(made: Made) -> None:
    told = found(made(ties="open"))["small margins"]
    assert [(one.standing, said(one.clause).partition(":")[0]) for one in told] == [
        ("neutral", "Hard inputs are inconclusive past training")
    ]
    assert standings(made(ties="hold"))["small margins"] == {"supports"}


def test_no_length_past_n_judged_says_nothing(made: Made) -> None:
    frame = made()
    frame.loc[frame["quantity"] == "failure_length", "low"] = float(N)
    assert "past training" not in standings(frame)


def test_the_tally_counts_every_clause(made: Made) -> None:
    told = evidence(made(ties="fail"), step=7, trained=N, length=128, layer=0, head=1)
    assert tally(told) == {"supports": 5, "contradicts": 1, "neutral": 1}


def test_without_a_verdict_there_is_no_ledger(made: Made) -> None:
    with pytest.raises(NotMeasured, match="step 8"):
        evidence(made(), step=8, trained=N, length=128)


# ---- margins ------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("skill", "words"),
    [
        ((0.95, 1.0), "Skill at trained lengths reaches 0.95"),
        ((0.9499, 1.0), "Skill at trained lengths is not known to reach 0.95"),
        ((0.9, 0.95), "Skill at trained lengths is not known to reach 0.95"),
        ((0.9, 0.9499), "Skill at trained lengths is below 0.95"),
    ],
)
def test_the_fit_is_told_at_its_bar(made: Made, skill: tuple[float, float], words: str) -> None:
    assert said(found(made(skill=skill))["fit"][0].clause).startswith(words)


@pytest.mark.parametrize(
    ("lengths", "least"),
    [
        ({8: 0.96, 16: 0.97, N: 0.98}, 8),
        ({7: 0.96, 16: 0.97, N: 0.98}, 16),
        ({4: 0.96, 5: 0.97, N + 1: 0.95}, 5),
        ({N + 1: 0.96}, None),
    ],
)
def test_the_fit_is_told_at_the_trained_length_from_a_quarter_on_of_which_least_is_shown(
    made: Made, lengths: dict[int, float], least: int | None
) -> None:
    frame = made()
    skill = frame[(frame["quantity"] == "skill") & (frame["law"] == "matched")].iloc[:1]
    rows = [skill.assign(length=n, value=low, low=low) for n, low in lengths.items()]
    told = evidence(
        pd.concat([frame[frame["quantity"] != "skill"], *rows], ignore_index=True), step=7, trained=N, length=128
    )
    assert [int(one.row["length"]) for one in told if one.topic == "fit" and one.row is not None] == (
        [] if least is None else [least]
    )


@pytest.mark.parametrize(
    ("value", "words"), [(0.25, " can be read, above its controls"), (0.2499, " is above its controls, and little")]
)
def test_position_is_little_below_its_bar(made: Made, value: float, words: str) -> None:
    assert words in said(found(made(position=(value, -0.5)))["position"][0].clause)


@pytest.mark.parametrize(
    ("refit", "words"), [(0.1, "in a code that moves"), (0.0999, "in the code of trained lengths")]
)
def test_a_code_that_reads_a_tenth_more_moves(made: Made, refit: float, words: str) -> None:
    assert words in said(found(made(summary=(0.0, refit, -0.5)))["summary"][0].clause)


@pytest.mark.parametrize(("length", "standing"), [(1, "supports"), (64, "supports"), (1000, "supports")])
def test_the_head_is_looked_at_where_it_was_ablated(made: Made, length: int, standing: str) -> None:
    (head,) = [
        one for one in evidence(made(), step=7, trained=N, length=length, layer=0, head=1) if one.topic == "head"
    ]
    assert head.standing == standing
    assert head.row is not None
    assert head.row["length"] == 64


@pytest.mark.parametrize(("layer", "head"), [(None, 1), (0, None), (None, None)])
def test_of_all_heads_the_ledger_says_whether_one_matters(made: Made, layer: int | None, head: int | None) -> None:
    for named, words in (
        (True, "L0H1 matters at length 64"),
        (False, "No single head is shown to matter at length 64"),
    ):
        told = evidence(made(named=named), step=7, trained=N, length=128, layer=layer, head=head)
        (one,) = [one for one in told if one.topic == "head"]
        assert said(one.clause).startswith(words)
        assert (one.standing, one.where) == ("neutral", "")
    untested = made()
    untested = untested[untested["measurement"] != "circuits.head_effect"]
    told = evidence(untested, step=7, trained=N, length=128, layer=layer, head=head)
    assert "head" not in {one.topic for one in told}


def test_one_length_alone_says_nothing_of_a_head(made: Made) -> None:
    frame = made()
    assert standings(frame[(frame["measurement"] != "circuits.hardmax") | (frame["length"] == N)])["head"] == {
        "neutral"
    }
    before = made(kinds=("soft", "hardmax", "hardmax"))
    before.loc[(before["measurement"] == "circuits.hardmax") & (before["length"] == N), "length"] = N // 2
    assert standings(before)["head"] == {"neutral"}


def test_what_has_no_single_number_has_empty_cells(made: Made) -> None:
    (ties,) = found(made(ties="hold"))["small margins"]
    assert ties.cells == ("\u2013", "", "\u2013", "\u2013", "")
    (fit,) = found(made())["fit"]
    assert fit.cells == ("0.99", "[0.98, 1.00]", "512", "\u2013", "")
    bare = Evidence(
        "fit", [], [], {"value": 0.5, "low": None, "high": None, "n": None}, {"value": 0.25}, "supports", "x"
    )
    assert bare.cells == ("0.50", "", "\u2013", "0.25", "x")
