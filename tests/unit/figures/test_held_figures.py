"""Every figure of rows, drawn of runs that ship and of worn rows, under each of its options: traces, layout and rows are held;
and so is what every function of rows gives that figures, tables and sentences are made with.

They are found where they are registered, or by what they take; what their options are is read from their parameters.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import partial
from importlib import import_module
from pkgutil import walk_packages
from typing import Any

import pytest

from tests.support.figures.asking import ALONE, PAIRS, answers_all, asked, first_trained, frames_of
from tests.support.held import Held
from tests.support.printed import outcome, printed
from workbench import figures
from workbench.figures.registry import FIGURES

SEVERAL = (
    "parity_nope, flip_flop_rotary_s0, majority_learned",
    "flip_flop_rotary_s0, parity_nope and majority_learned, parity_nope",
)
"""One frame of several runs, for figures of their seeds."""
ELSEWHERE = {
    "loss_over_training", "loss_plateau", "phase_diagram", "configurations_over_length", "quantity_over_training",
    "quantity_over_length",
}  # fmt: skip
"""Figures that take more than rows and places: in test_held_other_figures.py."""
figures.__dir__()
OF_ROWS = [
    name
    for name, one in FIGURES.items()
    if next(iter(inspect.signature(one.draw).parameters)) in ("frame", "frame_a") and name not in ELSEWHERE
]


@pytest.mark.parametrize("name", OF_ROWS)
def test_what_a_figure_draws(name: str, held: Held) -> None:
    """Of every run that has rows of it; of the first that it can be drawn of, under every option; of pairs and of rows that
    are worn or mixed, as usual."""
    one = FIGURES[name]
    assert one.data is not None
    own = inspect.signature(one.data).parameters
    found: dict[str, Any] = {}
    drawn = False
    for runs in of_whom(name):
        frames, prints = frames_of(runs), {}
        for what, given in asked(one.draw, frames, first_trained(runs), every=not drawn):
            made = outcome(partial(one.plain, *frames, **given))
            twin = {key: value for key, value in given.items() if key in own}
            prints[what] = made if isinstance(made, str) else printed([made, one.data(*frames, **twin)])
            if (isinstance(made, str) and "No rows of" in made) or (drawn and " " in runs):
                break  # nothing more is to be learnt of them
        usual = prints["usual"]
        drawn = drawn or len(prints) > 1
        if "No rows of" not in usual or not found:
            found[runs] = {what: text for what, text in prints.items() if what == "usual" or text != usual}
    assert drawn
    held(found)


def of_whom(name: str) -> tuple[str, ...]:
    """Whose rows a figure is drawn of."""
    two = "frame_b" in inspect.signature(FIGURES[name].draw).parameters
    if name.startswith("seeds"):
        return (SEVERAL[two], *(PAIRS if two else ALONE[:3]))
    return PAIRS if two else ALONE


# ---- what figures and sentences are made with ---------------------------------------------------------
def functions_of_rows() -> dict[str, Callable[..., Any]]:
    """Every public function of the room that takes the rows of a run, and besides these only what is known here."""
    found = {}
    for module in walk_packages(figures.__path__, f"{figures.__name__}."):
        for name, one in vars(import_module(module.name)).items():
            if not inspect.isfunction(one) or one.__module__ != module.name or name.startswith("_"):
                continue
            first = next(iter(inspect.signature(one).parameters), "")
            registered = name in FIGURES or name.removesuffix("_data") in FIGURES
            if first == "frame" and not registered and answers_all(one):
                found[f"{module.name.removeprefix(figures.__name__ + '.')}.{name}"] = one
    return found


FUNCTIONS = functions_of_rows()


@pytest.mark.parametrize("name", FUNCTIONS)
def test_what_a_function_of_rows_gives(name: str, held: Held) -> None:
    """Of every run: one print of all that it says."""
    function, found = FUNCTIONS[name], {}
    for runs in ALONE:
        frames = frames_of(runs)
        answers = asked(function, frames, first_trained(runs))
        found[runs] = printed([outcome(partial(function, *frames, **given)) for _, given in answers])
    held(found)
