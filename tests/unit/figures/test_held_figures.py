"""Every figure of rows, drawn of runs that ship: its numbers and words as usual, its structure under every option.

Widths, colours, fonts and margins are held nowhere here. A changed number fails and names the trace and the place of the number.
Figures come from the registry, their options from their parameters, sentences and tables from the package's public names.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from functools import partial
from importlib import import_module
from pkgutil import walk_packages
from typing import Any

import pytest

from tests.support.figures.asking import ALONE, PAIRS, answers_all, asked, first_trained, frames_of
from tests.support.figures.contents import contents, counts_and_sums, undrawn, words
from tests.support.held import Held
from tests.support.printed import outcome
from workbench import figures
from workbench.figures.offered import OFFERED
from workbench.figures.registry import Figure

SEVERAL = (
    "parity_nope, flip_flop_rotary_s0, majority_learned",
    "flip_flop_rotary_s0, parity_nope and majority_learned, parity_nope",
)
"""One frame of several runs, for figures of their seeds."""
ELSEWHERE = {
    "loss_over_training", "loss_plateau", "phase_diagram", "configurations_over_length", "quantity_over_training",
    "quantity_over_length",
}  # fmt: skip
"""Figures that take more than rows and places: in test_held_many_runs.py."""
AS_WORDS = {
    "circuit_graph",
    "circuits_over_length",
    "head_grid_figure",
    "head_grid_difference_figure",
    "head_table_figure",
    "head_facts_figure",
}
"""Figures that write their values, or show only the largest ones, and place nothing by them."""
DERIVED = {"attended_distance", "code_fan", "event_order", "verdict_state_map"}
"""Figures whose marks are computed from their rows: the tests of each compare every mark with its row."""
ON_X = {"decodability_by_layer", "restored_shares", "harm_inside"}
"""Figures whose values run from left to right."""
for module in walk_packages(figures.__path__, f"{figures.__name__}."):
    import_module(module.name)  # where its figures and sentences are offered
FIGURES = {name: one for name, one in OFFERED.items() if isinstance(one, Figure)}
OF_ROWS = [
    name
    for name, one in FIGURES.items()
    if next(iter(inspect.signature(one).parameters)) in ("frame", "frame_a") and name not in ELSEWHERE
]
Variant = tuple[str, str, Callable[[], Any], Callable[[], Any]]


def variants(name: str) -> Iterator[Variant]:
    """Of every run that has rows of a figure, as usual; of the first that it can be drawn of, under every option.

    Yields: the runs, the option, and functions that give the figure and its rows.
    """
    registered, drawn = FIGURES[name], False
    for runs in of_whom(name):
        frames, several = frames_of(runs), False
        for option, given in asked(registered, frames, first_trained(runs), every=not drawn):
            figure = partial(registered.plain, *frames, **given)
            refusal = outcome(figure)
            yield runs, option, figure, partial(registered.data, *frames, **given)
            if (isinstance(refusal, str) and "No rows of" in refusal) or (drawn and " " in runs):
                break  # the other options say no more of these runs
            several = several or option != "usual"
        drawn = drawn or several


def of_whom(name: str) -> tuple[str, ...]:
    """Whose rows a figure is drawn of."""
    two = "frame_b" in inspect.signature(FIGURES[name]).parameters
    if name.startswith("seeds"):
        return (SEVERAL[two], *(PAIRS if two else ALONE[:3]))
    return PAIRS if two else ALONE


@pytest.mark.parametrize("name", OF_ROWS)
def test_numbers_words_and_structure_of_a_figure(name: str, held_rows: Held) -> None:
    """The first run that it can be drawn of in full; of other runs and options counts and sums, or the refusal.

    An option is left out where these are the usual ones.
    """
    found: dict[str, Any] = {"usual": {}, "options": {}}
    for runs, option, figure, _ in variants(name):
        made = outcome(figure)
        counts = made.partition(":")[0] if isinstance(made, str) else counts_and_sums(made)
        if option == "usual" and counts != "NotMeasured":
            found["usual"][runs] = counts
        if not isinstance(made, str) and "drawn of" not in found:
            found |= {"drawn of": f"{runs}, {option}", "figure": contents(made)}
        if option != "usual" and counts not in ("NotMeasured", found["usual"].get(runs)):
            found["options"][f"{runs}, {option}"] = counts
    held_rows(found)


@pytest.mark.parametrize("name", OF_ROWS)
def test_a_figure_draws_exactly_the_rows_that_its_data_give(name: str) -> None:
    compared = 0
    for runs, option, figure, rows in variants(name):
        made, data = outcome(figure), outcome(rows)
        if isinstance(made, str):
            continue
        assert not isinstance(data, str), f"{runs}, {option}: drawn, but its rows are refused: {data}"
        if name not in AS_WORDS | DERIVED:
            # Worn rows have values outside of what their axes show.
            values = [one for one in data["value"] if "worn" not in runs or 0 <= (one or 0.0) <= 1]
            missing = undrawn(made, values, "xaxis" if name in ON_X else "yaxis")
            assert missing == [], f"{runs}, {option}: values of rows that are not drawn"
        compared += 1
    assert compared or name == "held_by_layer"  # no run that ships has the rows of that one


# ---- sentences and tables -----------------------------------------------------------------------------
def functions_of_rows() -> dict[str, Callable[..., Any]]:
    """Every function that the package offers of the rows of a run, except figures."""
    offered = {name: getattr(figures, name) for name in figures.__all__ if name not in FIGURES}
    return {
        name: one
        for name, one in offered.items()
        if inspect.isfunction(one) and next(iter(inspect.signature(one).parameters), "") == "frame" and answers_all(one)
    }


FUNCTIONS = functions_of_rows()


@pytest.mark.parametrize("name", FUNCTIONS)
def test_what_a_function_of_rows_gives(name: str, held_rows: Held) -> None:
    """Sentences of every run, at the usual place; tables of the first run that has rows of them."""
    function, found = FUNCTIONS[name], {}
    for runs in ALONE:
        frames = frames_of(runs)
        _, given = next(asked(function, frames, first_trained(runs)))
        answer = words(outcome(partial(function, *frames, **given)))
        is_table = isinstance(answer, dict) or (
            isinstance(answer, list) and (len(answer) > 10 or any(isinstance(one, dict) for one in answer))
        )
        if not is_table or not any(isinstance(one, dict | list) for one in found.values()):
            found[runs] = answer
    held_rows(found)
