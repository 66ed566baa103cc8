"""``lengthlens challenge``: models with planted causes of failure, and how well a method names the causes."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from workbench.cli.errors import UsageError
from workbench.cli.output.print_tables import (
    CsvOption,
    JsonOption,
    OutputTable,
    print_columns,
    print_tables,
    refuse_both,
)
from workbench.cli.output.table_kinds import CHALLENGE_ANSWERS, CHALLENGE_SCORES
from workbench.core.errors import quoted_value
from workbench.core.suggest import nearest
from workbench.core.thresholds import LEVEL_TEXT

if TYPE_CHECKING:
    from workbench.diagnosis.challenge.answer_file import Answer
    from workbench.diagnosis.challenge.truth import Truth

ACTIONS = ("make", "answer", "score")


def challenge(
    action: Annotated[
        str, typer.Argument(metavar="ACTION", help="Choose one of the actions `make`, `answer` and `score`.")
    ],
    answers: Annotated[
        Path | None,
        typer.Argument(
            metavar="[ANSWERS]",
            help="Write answers to this file (`answer`), or read them from it (`score`). It contains JSON lines.",
        ),
    ] = None,
    seed: Annotated[int | None, typer.Option(min=0, help="Set the seed of the models. Required for `make`.")] = None,
    out: Annotated[Path | None, typer.Option(help="Write the models to this new folder. Required for `make`.")] = None,
    models: Annotated[
        int | None, typer.Option(min=1, max=400, help="Make this number of models. Default: one of each kind.")
    ] = None,
    folder: Annotated[
        Path | None,
        typer.Option("--challenge", help="Read the challenge in this folder. Required for `answer` and `score`."),
    ] = None,
    truth: Annotated[
        Path | None,
        typer.Option(
            help="Write the planted causes to this file (`make`), or read them from it (`score`). Default: the name "
            "of the folder, followed "
            "by `-truth.json`."
        ),
    ] = None,
    method: Annotated[
        str | None,
        typer.Option(help="Use this method to answer. An unknown name lists all methods. Required for `answer`."),
    ] = None,
    tuning: Annotated[
        Path | None, typer.Option(help="Train a baseline method on the challenge in this folder.")
    ] = None,
    as_json: JsonOption = False,
    as_csv: CsvOption = False,
) -> None:
    """Make models with planted causes of failure, and score answers that name the cause, location and intervention.

    `make` writes the models to a folder, and their planted causes to a file next to the folder. `answer` applies one of
    our methods to all models of a folder and writes its answers to a file. `score` compares a file of answers with the
    planted causes.
    """
    refuse_both(as_json, as_csv)
    if action not in ACTIONS:
        raise UsageError(f"there is no action {quoted_value(action)}; {nearest(action, list(ACTIONS))}")
    if action != "score" and (as_json or as_csv):
        raise UsageError(f"the action {action} prints no table; leave --json and --csv out")
    if action == "make":
        if seed is None or out is None:
            raise UsageError("the action make needs a seed and a folder; add --seed 1 --out my_challenge")
        _make(seed, out, truth or truth_beside(out), models)
        return
    if answers is None or folder is None:
        raise UsageError(
            f"the action {action} needs a file and a folder; name both: answers.jsonl --challenge my_challenge"
        )
    if action == "answer":
        _answer(answers, folder, method, tuning)
        return
    _score(answers, folder, truth or truth_beside(folder), as_json, as_csv)


def truth_beside(folder: Path) -> Path:
    """The default path of the truth: next to the folder of the models, not inside of it."""
    whole = folder.absolute()
    return whole.parent / f"{whole.name}-truth.json"


def _count(done: int, total: int) -> None:
    print(f"{done} of {total} models", file=sys.stderr, flush=True)


def _make(seed: int, out: Path, truth: Path, models: int | None) -> None:
    from workbench.diagnosis.challenge.make_challenge import make_challenge

    made = make_challenge(seed, out, truth, models, _count)
    print(f"Models in {out}: {len(made.models)}. {truth} contains their planted causes; do not share this file.")
    print(f"Next: write one answer per model, then lengthlens challenge score answers.jsonl --challenge {out}")


def _answer(answers: Path, folder: Path, method: str | None, tuning: Path | None) -> None:
    from workbench.diagnosis.challenge.answer_file import write_answers
    from workbench.diagnosis.challenge.challenge_folder import open_challenge
    from workbench.diagnosis.challenge.methods import METHODS, answer_challenge
    from workbench.diagnosis.challenge.truth import read_truth

    if method not in METHODS:
        what = "a method is needed" if method is None else f"there is no method {quoted_value(method)}"
        raise UsageError(f"{what}; give --method with one of: {', '.join(METHODS)}")
    known = None if tuning is None else open_challenge(tuning)
    known_truth = None if tuning is None else read_truth(truth_beside(tuning))
    answered = answer_challenge(method, open_challenge(folder), known, known_truth, on_model=_count)
    write_answers(answers, answered.answers)
    used = f"{sum(answered.passes) / len(answered.passes):,.0f} on average, {max(answered.passes):,} at most"
    print(f"{answers} contains {len(answered.answers)} answers. Forward passes per model: {used}.")
    if answered.neighbours:
        chosen = ", ".join(f"{count} for the {part}" for part, count in answered.neighbours.items())
        print(f"Nearest models that decide, chosen on {tuning}: {chosen}.")
    print(f"Next: lengthlens challenge score {answers} --challenge {folder}")


def _score(path: Path, folder: Path, truth_file: Path, as_json: bool, as_csv: bool) -> None:
    from workbench.diagnosis.challenge.answer_file import read_answers
    from workbench.diagnosis.challenge.challenge_folder import open_challenge
    from workbench.diagnosis.challenge.truth import read_truth

    challenge = open_challenge(folder)
    challenge.check_truth(truth_file)
    tables = tables_of(read_answers(path, challenge.names), read_truth(truth_file))
    if print_tables("challenge", tables, as_json, as_csv):
        return
    print_columns(
        ("part", "right", "share", f"{LEVEL_TEXT} interval"),
        [
            (row["part"], f"{row['right']} of {row['models']}", f"{row['share']:.2f}", _interval(row))
            for row in tables[0].rows
        ],
        into_pipes=True,
    )


def _interval(row: object) -> str:
    assert isinstance(row, dict)
    return f"[{row['low']:.2f}, {row['high']:.2f}]"


def tables_of(answers: dict[str, Answer], truth: Truth) -> list[OutputTable]:
    """The scores of each part, and the answer for each model."""
    from workbench.diagnosis.challenge.scoring import PARTS, score_answers

    scores = score_answers(answers, truth)
    parts = []
    for part in PARTS:
        share = scores.share(part)
        low, high = share.ends if share.of else (None, None)
        parts.append(
            {"part": part, "right": share.hits, "models": share.of, "share": share.value, "low": low, "high": high}
        )
    words = {True: "yes", False: "no", None: ""}
    rows = [
        answers[score.model].model_dump() | {f"{part}_right": words[getattr(score, part)] for part in PARTS}
        for score in scores.models
    ]
    return [OutputTable(CHALLENGE_SCORES, parts), OutputTable(CHALLENGE_ANSWERS, rows)]
