"""Rows that no measurement writes are called damaged; what fails over sound rows stays a defect."""

from __future__ import annotations

import pandas as pd
import pytest

from tests.support.places import GALLERY
from workbench.core.errors import LensError
from workbench.table import Table
from workbench.table.damage import blaming_damage, damage
from workbench.table.errors import TableError
from workbench.table.schema import COLUMNS, row


def rows(**changed: object) -> pd.DataFrame:
    """Two sound rows, and a third in which some columns are changed."""
    common = {"run": "r", "step": 1, "law": "matched", "measurement": "m", "quantity": "q", "value": 0.5, "n": 8}
    heads = [row(**common, length=4, layer=0, head=head) for head in (0, 1)]
    return pd.DataFrame([*heads, row(**common, length=8, layer=0, head=0) | changed])


def test_rows_of_the_gallery_are_sound() -> None:
    table = Table.load(GALLERY)
    runs = table.frame(quantity="verdict")["run"].unique()
    assert len(runs) >= 8
    assert {run: damage(table.frame(run=run)) for run in runs} == dict.fromkeys(runs)


def test_sound_rows_have_no_damage() -> None:
    assert damage(rows()) is None
    assert damage(rows().iloc[:0]) is None
    assert damage(rows(value=None, length=None, layer=None, head=None)) is None, "does not apply to this model"


@pytest.mark.parametrize("column", [column for column in COLUMNS if column.least is not None], ids=lambda one: one.name)
def test_a_number_below_the_least_of_its_column_is_damage(column) -> None:
    assert damage(rows(**{column.name: column.least - 1})) == (
        f"{column.name} {column.least - 1} is below {column.least}"
    )
    assert "is below" not in (damage(rows(**{column.name: column.least})) or "")


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"label": None}, "a row has no label"),
        ({"value": float("inf")}, "a value is infinite"),
        ({"high": float("-inf")}, "a high is infinite"),
        ({"low": 0.6, "high": 0.4}, "the lower end of an interval is above its upper end"),
        ({"setting": "not json"}, "setting 'not json' is no JSON object"),
        ({"setting": "[" * 5000}, "is no JSON object"),
        ({"layer": None}, "a row names a head and no layer"),
        ({"length": 4}, "q at step 1 and length 4 is there twice"),
        ({"length": None}, "some rows of q name no length"),
        ({"head": None}, "some rows of q name no head"),
        ({"quantity": "verdict", "label": "brilliant"}, "no verdict is called 'brilliant'"),
        ({"quantity": "in_context_verdict", "label": ""}, "no verdict is called ''"),
    ],
)
def test_what_no_measurement_writes_is_damage(changed: dict[str, object], said: str) -> None:
    assert said in str(damage(rows(**changed)))


def test_an_unexpected_error_over_damaged_rows_is_said_of_the_rows() -> None:
    problem = "length 0 is below 1"
    with pytest.raises(TableError, match=problem) as caught, blaming_damage(lambda: [("r", problem)]):
        raise KeyError("length")
    assert str(caught.value).startswith(f"the rows of r are damaged ({problem}): delete")
    assert isinstance(caught.value.__cause__, KeyError)


def test_an_unexpected_error_over_sound_rows_stays_what_it_is() -> None:
    with pytest.raises(KeyError), blaming_damage(lambda: [("r", None)]):
        raise KeyError("length")


@pytest.mark.parametrize("error", [LensError("not here"), OSError("gone"), LookupError("expected")])
def test_expected_errors_are_passed_on_without_reading_rows(error: Exception) -> None:
    def unread() -> list[tuple[str, str | None]]:
        raise AssertionError("rows were read")

    with pytest.raises(type(error)) as caught, blaming_damage(unread, passes=(LookupError,)):
        raise error
    assert caught.value is error
