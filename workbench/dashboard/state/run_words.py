"""What a run is, in words: its task as a question, its model, and where its weights come from."""

from __future__ import annotations

from workbench.dashboard.state.run_view import RunView
from workbench.figures.labels import whole
from workbench.models.positions.registry import NONE


def described(run: RunView) -> tuple[str, str, str]:
    """Its task as a question, its model, and its :func:`origin`."""
    question = f"{run.task}: {run.question[:1].lower()}{run.question[1:]}" if run.question else run.task
    model = f"transformer {_count(run.n_layers, 'layer')}, {_count(run.n_heads, 'head')}, {_positions(run)}"
    if run.gates:
        model = f"state-space model {_count(run.n_layers, 'layer')}, {run.gates} gates"
    return question, model, origin(run)


def origin(run: RunView) -> str:
    """Where its weights come from: the lengths it was trained on, or the program it was compiled from.

    A compiled twin is the same program with less: too small a gain, or sight of the first keys alone. It is right on
    short prefixes by construction; what becomes of it on long ones is for its verdict and its near ties to say.
    """
    training = run.config["training"]
    if "answers" in training:
        return f"answers of {training['answers']['model']}"
    if run.in_context:
        others = f"{run.run.rows_only}, its weights not here, trained" if run.run.rows_only else "trained"
        return f"{others} by others; its window holds a question of {whole(run.trained)} items"
    made = training.get("compiled")
    if not made:
        here = f"{run.run.rows_only}, its weights not here, " if run.run.rows_only else ""
        return f"{here}trained on lengths {whole(run.shortest)} to {whole(run.trained)}"
    said = f"compiled from the program {made['program']}, not trained"
    if made.get("first_keys"):
        return f"{said}; a twin that sees its first {whole(made['first_keys'])} keys alone"
    return f"{said}; its gain is made for lengths up to {whole(made['up_to'])}"


def _count(number: int, noun: str) -> str:
    return f"{whole(number)} {noun}{'' if number == 1 else 's'}"


def _positions(run: RunView) -> str:
    return run.positions if run.encoding == NONE else f"{run.positions} positions"
