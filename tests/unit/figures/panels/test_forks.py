"""Lines of forks: each is its rows, begins where it left the run, and never joins the lines or counts of the run."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.support.figures.contents import listed
from tests.support.figures.synthetic import LENGTHS, STEPS, TRAINED, Story, frame_of
from workbench.figures import NotMeasured, forks_over_length, forks_over_training
from workbench.figures.style.template import u_length, u_step

RUN, LATER, EARLY, DONE = "run", "later", "early", "done"
FORKS = {EARLY: (50, "lengths 1 to 100"), LATER: (400, ""), DONE: (400, "")}
LENGTH = 200


def rows_of(name: str, robust: bool, steps: tuple[int, ...] = STEPS, shift: float = 0.0) -> list[dict[str, Any]]:
    """The behaviour of an invented run at some steps; forks are told apart by a shift of their accuracies."""
    made = []
    for row in Story(name, robust).rows():
        if row["measurement"] == "behaviour" and row["step"] in steps:
            moved = {"value": row["value"] - shift} if row["quantity"] == "accuracy" else {}
            made.append(row | moved)
    return made


@pytest.fixture
def frame() -> Any:
    """A run and its forks: one with all its steps, one from its step on, one measured at the last step only."""
    return frame_of(
        rows_of(RUN, robust=True)
        + rows_of(EARLY, robust=False, shift=0.011)
        + rows_of(LATER, robust=True, steps=(400, 1000, 3000), shift=0.013)
        + rows_of(DONE, robust=True, steps=(3000,), shift=0.017)
    )


def drawn_lines(figure: Any) -> dict[str, Any]:
    """The lines of a figure by name, without bands and the chance level."""
    return {trace.name: trace for trace in figure.data if trace.name not in ("band", "level", "selected")}


@pytest.mark.parametrize("axis", ["step", "length"])
def test_every_line_is_its_rows(frame: Any, axis: str) -> None:
    draw = forks_over_training if axis == "step" else forks_over_length
    where = {"length": LENGTH} if axis == "step" else {"step": 3000}
    given: dict[str, Any] = {"run": RUN, "trained": TRAINED, "forks": FORKS, **where}
    lines, data = drawn_lines(draw(frame, **given)), draw.data(frame, **given)
    place = u_step if axis == "step" else u_length
    assert set(lines) == {"this run", *FORKS}
    for name, line in lines.items():
        rows = data[data["series"] == name]
        assert listed(line.x) == pytest.approx([place(float(at)) for at in rows[axis]])
        assert listed(line.y) == rows["value"].tolist()
        stored = frame[(frame["quantity"] == "accuracy") & (frame["law"] == "matched")]
        for at, run, value in zip(rows[axis], rows["run"], rows["value"], strict=True):
            key = {"length": LENGTH, "step": 3000} | {axis: at, "run": run}
            (match,) = stored[np.all([stored[column] == wanted for column, wanted in key.items()], axis=0)]["value"]
            assert value == match


def test_a_fork_begins_at_its_step_with_a_row_of_the_run_if_it_has_none(frame: Any) -> None:
    data = forks_over_training.data(frame, run=RUN, forks=FORKS, length=LENGTH)
    first = {name: rows.iloc[0] for name, rows in data.groupby("series")}
    assert {name: first[name]["step"] for name in FORKS} == {EARLY: 50, LATER: 400, DONE: 400}
    assert (first[LATER]["run"], first[DONE]["run"]) == (LATER, RUN)
    assert first[DONE]["value"] == data[(data["series"] == "this run") & (data["step"] == 400)]["value"].item()


def test_a_fork_is_absent_before_its_step_and_where_it_has_no_rows(frame: Any) -> None:
    assert set(drawn_lines(forks_over_length(frame, run=RUN, trained=TRAINED, forks=FORKS, step=100))) == {
        "this run",
        EARLY,
    }
    figure = forks_over_length(frame, run=RUN, trained=TRAINED, forks=FORKS, step=1000)
    assert DONE not in drawn_lines(figure)
    assert "1 of 3 forks without rows here" in figure.layout.meta["slice"]


def test_a_fork_measured_at_longer_lengths_ends_at_the_longest_of_the_run(frame: Any) -> None:
    shorter = frame[(frame["run"] != RUN) | frame["length"].isna() | (frame["length"] <= 200)]
    data = forks_over_length.data(shorter, run=RUN, forks=FORKS, step=3000)
    assert data.groupby("series")["length"].max()[EARLY] == 200 < max(LENGTHS)


def test_changed_forks_are_dashed_and_said_and_one_label_counts_all(frame: Any) -> None:
    figure = forks_over_length(frame, run=RUN, trained=TRAINED, forks=FORKS, step=3000)
    lines = drawn_lines(figure)
    assert {name: lines[name].line.dash != "solid" for name in FORKS} == {EARLY: True, LATER: False, DONE: False}
    assert "dashed: other training lengths" in figure.layout.meta["slice"]
    labels = [note.text for note in figure.layout.annotations if "fork" in note.text]
    assert labels == ["forks (3)"]
    assert "fork at step 50: other data, lengths 1 to 100" in lines[EARLY].hovertext[0]
    assert lines[LATER].hovertext[0].endswith("fork at step 400: other data")
    assert lines[LATER].hovertext[0].startswith(LATER)
    same = {name: (at, "") for name, (at, _) in FORKS.items()}
    assert (
        "dashed" not in forks_over_length(frame, run=RUN, trained=TRAINED, forks=same, step=3000).layout.meta["slice"]
    )


def test_the_own_line_band_and_n_are_those_without_forks(frame: Any) -> None:
    alone = forks_over_length(frame[frame["run"] == RUN], trained=TRAINED, step=3000)
    among = forks_over_length(frame, run=RUN, trained=TRAINED, forks=FORKS, step=3000)
    for name in ("this run", "band", "level"):
        (one,), (other,) = ([trace for trace in figure.data if trace.name == name] for figure in (alone, among))
        assert listed(one.y) == listed(other.y)
    assert not [note for note in alone.layout.annotations if "fork" in note.text]


def test_without_accuracies_of_the_run_its_forks_are_not_drawn(frame: Any) -> None:
    with pytest.raises(NotMeasured):
        forks_over_length(frame, run="another", trained=TRAINED, forks=FORKS, step=3000)
