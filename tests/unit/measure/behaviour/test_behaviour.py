"""What behaviour stores, by hand: floors, skill and its limits, loss, further strings, the second batch, failure rows."""

from __future__ import annotations

from types import SimpleNamespace
from typing import ClassVar

import numpy as np
import pytest
import torch

from tests.support.held import Held
from tests.support.measure.held_rows import held_rows
from tests.support.measure.measuring import measured
from workbench.measure.behaviour.accuracy_cells import Cell, Rules
from workbench.measure.behaviour.baselines import STRINGS, Floor, floor_of, strings
from workbench.measure.behaviour.hard_strata_verdict import Qualifier
from workbench.measure.behaviour.measurement import SECOND, Behaviour
from workbench.measure.behaviour.observed import reduce_batch, tally
from workbench.measure.behaviour.rows import (
    cell_rows,
    first_wrong_row,
    floor_rows,
    near_ties_row,
    share_row,
    stratum_row,
)
from workbench.measure.intervals import clopper_pearson, lower_limit, upper_limit, wilson
from workbench.measure.measurement import Grid
from workbench.measure.request import MeasureRequest
from workbench.measure.running.plan import execute, plan
from workbench.measure.settings import MeasurementError
from workbench.measure.study import BLOCK, CheckpointStudy, Evaluation, forward
from workbench.models.handmade.transformers import majority
from workbench.table import Table
from workbench.tasks import make_task
from workbench.tasks.counting.majority import Majority
from workbench.tasks.random_generator import generator

TASK = make_task("majority")
RULES = Rules()
GAMMA = 0.025 / 3
GRID = Grid(9, (3, 5, 9, 15, 19, 27, 37, 55, 73), (3, 5, 9), (15, 19, 27, 37, 55, 73))


class Unlisted(Majority):
    """Majority whose test sets are drawn, however few strings there are."""

    name = "unlisted"

    def support(self, law, length, window=None):
        return None


class Stated(Majority):
    """Majority with floors that are stated outright, and a shortcut that does not count."""

    name = "stated"
    outside_floor: ClassVar[frozenset[str]] = frozenset({"counts"})

    def chance(self, law: str, length: int) -> float:
        return 0.5

    def shortcuts(self, batch, window):
        whole = torch.ones(len(batch), dtype=torch.float64)
        return {"first": 0.8 * whole, "last": 0.6 * whole, "counts": whole}


def test_the_floor_is_chance_on_the_matched_law_and_the_best_shortcut_on_the_challenge_law() -> None:
    matched, challenge = (floor_of(Stated(), law, 19, 9, 0) for law in ("matched", "challenge"))
    assert (matched.value, challenge.value) == (0.5, pytest.approx(0.8))
    for floor in (matched, challenge):
        assert floor.shortcuts == pytest.approx({"first": 0.8, "last": 0.6, "counts": 1.0})
    for floor, skill in ((matched, (0.9 - 0.5) / 0.5), (challenge, (0.9 - 0.8) / 0.2)):
        assert Cell("any", 19, 90, 100, floor.value).skill == pytest.approx(skill)


def test_a_chance_above_every_shortcut_is_the_floor() -> None:
    class Likely(Stated):
        name = "likely"

        def chance(self, law: str, length: int) -> float:
            return 0.9

    assert floor_of(Likely(), "challenge", 19, 9, 0).value == 0.9


def test_floors_come_from_4096_strings_of_their_own() -> None:
    task = Unlisted()
    drawn = strings(task, "challenge", 27, 9, 7)
    assert (len(drawn), STRINGS) == (4096, 4096)
    judged = Evaluation(task, GRID, 7, 512).batch("challenge", 27)
    assert not torch.equal(drawn.tokens[:512], judged.tokens)
    floor, hits = floor_of(task, "challenge", 27, 9, 7), task.shortcuts(drawn, 9)
    assert floor.shortcuts == {name: pytest.approx(float(hit.mean())) for name, hit in hits.items()}
    other = floor_of(task, "challenge", 27, 9, 8)
    assert floor.shortcuts["first_window"] != other.shortcuts["first_window"]
    assert floor.shortcuts["first_window"] == pytest.approx(other.shortcuts["first_window"], abs=0.05)


