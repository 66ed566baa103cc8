"""The guided tour: its run is found by its rows, each of its numbers is one of them, and what they do not show is not said."""

from __future__ import annotations

from typing import Any

import pandas as pd
import pytest

from tests.support.dashboard.claims import gallery  # noqa: F401 - a fixture
from workbench.dashboard.app import create_app
from workbench.dashboard.panels.guided_tour import _title, stops, tour_run, wrong_string
from workbench.dashboard.server.context import Context
from workbench.dashboard.server.worker import Job
from workbench.dashboard.state.cursor import resolve
from workbench.dashboard.state.run_view import RunView
from workbench.figures.labels import estimate
from workbench.figures.rows.frame import Frame
from workbench.measure.edits.reading import WrongString, WrongStrings
from workbench.table import Table


@pytest.fixture(scope="module")
def context(gallery: Context) -> Context:
    return gallery


@pytest.fixture(scope="module")
def run(context: Context) -> RunView:
    found = tour_run(context)
    assert found is not None
    return found


@pytest.fixture(scope="module")
def rows(run: RunView) -> pd.DataFrame:
    """The run's rows, read another way than the dashboard's."""
    frame = Table.load(run.path).frame()
    return frame[(frame["law"] == "matched") & (frame["step"] == run.measured_steps[-1]) & (frame["control"] == "")]


def told(rows: pd.DataFrame, length: int, **equals: Any) -> str:
    """A row's value with its interval, as sentences write it."""
    for column, value in (equals | {"length": length}).items():
        rows = rows[rows[column] == value]
    assert len(rows) == 1
    return estimate(*(float(rows[name].iloc[0]) for name in ("value", "low", "high")))


def test_the_seven_stops_tell_the_rows_of_a_run_that_fails_past_its_training_length(
    run: RunView, rows: pd.DataFrame
) -> None:
    made = stops(run)
    assert len(made) == 7
    assert run.brief.verdicts[run.measured_steps[-1]] == "length-coupled"
    cursor, notices = resolve(made[0].href.partition("?")[2], run)
    assert notices == []
    near, far = run.trained, cursor.length
    assert far > near
    accuracy = {"measurement": "behaviour", "quantity": "accuracy", "mode": "teacher_forced"}
    probe = {"quantity": "summary_decodability", "mode": "transfer", "target": "output_summary"}
    probe["site"] = f"blocks.{run.n_layers - 1}.hook_resid_post"
    for stop, equals in ((made[1], accuracy), (made[2], probe), (made[6], accuracy)):
        assert told(rows, near, **equals) in stop.text
        assert told(rows, far, **equals) in stop.text
        assert f"at {near}, the longest trained length N" in stop.text
    labels = rows[
        (rows["quantity"] == "hardmax_verdict") & (rows["layer"] == cursor.layer) & (rows["head"] == cursor.head)
    ]
    assert set(labels[labels["length"].isin([near, far])]["label"]) <= {"mixed", "undecided"}
    assert [made[at].title for at in (0, 1, 2, 3)] == [
        "The verdict: length-coupled", "Accuracy falls past training", "The probe falls",
        "No evidence that L0H1 attends differently past training",
    ]  # fmt: skip
    drop = rows[(rows["quantity"] == "head_drop") & (rows["mode"] == "mean") & (rows["length"] == far)]
    assert f" by {estimate(*drop[['value', 'low', 'high']].to_numpy(float)[0])}" in made[3].text
    assert "L0H1 attends to " in made[3].text
    assert "That is no more than its highest control, " in made[2].text
    restored = rows[(rows["quantity"] == "restored_share") & (rows["target"] == made[5].href.partition("edits=")[2])]
    assert any(estimate(*row) in made[5].text for row in restored[["value", "low", "high"]].to_numpy(float))


def test_what_the_intervals_do_not_show_is_not_said() -> None:
    def at(length: int, value: float, width: float) -> dict[str, Any]:
        return {"length": length, "value": value, "low": value - width, "high": value + width, "status": "ok"}

    apart = Frame.from_rows([at(32, 0.9, 0.05), at(128, 0.5, 0.05)])
    over = Frame.from_rows([at(32, 0.9, 0.3), at(128, 0.5, 0.3)])
    assert _title(apart, 32, 128, -1, "falls", "does not") == "falls"
    assert _title(over, 32, 128, -1, "falls", "does not") == "does not"
    assert _title(apart, 128, 32, 1, "leaves", "does not") == "leaves"
    assert _title(apart, 32, 128, 1, "leaves", "does not") == "does not"


class Found:
    """A worker that has an answer already."""

    def __init__(self, job: Job) -> None:
        self._job = job

    def submit(self, *_: Any) -> str:
        return ""

    def job(self, _: str) -> Job:
        return self._job


def test_the_string_it_breaks_on_is_one_that_the_repair_mends(
    context: Context, run: RunView, monkeypatch: pytest.MonkeyPatch
) -> None:
    def answer(job: Job) -> dict[str, Any]:
        monkeypatch.setattr(context, "worker", Found(job))
        return wrong_string(context, run)

    assert answer(Job(state="running"))["state"] == "pending"
    failed = answer(Job(state="failed", error="no"))
    assert (failed["seq"], failed["said"]) == ("", "No such sequence was found; this is a sample.")
    strings = [
        WrongString(text=text, right="0", answered="1", margin=1.0, twin=None, repaired=mended)
        for text, mended in (("w1 i1 r", False), ("w0 i1 r", True))
    ]
    more = {"step": 1200, "length": 128, "law": "matched", "repair": "P.int", "wrong": 2, "asked": 512, "repaired": 1}
    found = answer(Job(state="done", result=WrongStrings(strings=strings, **more, tried=3, problem="")))
    assert found["seq"] == "w0 i1 r"
    assert found["edited"] == "The correct answer is 0. The model with the edit gives the correct answer."
    assert found["said"].startswith(
        "2 of 512 sequences are answered wrong. For this sequence the correct answer is 0, and"
    )


def test_without_such_a_run_there_is_no_tour(small_root: Any) -> None:
    app = create_app(small_root)
    try:
        client = app.server.test_client()
        assert client.get("/tour.json", headers={"Host": "127.0.0.1"}).get_json() == {"stops": []}
        given = client.get("/tour/string.json", headers={"Host": "127.0.0.1"})
        assert given.get_json() == {"state": "done", "seq": "", "said": "", "edited": ""}
    finally:
        app.server.extensions["lengthlens"].close()
