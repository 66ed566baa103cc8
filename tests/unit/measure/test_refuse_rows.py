"""What a measurement returns is refused where it is no list of whole rows, or is not as declared."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import pytest

from workbench.measure import Measurement, Quantity
from workbench.measure.measurement import Spec
from workbench.measure.model_study import run
from workbench.measure.refuse_rows import RowsError, declared_rows, refuse_undeclared, whole_rows
from workbench.measure.regularizer_rows import TOTAL, InferenceRegularizer
from workbench.measure.request import MeasureRequest
from workbench.measure.running.plan import execute, plan
from workbench.measure.testing import CheckError, TrialSubject, check_measurement
from workbench.table.schema import row
from workbench.tasks import make_task

SPEC = Spec("mine", 1, "Mine", {}, (Quantity("share", "A share.", "share", 0, 1),))
GOOD = row(quantity="share", value=0.5, status="ok", note="no interval")


def test_whole_rows_pass() -> None:
    assert whole_rows(SPEC, (GOOD,)) == [GOOD]
    refuse_undeclared(
        SPEC, [GOOD, row(quantity="share", status="undefined", note="too few"), GOOD | {"value": 1 + 1e-9}]
    )


@pytest.mark.parametrize(
    ("returned", "named"),
    [
        (None, "mine returned None"),
        (GOOD, "not a list of rows"),
        ([GOOD, None], "row 1 of mine is None"),
        ([{"quantity": "share", "value": 1.0}], "row 0 of mine lacks run, step"),
        ([{key: value for key, value in GOOD.items() if key != "note"}], "lacks note;"),
    ],
)
def test_anything_else_is_named(returned: Any, named: str) -> None:
    with pytest.raises(RowsError, match=named):
        whole_rows(SPEC, returned)


@pytest.mark.parametrize(
    ("fields", "named"),
    [
        ({"quantity": "other"}, "'other'"),
        ({"value": 1.5}, "declared high is 1"),
        ({"value": -0.5}, "declared low is 0"),
        ({"value": "half"}, "share is 'half', not a number"),
        ({"value": np.bool_(True)}, "share is .*, not a number"),
    ],
)
def test_what_is_not_declared_is_refused(fields: dict[str, Any], named: str) -> None:
    with pytest.raises(RowsError, match=named):
        refuse_undeclared(SPEC, [GOOD | fields])  # type: ignore[list-item]
    with pytest.raises(RowsError, match=named):
        declared_rows(SPEC, [GOOD | fields])


class Careless(Measurement):
    """Forgets to return its rows."""

    name: ClassVar[str] = "example.careless"
    title: ClassVar[str] = "Careless"
    quantities: ClassVar[tuple[Quantity, ...]] = (Quantity("share", "A share.", "share", 0, 1),)

    def hooks(self, cfg: Any) -> tuple[str, ...]:
        return ()

    def observe(self, law: str, length: int, batch: Any, cache: Any) -> None:
        return None

    def finish(self, study: Any) -> Any:
        return None


def test_the_kit_names_what_is_missing() -> None:
    with pytest.raises(CheckError, match="returned None"):
        check_measurement(Careless, sequences=16)


class Overstated(Careless):
    """Returns a share above 1."""

    def finish(self, study: Any) -> Any:
        return [GOOD | {"value": 1.5}]


def test_a_measurement_of_a_notebook_is_refused_as_a_plug_in_is() -> None:
    task = make_task("majority")
    model = TrialSubject.of(task).model
    with pytest.raises(RowsError, match=r"share is 1.5, but its declared high is 1"):
        run(Overstated(), model, task, trained=9, lengths=(9,), sequences=4)
    (row_returned,) = run(Overstated(), model, task, trained=9, lengths=(9,), sequences=4, refuse=False).rows
    assert row_returned["value"] == 1.5


def test_a_built_in_measurement_is_refused_too(make_run: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    wrong = row(quantity=TOTAL, value=-1.0)
    monkeypatch.setattr(InferenceRegularizer, "finish", lambda self, study: [wrong])
    task = make_task("majority")
    measured = make_run(TrialSubject.of(task).model, task, trained=9)
    request = MeasureRequest([measured.path], only=["regularizer"], lengths=[9], executor="serial")
    (problem,) = execute(plan(request))
    assert f"regularizer: {TOTAL} is -1.0, but its declared low is 0" in str(problem)