def test_the_floor_of_a_listed_test_set_is_exact() -> None:
    """Sorted strings of 27 bits: 28 numbers of those in front, either symbol first; a window of 9 sees 9 of them."""
    exact, drawn = floor_of(TASK, "challenge", 27, 9, 7), floor_of(Unlisted(), "challenge", 27, 9, 7)
    assert exact.chance == exact.shortcuts["position_only"] == 0.5
    assert exact == floor_of(TASK, "challenge", 27, 9, 8)
    assert exact.shortcuts["first_window"] == pytest.approx(19 / 28)
    assert exact.shortcuts == pytest.approx(dict(drawn.shortcuts), abs=0.03)


def test_the_floor_does_not_move_when_more_strings_are_judged(make_run) -> None:
    small, _ = measured(make_run(majority(), TASK, trained=9, name="a"), sequences=32)
    large, _ = measured(make_run(majority(), TASK, trained=9, name="b"), sequences=300)
    assert small.frame(quantity="shortcut")["value"].tolist() == large.frame(quantity="shortcut")["value"].tolist()


@pytest.mark.asserts("accuracy", "skill")
def test_rows_of_a_cell() -> None:
    cell = Cell("challenge", 27, right=507, n=512, floor=0.6, distinct=44)
    accuracy, skill = cell_rows(cell, RULES, {"law": "challenge", "length": 27, "mode": "teacher_forced"})
    assert (accuracy["value"], accuracy["low"], accuracy["high"]) == (507 / 512, *wilson(507, 512))
    assert skill["value"] == pytest.approx((507 / 512 - 0.6) / 0.4)
    assert skill["low"] == pytest.approx((0.974069 - 0.6) / 0.4, abs=3e-6)
    assert skill["high"] == pytest.approx((0.997607 - 0.6) / 0.4, abs=3e-6)
    assert (skill["n"], skill["distinct"], accuracy["n"], accuracy["distinct"]) == (512, 44, 512, 44)


def test_rows_of_what_is_counted_have_no_interval_and_of_what_is_not_asked_no_value() -> None:
    accuracy, skill = cell_rows(Cell("matched", 64, 60, 64, 0.0, counted=True), RULES, {"law": "matched"})
    assert (skill["value"], skill["low"], skill["high"], accuracy["low"]) == (60 / 64, None, None, None)
    accuracy, skill = cell_rows(Cell("matched", 64, 0, 0, 0.5), RULES, {"law": "matched"})
    assert {accuracy["status"], skill["status"]} == {"undefined"}
    _, skill = cell_rows(Cell("matched", 64, 50, 64, 0.96), RULES, {"law": "matched"})
    assert (skill["status"], skill["note"]) == ("undefined", "chance or a shortcut scores above 0.95")


@pytest.mark.asserts("stratum_accuracy")
def test_strata_have_exact_intervals() -> None:
    whole, half = (stratum_row("lead 1", Cell("matched", 33, right, 128, 0.5, 128)) for right in (128, 64))
    assert (whole["quantity"], whole["target"], whole["length"], whole["n"], whole["value"]) == (
        "stratum_accuracy", "lead 1", 33, 128, 1.0,
    )  # fmt: skip
    assert (whole["low"], whole["high"]) == (pytest.approx(0.972, abs=5e-4), 1.0)
    assert (half["low"], half["high"]) == (pytest.approx(0.410, abs=5e-4), pytest.approx(0.590, abs=5e-4))
    assert (half["low"], half["high"]) == clopper_pearson(64, 128)


def test_loss_and_accuracy_are_those_of_the_query_at_n_alone() -> None:
    """A model that is sure and wrong before n, and sure and right at n: no loss there, and an exact match nowhere."""
    batch = TASK.sample(16, 19, generator("x"), "matched")
    logits = torch.zeros(*batch.tokens.shape, 2)
    sure = torch.nn.functional.one_hot(batch.targets, 2) * 200.0
    logits[:] = -sure
    logits[:, -1] = sure[:, -1]
    seen = reduce_batch(SimpleNamespace(task=TASK, cfg=None), 19, batch, {"logits": logits})
    assert seen.correct.tolist() == [1.0] * 16
    assert seen.exact.tolist() == [0.0] * 16
    assert seen.loss.max() == 0.0
    logits[:] = sure
    logits[:, -1] = -sure[:, -1]
    seen = reduce_batch(SimpleNamespace(task=TASK, cfg=None), 19, batch, {"logits": logits})
    assert seen.correct.tolist() == [0.0] * 16
    assert seen.loss.min() == pytest.approx(200.0)


