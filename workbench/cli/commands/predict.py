"""``lengthlens predict``: prints what theory predicts for a task or a regular language, and by which theorem."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from workbench.cli.early_refusal import refuse_no_task
from workbench.cli.errors import UsageError
from workbench.cli.options import assignments, completing_tasks
from workbench.cli.output.print_tables import CsvOption, JsonOption, OutputTable, print_tables, refuse_both
from workbench.cli.output.table_kinds import PREDICTIONS
from workbench.cli.predicted_run import is_run, prediction_for_run
from workbench.cli.table_text import on_one_line
from workbench.core.errors import quoted_value
from workbench.core.names import WITHOUT_POSITIONS
from workbench.models.positions.registry import ENCODINGS, ID_SAMPLERS

if TYPE_CHECKING:
    from rich.console import Console

    from workbench.theory.prediction.predict import Positions, Prediction
    from workbench.theory.regular.deciders import Convention
    from workbench.theory.regular.monoid import Profile

COLOURS = {"guaranteed": "blue", "expressible": "blue", "not expressible": "dark_orange"}
CONVENTIONS: dict[str, Convention] = {"last": "last_position", "neutral": "neutral_symbol"}


def predict(
    task: Annotated[
        str | None,
        typer.Argument(
            metavar="[TASK]",
            help="Predict for this task, or for the task and model of this run. Names from the literature also work "
            "(tomita_4, D_12, unique-copy).",
            autocompletion=completing_tasks,
        ),
    ] = None,
    regex: Annotated[
        str | None,
        typer.Option(
            help="Predict for this regular expression instead of a task. Write | for union and () for the empty word."
        ),
    ] = None,
    alphabet: Annotated[
        str | None, typer.Option(help="Use this alphabet: a list of symbols. Default: the symbols in the expression.")
    ] = None,
    positions: Annotated[
        list[str] | None,
        typer.Option(
            help=f"Predict for this position encoding: {', '.join(ENCODINGS)}. Repeatable.",
            show_default="none, learned",
        ),
    ] = None,
    architecture: Annotated[
        str,
        typer.Option(
            help="Predict for a transformer, or for a state-space model (ssm) or recurrent network (rnn) of this kind: "
            f"{', '.join(WITHOUT_POSITIONS)}."
        ),
    ] = "transformer",
    ids: Annotated[
        str | None,
        typer.Option(help="Assume these position ids in training.", show_default="random_offset for learned positions"),
    ] = None,
    acceptance: Annotated[
        str,
        typer.Option(
            help="Let the model answer at the last symbol (last), or at an end symbol that is always the same "
            "(neutral)."
        ),
    ] = "last",
    set_: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="PATH=VALUE",
            help="Set task.PARAMETER or positions.SETTING, e.g. positions.period for the encoding limit. Repeatable.",
        ),
    ] = None,
    program: Annotated[
        bool, typer.Option("--program", help="Print the C-RASP programs that prove a guarantee.")
    ] = False,
    as_json: JsonOption = False,
    as_csv: CsvOption = False,
) -> None:
    """Print what theory predicts for a task or a regular language, and name the theorem.

    - *guaranteed*: the task is in the class of a theorem about length generalization.
    - *expressible*: a theorem shows that such a model exists, but not that training finds it.
    - *not expressible*: the task is outside the class of the theorem.
    - *open*: no theorem covers the case.
    - *not decided*: a decision procedure ended without an answer.
    """
    refuse_both(as_json, as_csv)
    if program and (as_json or as_csv):
        raise UsageError("--program prints text; leave out --json and --csv")
    if task is not None and regex is not None:
        raise UsageError(f"both a task ({quoted_value(task)}) and --regex were given; leave one of them out")
    if task is None and regex is None:
        raise UsageError("nothing to predict was given; name a task, or give a regular expression with --regex")
    if alphabet is not None and regex is None:
        raise UsageError("--alphabet works only with --regex, as a task has its own alphabet; leave it out")
    if acceptance not in CONVENTIONS:
        raise UsageError(f"--acceptance is last or neutral, not {quoted_value(acceptance)}")
    parameters, sizes = _settings(set_ or [])
    if regex is not None and parameters:
        raise UsageError(
            "--set task.PARAMETER works only with a task, as a regular expression has no parameters; leave it out"
        )
    for name in positions or ():
        ENCODINGS.refuse_unknown(name)
    if ids is not None:
        ID_SAMPLERS.refuse_unknown(ids)
    if architecture not in ("transformer", *WITHOUT_POSITIONS):
        *others, last = WITHOUT_POSITIONS
        raise UsageError(
            f"--architecture takes transformer, {', '.join(others)} or {last}, not {quoted_value(architecture)}"
        )
    if architecture != "transformer" and (positions or ids or sizes):
        raise UsageError(
            f"a {WITHOUT_POSITIONS[architecture].partition(',')[0]} has no position encoding; leave out --positions, "
            "--ids and --set positions.*"
        )
    run = Path(task) if task is not None and is_run(task) else None
    if run is not None and (parameters or sizes or positions or ids or architecture != "transformer"):
        raise UsageError(
            f"{run} is a run, whose task and model are known; leave out --set, --positions, --ids and --architecture"
        )
    if task is not None and run is None and ".py" in task:
        refuse_no_task(task)
    from rich.console import Console

    from workbench.theory.prediction.predict import predict as predict_task
    from workbench.theory.prediction.predict import predict_regex

    console = Console()
    read = CONVENTIONS[acceptance]
    if run is not None:
        predictions = [prediction_for_run(run, read)]
    else:
        predictions = [
            predict_task(str(task), at, read, **parameters)
            if regex is None
            else predict_regex(regex, at, read, alphabet)
            for at in _asked(architecture, positions, ids, sizes)
        ]
    rows = [prediction_row(prediction) for prediction in predictions]
    if print_tables("predict", [OutputTable(PREDICTIONS, rows)], as_json, as_csv):
        return
    for said in predictions:
        tell(console, said)
        if program:
            for text in program_texts(said):
                on_one_line(console, text)
    if regex is not None:
        from workbench.tasks.automata.dfa import Automaton
        from workbench.theory.regular.monoid import profile

        algebra(console, profile(Automaton.from_regex(regex, alphabet)))


def prediction_row(prediction: Prediction) -> dict[str, str]:
    """A prediction by the keys of :data:`workbench.cli.output.table_kinds.PREDICTIONS`."""
    return {
        "subject": prediction.subject,
        "model": prediction.model,
        "prediction": prediction.verdict,
        "language_class": prediction.language_class,
        "program": prediction.program,
        "theorem": prediction.theorem,
        "derived": "yes" if prediction.derived else "no",
        "reason": prediction.reason,
        "assumptions": "; ".join(prediction.assumptions),
    }


def program_texts(said: Prediction) -> list[str]:
    """What --program prints: the programs behind a guarantee, or why there is none to print."""
    from workbench.theory.errors import TheoryError

    if said.verdict != "guaranteed":
        return ["no program is printed, because only the prediction `guaranteed` has programs"]
    known = "described above, but not printed" if said.program else "not printed, because the theorem gives none"
    try:
        return [str(program) for program in said.programs()] or [f"the program is {known}"]
    except TheoryError as error:
        return [f"the program cannot be printed: {error}"]


def tell(console: Console, said: Prediction) -> None:
    """One prediction, a fact a line."""
    colour = COLOURS.get(said.verdict, "")
    verdict = f"[{colour}]{said.verdict}[/]" if colour else said.verdict
    console.print(f"[bold]{said.subject}[/] · {said.model}: [bold]{verdict}[/]", highlight=False)
    facts = [("class", said.language_class), ("program", said.program), ("because", said.reason)]
    if said.theorem != "none":
        own = "; we derived that the theorem covers this task, and the paper does not state it"
        derived = own if said.derived else ""
        facts.append(("theorem", said.theorem + derived))
    facts += [("assuming", text) for text in said.assumptions]
    facts.append(("otherwise", said.other_reading))
    for r in said.reported:
        bins = " / ".join(f"{value:g}" for value in r.accuracy)
        facts.append(("published", f"accuracy {bins} % {r.where}; requested: {r.asked} ({r.source})"))
    for note in said.notes:
        recalled = "; not yet compared with the paper" if note.recalled else ""
        facts.append(("remark", f"{note.text} ({note.source}{recalled})"))
    for name, text in facts:
        if text:
            on_one_line(console, f"  {name:<9} {text}")


def algebra(console: Console, found: Profile) -> None:
    """The language in the algebraic landscape."""
    size = "more than can be listed" if found.monoid is None else f"{found.monoid:,} elements"
    on_one_line(
        console,
        f"  language  {found.states} states; syntactic monoid {size}; star-free {found.star_free}; R-trivial "
        f"{found.r_trivial}; R-omega {found.r_omega}; in C-RASP[empty] {found.crasp_last} where the last symbol is "
        f"read, {found.crasp_neutral} where it is not",
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
                "--set takes task.PARAMETER=.. or positions.SETTING=.. (e.g. positions.period for the encoding limit), "
                f"not {'.'.join(path)}={value}"
            )
    return parameters, sizes


def _asked(
    architecture: str, positions: list[str] | None, ids: str | None, sizes: dict[str, Any]
) -> list[Positions | str]:
    """What to predict for: positions of a transformer, or the kind of another model."""
    if architecture == "transformer":
        return [_positions(name, ids, sizes) for name in positions or ("none", "learned")]
    return [architecture]


def _positions(name: str, ids: str | None, settings: dict[str, Any]) -> Positions:
    from workbench.theory.prediction.predict import Positions

    named = Positions.from_name(name)
    return Positions(name, ids or named.ids, settings)
