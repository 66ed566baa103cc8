"""``lengthlens predict``: what theory says about a task or a regular language, by which theorem."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rich.console import Console

from workbench.cli.errors import UsageError
from workbench.cli.options import assignments
from workbench.theory.prediction.predict import Positions, Prediction, predict, predict_regex
from workbench.theory.regular.deciders import Convention
from workbench.theory.regular.monoid import Profile, profile

COLOURS = {"guaranteed": "blue", "not expressible": "dark_orange"}
CONVENTIONS: dict[str, Convention] = {"last": "last_position", "neutral": "neutral_symbol"}


def predict_command(
    task: str | None,
    regex: str | None,
    alphabet: str | None,
    positions: Sequence[str],
    ids: str | None,
    convention: str,
    settings: Sequence[str],
    programs: bool,
) -> None:
    if (task is None) == (regex is None):
        raise UsageError("say what to predict: a task's name, or --regex with a regular expression")
    if alphabet is not None and regex is None:
        raise UsageError("--alphabet goes with --regex; a task has its own")
    if convention not in CONVENTIONS:
        raise UsageError(f"--acceptance is last or neutral, not {convention!r}")
    parameters, sizes = _settings(settings)
    if regex is not None and parameters:
        raise UsageError("a regular expression has no parameters to set")
    console = Console()
    read = CONVENTIONS[convention]
    for at in [_positions(name, ids, sizes) for name in positions or ("none", "learned")]:
        said = predict(str(task), at, read, **parameters) if regex is None else predict_regex(regex, at, read, alphabet)
        tell(console, said)
        for program in said.programs() if programs else []:
            console.print(str(program), markup=False, highlight=False, soft_wrap=True)
    if regex is not None:
        from workbench.tasks.automata.dfa import Automaton

        algebra(console, profile(Automaton.from_regex(regex, alphabet)))


def tell(console: Console, said: Prediction) -> None:
    """One prediction, a fact a line."""
    colour = COLOURS.get(said.verdict, "")
    verdict = f"[{colour}]{said.verdict}[/]" if colour else said.verdict
    console.print(f"[bold]{said.subject}[/] · positions {said.positions}: [bold]{verdict}[/]", highlight=False)
    facts = [("class", said.language_class), ("program", said.program), ("because", said.reason)]
    if said.theorem != "none":
        facts.append(("theorem", said.theorem + ("; the step to this map is derived here" if said.derived else "")))
    facts += [("assuming", text) for text in said.assumptions]
    facts.append(("otherwise", said.other_reading))
    for r in said.reported:
        bins = " / ".join(f"{value:g}" for value in r.accuracy)
        facts.append(("published", f"{bins} % on trained lengths and two bins beyond ({r.source})"))
    for note in said.notes:
        facts.append(("beside", f"{note.text} ({note.source}{'; recalled, not checked' if note.recalled else ''})"))
    for name, text in facts:
        if text:
            console.print(f"  {name:<9} {text}", markup=False, highlight=False, soft_wrap=True)


def algebra(console: Console, found: Profile) -> None:
    """The language in the algebraic landscape."""
    size = "more than can be listed" if found.monoid is None else f"{found.monoid:,} elements"
    console.print(
        f"  language  {found.states} states; syntactic monoid {size}; star-free {found.star_free}; R-trivial "
        f"{found.r_trivial}; R-omega {found.r_omega}; in C-RASP[empty] {found.crasp_last} where the last symbol is "
        f"read, {found.crasp_neutral} where it is not",
        markup=False,
        highlight=False,
        soft_wrap=True,
    )


def _settings(settings: Sequence[str]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Task parameters, and settings of the positions."""
    parameters: dict[str, Any] = {}
    sizes: dict[str, Any] = {}
    for path, value in assignments(settings):
        if path[0] == "task" and len(path) == 2:
            parameters[path[1]] = value
        elif path[0] == "positions" and len(path) == 2 and path[1] != "name":
            sizes[path[1]] = value
        else:
            raise UsageError(
                f"--set takes task.PARAMETER=.. or positions.SETTING=.. (such as positions.period of limit), "
                f"not {'.'.join(path)}={value}"
            )
    return parameters, sizes


def _positions(name: str, ids: str | None, settings: dict[str, Any]) -> Positions:
    named = Positions.named(name)
    return Positions(name, ids or named.ids, settings)
