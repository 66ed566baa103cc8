"""Which measurements a model can be given, branch by branch, and what is said of the others."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from workbench.measure.measurement import Quantity, Spec
from workbench.measure.running.applicable import INSTEAD, WITHOUT, lacking, not_applicable, unmet, why_not_applicable
from workbench.measure.running.engine import mark_unseen


def model(mixes_by: str = "attention", *hooks: str) -> Any:
    return SimpleNamespace(cfg=SimpleNamespace(mixes_by=mixes_by, title="thing"), hook_dict=dict.fromkeys(hooks))


def asking(needs: str = "", presented: str = "no", hooks: tuple[str, ...] = ()) -> Any:
    return SimpleNamespace(
        spec=SimpleNamespace(needs=needs), presented=presented, not_presented="not of these", hooks=lambda cfg: [*hooks]
    )


ABOUT_ATTENTION = "it is about attention, and this thing has none; "
ABOUT_SCANS = "it is about the scan of a state-space model, and this thing has none; "
ABOUT_A_SCAN = f"{ABOUT_SCANS}{INSTEAD['attention']}"
IN_A_PROMPT = "it is about models that are given a task in their prompt (lengthlens open); behaviour is about this one"


@pytest.mark.parametrize(("needs", "mixes_by", "why"), [
    ("", "attention", ""), ("", "scan", ""), ("", "recurrence", ""), ("attention", "attention", ""), ("scan", "scan", ""),
    ("attention", "scan", f"{ABOUT_ATTENTION}{WITHOUT}, and {INSTEAD['scan']}"), ("scan", "attention", ABOUT_A_SCAN),
    ("attention", "recurrence", f"{ABOUT_ATTENTION}{WITHOUT}"), ("scan", "recurrence", f"{ABOUT_SCANS}{WITHOUT}"),
])  # fmt: skip
def test_what_a_model_must_have(needs: str, mixes_by: str, why: str) -> None:
    assert unmet(SimpleNamespace(needs=needs), model(mixes_by).cfg) == why  # type: ignore[arg-type]


@pytest.mark.parametrize(("presented", "in_a_prompt", "why"), [
    ("no", False, ""), ("no", True, "not of these"), ("also", False, ""), ("also", True, ""), ("only", True, ""), ("only", False, IN_A_PROMPT),
])  # fmt: skip
def test_how_a_model_gets_to_know_its_task(presented: str, in_a_prompt: bool, why: str) -> None:
    assert why_not_applicable(asking(presented=presented), SimpleNamespace(presented=in_a_prompt)) == why  # type: ignore[arg-type]


@pytest.mark.parametrize(("measurement", "task", "why"), [
    (asking(), None, ""), (asking(), False, ""), (asking(), True, "not of these"), (asking("scan"), False, ABOUT_A_SCAN),
    (asking("scan"), True, "not of these"), (asking(presented="only"), None, ""), (asking(presented="only"), False, IN_A_PROMPT),
    (asking(hooks=("a", "b")), None, ""), (asking(hooks=("a", "c", "d")), None, "it reads c, which this thing does not have"),
    (asking(hooks=("c",)), True, "not of these"), (asking("scan", hooks=("c",)), None, ABOUT_A_SCAN),
])  # fmt: skip
def test_the_first_of_several_reasons_is_told(measurement: Any, task: bool | None, why: str) -> None:
    of: Any = None if task is None else SimpleNamespace(presented=task)
    assert lacking(measurement, model("attention", "a", "b"), of) == why


@pytest.mark.parametrize(("length", "quantity", "status", "marked"), [
    (9, "accuracy", "ok", "unseen_position"), (8, "accuracy", "ok", "ok"), (9, "verdict", "ok", "ok"), (None, "accuracy", "ok", "ok"),
    (9, "accuracy", "undefined", "undefined"), (9, "accuracy", "sampled", "sampled"), (7, "accuracy", "ok", "ok"),
])  # fmt: skip
def test_rows_about_ids_that_training_never_showed(length: int | None, quantity: str, status: str, marked: str) -> None:
    study: Any = SimpleNamespace(grid=SimpleNamespace(lengths=(8, 9)), reads_unseen=lambda n: n > 8 or n < 8)
    row: Any = {"length": length, "quantity": quantity, "status": status, "value": 0.5}
    assert mark_unseen([row], study) == [{**row, "status": marked}]


SHARE = Quantity("q", "x", "share", 0, 1)


def test_what_does_not_apply_has_a_row_for_each_law() -> None:
    spec = Spec("x", 1, "X", {}, (SHARE, replace(SHARE, name="r")), ("matched", "challenge"))
    made = [(r["quantity"], r["law"], r["status"], r["note"]) for r in not_applicable(spec, "why")]
    assert made == [(q, law, "not_applicable", "why") for law in ("matched", "challenge") for q in ("q", "r")]
    assert [r["law"] for r in not_applicable(replace(spec, laws=()), "why")] == ["", ""]