def test_further_strings_go_on_with_the_same_sequence() -> None:
    evaluation = Evaluation(TASK, GRID, 3, 512)
    whole = Evaluation(TASK, GRID, 3, 700)
    for law, n in (("challenge", 37), ("matched", 37)):  # the matched law is prefix-closed: longer strings, cut
        parts = list(evaluation.further(law, n, 100, 700))
        assert [len(part) for part in parts][:2] == [2 * BLOCK - 100, BLOCK]
        assert torch.equal(torch.cat([part.tokens for part in parts]), whole.batch(law, n).tokens[100:700])
        assert {part.length for part in parts} == {37}
        again = torch.cat([part.tokens for part in evaluation.further(law, n, 0, 512, SECOND)])
        assert not torch.equal(again, evaluation.batch(law, n).tokens)


def test_a_tally_counts_what_is_right_and_how_many_strings_are_distinct(make_run) -> None:
    run = make_run(majority(gain_length=9), TASK, trained=9)
    study = CheckpointStudy(run, 100, run.load(100), Evaluation(TASK, GRID, 0, 64), 64)
    seen: set[int] = set()
    found = tally(study, study.further("challenge", 73, 0, 512, []), seen)
    batch = Evaluation(TASK, GRID, 0, 512).batch("challenge", 73)
    right = TASK.correct(forward(study.model, batch, [])["logits"], batch)[:, -1]
    assert found.n == 512
    assert found.right == int(right.sum()) < 512
    assert found.distinct == len(seen) == len(batch.tokens.unique(dim=0))
    assert study.passes == 1
    more = tally(study, study.further("challenge", 73, 0, 512, []), seen)
    assert more.distinct == found.distinct, "the same strings again are no new ones"


def erring(share: int, lengths: set[int]) -> type:
    """A study of a model that is wrong on every ``share``-th string of some lengths, and right on all others."""

    class Erring:
        run, step, trained_ids, earlier = "stub", 0, None, ()
        task, cfg, model, grid, seed = Unlisted(), majority().cfg, None, GRID, 0

        def __init__(self, deep: bool) -> None:
            self.deep, self.passes = deep, 0
            self.evaluation = Evaluation(self.task, GRID, 0, 512)
            self.asked: list[tuple] = []

        def reads_unseen(self, length: int) -> bool:
            return False

        def rng(self, *parts: object) -> np.random.Generator:
            return np.random.default_rng(0)

        def logits(self, batch, first: int) -> torch.Tensor:
            sure = torch.nn.functional.one_hot(batch.targets, 2).float()
            wrong = (torch.arange(first, first + len(batch)) % share == 0) & (batch.length in lengths)
            return torch.where(wrong[:, None, None], -sure, sure)

        def further(self, law, length, start, stop, names, word="evaluate"):
            self.passes += 1
            self.asked.append((law, length, start, stop, word))
            for batch in self.evaluation.further(law, length, start, stop, word):
                yield batch, {"logits": self.logits(batch, start)}
                start += len(batch)

        def answers(self, batch, names):
            self.passes += 1
            return {"logits": self.logits(batch, 0)}

        def memo(self, key, make):
            return make()

        def rows(self) -> list[dict]:
            behaviour = Behaviour()
            for law in ("matched", "challenge"):
                for n in GRID.lengths:
                    batch = self.evaluation.batch(law, n)
                    behaviour.observe(law, n, batch, {"logits": self.logits(batch, 0)})
            return behaviour.finish(self)

    return Erring


def one(rows: list[dict], **equals) -> dict:
    (found,) = [r for r in rows if all(r[key] == value for key, value in equals.items())]
    return found


