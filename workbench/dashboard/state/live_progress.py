"""The progress of a run in training, for its line on the Runs page."""

from __future__ import annotations

from workbench.dashboard.state.run_view import RunView
from workbench.figures.labels import proportion, time_left, whole
from workbench.figures.rows.frame import missing
from workbench.runs.log import pace

LOGGED = {"accuracy_in": ("liveInside", "inside"), "accuracy_out": ("liveOutside", "at 2 \u00d7 N")}
"""Column of a run's log -> the field of the line that shows it, and the lengths at which it was taken."""


def live_progress(run: RunView) -> dict[str, str]:
    """What the line of a run adds while it is trained; nothing for one that is not.

    Returns:
        liveText, step and time left; and once accuracies are logged, liveInside and liveOutside, the last ones at N
        and at 2 N, and liveAt, when they were taken.
    """
    if not run.live:
        return {}
    now = pace(run.run)
    left = "" if now.seconds is None else f" \u00b7 {time_left(now.seconds * max(0, run.planned_steps - now.step))}"
    line = {"liveText": f"{whole(now.step)} of {whole(run.planned_steps)}{left}"}
    taken = [row for row in run.log.rows() if not all(missing(row[name]) for name in LOGGED)]
    if taken:
        last = taken[-1]
        for name, (field, where) in LOGGED.items():
            line |= {} if missing(last[name]) else {field: f"{proportion(last[name])} {where}"}
        line |= {"liveAt": f"as logged at step {whole(last['step'])}"}
    return line
