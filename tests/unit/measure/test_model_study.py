"""Any measurement on a model in memory, of a task or of given batches, through one door."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch

import probes
from circuits import hardmax_statistics
from circuits.hardmax.measurement import Hardmax
from circuits.heads.head_scores import Heads
from circuits.interventions.attention_swaps import Swaps
from probes.summary import Summary
from tests.support.measure.measuring import Counting
from workbench import measure
from workbench.measure import Result, run
from workbench.measure.behaviour.measurement import Behaviour
from workbench.measure.measurement import Grid
from workbench.measure.model_study import _by_law, _given_batches, _NoTask, _refuse_laws, drawn_grid, observe
from workbench.measure.settings import MeasurementError
from workbench.models import HookedSSM, HookedTransformer, ModelConfig, SSMConfig
from workbench.models.handmade.transformers import majority
from workbench.table.schema import FIELDS, row
from workbench.tasks import make_task
from workbench.tasks.base import TaskError

TASK = make_task("majority")


def small(seed: int = 0) -> HookedTransformer:
    cfg = ModelConfig(d_vocab=3, d_vocab_out=2, n_layers=2, d_model=16, n_heads=2, n_ctx=128, positions="none")
    return HookedTransformer(cfg, seed=seed).eval()


def batches(*lengths: int, law: str = "matched", count: int = 64):
    return [TASK.sample(count, n, torch.Generator().manual_seed(n), law) for n in lengths]


def test_the_names_of_the_package_are_loaded_on_first_use() -> None:
    assert all(getattr(measure, name) is not None for name in measure.__all__)
    with pytest.raises(AttributeError, match="'nothing'"):
        measure.nothing  # noqa: B018


def test_a_task_is_measured_on_the_grid_of_a_run() -> None:
    found = run(Behaviour(resamples=10), majority(), TASK, trained=9, sequences=64, step=7)
    assert found.value("accuracy", law="challenge", length=73, mode="teacher_forced") == 1.0
    assert {row["step"] for row in found.rows} == {7}
    assert {row["run"] for row in found.rows} == {""}
    assert list(found.frame().columns) == list(FIELDS)
    assert "<table" in found._repr_html_()
    assert len(found.figure("accuracy").data) > 0


def test_given_batches_are_what_is_shown_lengths_ascending() -> None:
    counting = Counting(asked=("matched",))
    given = batches(21, 5, 13)
    run(counting, small(), given)
    assert [(law, n) for law, n, *_ in counting.shown] == [("matched", 5), ("matched", 13), ("matched", 21)]
    for _, n, batch, _, logits in counting.shown:
        (own,) = [one for one in given if one.length == n]
        assert batch is own
        assert torch.allclose(logits, small()(own.tokens), atol=1e-6)


def test_what_notebooks_call_is_the_same_measurement() -> None:
    model, given = small(), batches(5, 9, 19)
    settings = {"resamples": 20}
    own = run(Hardmax(**settings), model, given, trained=9, seed=3)
    assert hardmax_statistics(model, given, trained=9, seed=3, **settings).rows == own.rows
    summary = run(Summary(**settings), model, given, trained=9, inside=[5, 9], untrained=small(1), seed=3)
    found = probes.probe(model, given, inside=[5, 9], untrained=small(1), seed=3, **settings)
    assert found.rows == summary.rows
    assert isinstance(found, Result)
    assert found.direction().shape == (16, 1)
    assert np.linalg.norm(found.direction()) == pytest.approx(1)


def test_another_seed_gives_other_intervals_and_other_strings() -> None:
    first, again, other = (
        run(Heads(resamples=20), small(), TASK, trained=9, lengths=[9], sequences=32, seed=seed).rows
        for seed in (0, 0, 1)
    )
    assert first == again
    assert first != other


def test_the_task_may_stand_beside_the_batches() -> None:
    found = run(Swaps(factors=[1]), majority(), batches(9, count=32), task=TASK, trained=9)
    assert found.value("hardmax_swap_drop", target="all heads", length=9) == 0.0
    with pytest.raises(MeasurementError, match="task=task"):
        run(Swaps(factors=[1]), majority(), batches(9, count=32), trained=9)


@pytest.mark.parametrize(("given", "options", "said"), [
    ([], {}, "batch"),
    (batches(5) + batches(5), {}, "test set"),
    (batches(5, law="challenge"), {}, "test set"),
    (TASK, {}, "give trained=N"),
])  # fmt: skip
def test_what_cannot_be_measured_is_refused(given, options, said: str) -> None:
    with pytest.raises(MeasurementError, match=said):
        run(Heads(), small(), given, **options)


def test_a_model_without_what_is_needed_says_so_in_rows() -> None:
    found = run(
        Heads(),
        HookedSSM(SSMConfig(d_vocab=3, d_vocab_out=2, n_layers=1, d_model=8, n_ctx=128)),
        TASK,
        trained=9,
        sequences=2,
    )
    assert {row["status"] for row in found.rows} == {"not_applicable"}
    with pytest.raises(ValueError, match="attention"):
        found.figure()


def test_of_a_task_that_is_not_given_nothing_is_supposed() -> None:
    """Neither that a prefix of its strings is one of its strings, nor that some lengths are beyond a window."""
    nobody = _NoTask()
    assert [nobody.prefix_closed(law) for law in ("training", "matched", "challenge")] == [False] * 3
    assert not nobody.beyond_window(10**9)
    assert not nobody.presented


# ---- what is given, branch by branch -----------------------------------------------------------------------------------
def wanting(*laws: str, any_law: bool = False, unlabelled: bool = False) -> Any:
    return SimpleNamespace(name="m", spec=SimpleNamespace(laws=laws), any_law=any_law, unlabelled=unlabelled)


@pytest.mark.parametrize(("laws", "any_law", "given", "refused"), [
    (["matched"], False, ["matched"], ""), (["matched"], False, ["matched", "x", "w"], "of the test set matched, not of w"), (["matched"], True, ["x"], ""),
    ([], False, ["x"], ""), ([], True, ["x"], ""), (["matched", "challenge"], False, ["challenge"], ""),
    (["matched", "challenge"], False, ["x"], "of the test set matched or challenge, not of x"), (["matched"], False, [], ""),
])  # fmt: skip
def test_laws_that_a_measurement_reads(laws: list[str], any_law: bool, given: list[str], refused: str) -> None:
    asked = [(law, 5) for law in given]
    if not refused:
        _refuse_laws(wanting(*laws, any_law=any_law), asked)
        return
    with pytest.raises(MeasurementError, match=refused):
        _refuse_laws(wanting(*laws, any_law=any_law), asked)


TOKENS = torch.tensor([[0, 1, 2], [0, 2, 1]])


@pytest.mark.parametrize(("unlabelled", "labelled", "task", "plain", "law", "taken"), [
    (False, False, False, False, "matched", True), (False, False, False, True, "", False), (True, False, False, True, "challenge", True),
    (False, True, False, True, "challenge", True), (True, True, False, True, "challenge", True), (False, False, True, True, "challenge", True),
])  # fmt: skip
def test_plain_tokens_with_all_that_is_read_of_them(
    unlabelled: bool, labelled: bool, task: bool, plain: bool, law: str, taken: bool
) -> None:
    """A batch has its own law; plain tokens have the first one that the measurement reads."""
    measurement = wanting("challenge", "matched", unlabelled=unlabelled)
    data = TOKENS if plain else batches(5)[0]
    given = (measurement, data, torch.ones(2) if labelled else None, TASK if task else None)
    if not taken:
        with pytest.raises(MeasurementError, match="task states"):
            _given_batches(*given)
        return
    (found,) = _given_batches(*given)
    assert found.law == law
    many = _given_batches(measurement, [data], *([[given[2]]] if labelled else [None]), given[3])
    assert len(many) == 1


def test_without_laws_plain_tokens_are_of_the_matched_one() -> None:
    (found,) = _given_batches(wanting(unlabelled=True), TOKENS, None, None)
    assert (found.law, found.length, found.bos) == ("matched", 3, False)


def test_one_batch_for_each_law_and_length() -> None:
    given = [*batches(5, 7), *batches(5, law="challenge")]
    assert [*_by_law(given)] == [("matched", 5), ("matched", 7), ("challenge", 5)]
    for wrong in ([], [*given, given[0]]):
        with pytest.raises(
            MeasurementError, match="at least one batch" if not wrong else "one batch per test set and length"
        ):
            _by_law(wrong)


@pytest.mark.parametrize(("lengths", "grid"), [
    ([5, 9, 13], Grid(9, (5, 9, 13), (5, 9), (13,))), ([13, 5, 13], Grid(9, (5, 13), (5,), (13,))), ([9], Grid(9, (9,), (9,), ())), ([11], Grid(9, (11,), (), (11,))),
])  # fmt: skip
def test_lengths_at_which_strings_are_drawn(lengths: list[int], grid: Grid) -> None:
    assert drawn_grid(TASK, 9, lengths) == replace(grid, named=grid.lengths)
    with pytest.raises(TaskError, match="length 12"):
        drawn_grid(TASK, 9, [12, 13])


@pytest.mark.parametrize(("laws", "given", "shown"), [
    (("a", "b"), None, [("a", 5), ("a", 9), ("b", 5), ("b", 9)]), (("b",), [("b", 9), ("a", 7), ("b", 2)], [("a", 7), ("b", 2), ("b", 9)]),
    ((), None, []), ((), [("a", 5)], []), (("a",), [], []),
])  # fmt: skip
def test_what_a_measurement_is_shown(
    monkeypatch: pytest.MonkeyPatch, laws: tuple[str, ...], given: Any, shown: list[tuple[str, int]]
) -> None:
    seen: list[Any] = []
    monkeypatch.setattr("workbench.measure.model_study.show_pass", lambda model, batch, shown: seen.append(batch))
    measurement: Any = SimpleNamespace(
        spec=SimpleNamespace(laws=laws), start=lambda study: seen.append("start"), observer=lambda *given: None
    )
    study: Any = SimpleNamespace(grid=Grid(5, (5, 9), (5,), (9,)), model=None, batch=lambda law, length: (law, length))
    observe(measurement, study, given)
    assert seen == ["start", *shown]


class Saying(Counting):
    """Has one row."""

    def finish(self, study: Any) -> Any:
        return [row(quantity="x", value=1.0)]


@pytest.mark.parametrize(
    ("seed", "given", "told"), [(0, False, False), (3, False, True), (3, True, False), (0, True, False)]
)
def test_another_seed_stands_in_the_setting_where_strings_are_drawn(seed: int, given: bool, told: bool) -> None:
    data, lengths = (batches(5), None) if given else (TASK, [5])
    found = run(Saying(asked=("matched",)), small(), data, trained=5, lengths=lengths, sequences=2, seed=seed, step=4)
    (one,) = found.rows
    assert ('"evaluation_seed":3' in one["setting"]) == told
    assert (one["value"], one["step"], one["run"], one["measurement"]) == (1.0, 4, "", "counting")
    assert found.trained == 5


# ---- results ------------------------------------------------------------------------------------------------------------
ROWS: list[Any] = [
    {"quantity": "a", "length": 4, "value": 0.5, "status": "ok", "note": ""}, {"quantity": "a", "length": 8, "value": 0.0, "status": "ok", "note": ""},
    {"quantity": "b", "length": 4, "value": None, "status": "undefined", "note": "why"},
]  # fmt: skip


@pytest.mark.parametrize(("quantity", "where", "value", "said"), [
    ("a", {"length": 4}, 0.5, ""), ("a", {"length": 8}, 0.0, ""), ("a", {"value": 0.5, "length": 4}, 0.5, ""), ("a", {}, None, "has 2 "),
    ("b", {}, None, "has 1 "), ("c", {}, None, "has 0 "), ("a", {"length": 9}, None, "has 0 "),
    ("a", {"length": 4, "value": 0.0}, None, "has 0 "),
])  # fmt: skip
def test_the_one_value_of_a_quantity_at_a_place(
    quantity: str, where: dict[str, Any], value: float | None, said: str
) -> None:
    result = Result("m", ROWS, 9)
    if value is not None:
        assert result.value(quantity, **where) == value
        return
    with pytest.raises(KeyError, match=said):
        result.value(quantity, **where)