def test_an_open_cell_is_asked_again_and_its_rows_hold_all_its_strings() -> None:
    """One in 32 wrong at 19: 16 of 512 over a floor of .5 leave it open, 64 of 2,048 pass."""
    study = erring(32, {19})(deep=True)
    rows = study.rows()
    assert study.asked == [("matched", 19, 512, 2048, "evaluate")], "the challenge law is not judged at 19"
    accuracy = one(rows, quantity="accuracy", law="matched", length=19)
    assert (accuracy["value"], accuracy["n"]) == (1 - 64 / 2048, 2048)
    assert accuracy["distinct"] > 512
    skill = one(rows, quantity="skill", law="matched", length=19)
    assert skill["value"] == pytest.approx(1 - 128 / 2048)
    assert skill["low"] == pytest.approx(2 * lower_limit(1984, 2048, GAMMA) - 1)
    assert skill["high"] == pytest.approx(2 * upper_limit(1984, 2048, GAMMA) - 1)
    verdict = one(rows, quantity="verdict")
    assert (verdict["label"], verdict["reason"], verdict["length"], verdict["n"]) == ("scale-robust", "", 73, 512)
    assert one(rows, quantity="loss", law="matched", length=19)["n"] == 512, "the first look alone"
    for law in ("matched", "challenge"):
        failure = one(rows, quantity="failure_length", law=law)
        assert (failure["status"], failure["low"], failure["length"], failure["value"]) == ("censored", 73, 73, None)


def test_where_nothing_may_be_asked_again_the_reason_is_said() -> None:
    study = erring(32, {19})(deep=False)
    rows = study.rows()
    verdict = one(rows, quantity="verdict")
    assert study.asked == []
    assert (verdict["label"], verdict["reason"]) == ("undecided", "too few strings")
    assert verdict["note"].endswith(
        "the bar is 0.9; 2,048 strings would decide; 10 distinct sequences at lengths 1 to 3"
    )


@pytest.mark.asserts("failure_length", "verdict")
def test_a_collapse_at_the_last_length_is_confirmed_on_independent_strings() -> None:
    study = erring(2, {73})(deep=False)
    rows = study.rows()
    assert set(study.asked) <= {("matched", 73, 0, 512, SECOND), ("challenge", 73, 0, 512, SECOND)}
    assert one(rows, quantity="verdict")["label"] == "length-coupled"
    failure = one(rows, quantity="failure_length", law="matched")
    assert (failure["value"], failure["low"], failure["high"], failure["length"]) == (73, 55, 73, 73)
    assert failure["note"] == "confirmed by a second batch"
    assert one(rows, quantity="accuracy", law="matched", length=73)["value"] == 0.5


def test_settings_carry_the_thresholds(make_run) -> None:
    assert dict(Behaviour().spec.settings) == {
        "resamples": 400,
        "free_running": 32,
        "looks": [512, 2048, 4096],
        "fitted": 0.95,
        "robust": 0.9,
        "strata": 128,
    }
    assert Behaviour().spec.version == 6
    run = make_run(majority(), TASK, trained=9)
    table, _ = measured(run, sequences=32)
    assert '"looks":[512,2048,4096]' in table.frame(quantity="verdict")["setting"].item()
    with pytest.raises(MeasurementError, match="rising"):
        plan(MeasureRequest([run.path], only=["behaviour"], settings={"behaviour": {"looks": [512, 100]}}))
    strict = {"behaviour": {"robust": 0.999, "looks": [64]}}
    execute(plan(MeasureRequest([run.path], only=["behaviour"], settings=strict, executor="serial")))
    verdict = Table.load(run.path).frame(quantity="verdict")
    assert (verdict["label"].item(), verdict["reason"].item()) == ("undecided", "at the bar")


def counted(right: float, law: str = "matched", length: int = 64, floor: float = 0.0, n: int = 64) -> Cell:
    """A cell without sampling error: its limits are its skill."""
    return Cell(law, length, right, n, floor, counted=True)


def test_rows_of_all_kinds(held: Held) -> None:
    where = {"law": "matched", "length": 8, "mode": "teacher_forced"}
    rules = Rules((64, 128))
    kinds = [
        Cell("matched", 8, 60, 64, 0.5, 30), Cell("matched", 8, 64, 64, 0.0), counted(60.5, floor=0.25),
        Cell("matched", 8, 0, 0, 0.5, note="nothing"), Cell("matched", 8, 60, 64, 0.96),
    ]  # fmt: skip
    rows = [r for cell in kinds for r in cell_rows(cell, rules, where)]
    rows += [stratum_row(f"kind {i}", cell) for i, cell in enumerate(kinds)]
    rows += floor_rows(Floor(0.75, 0.5, {"last": 0.75, "first": 0.25}), where)
    rows += [share_row("exact_match", "ids", np.array([True, False, True]), where)]
    rows += [near_ties_row(Qualifier("open", "a: 1 at 2"), "small margins", 64), first_wrong_row(17, where, 64)]
    rows += [first_wrong_row(None, where, 64)]
    held(held_rows(rows))
