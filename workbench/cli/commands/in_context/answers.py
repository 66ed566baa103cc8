"""``lengthlens answers``: what a model behind an API answered, as a run."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def answers(
    prompts: Annotated[
        Path,
        typer.Argument(metavar="PROMPTS", help="Read the prompts from this file, written by `lengthlens prompts`."),
    ],
    answered: Annotated[
        Path,
        typer.Argument(
            metavar="ANSWERS",
            help='Read the answers from this file: lines like {"id": "8-0", "answer": "word"}, a JSON log of Inspect, '
            "or the samples that lm-eval writes with --log_samples.",
        ),
    ],
    model: Annotated[str, typer.Option(help="Give the name of the model.")],
    out: Annotated[Path | None, typer.Option(help="Write the run to this folder. Default: checkpoints/MODEL.")] = None,
) -> None:
    """Score the answers of a model behind an API. The result is a run that contains behaviour and verdict, but no
    weights.

    An answer is correct if its first word is the expected word. The expected words are computed again from the
    settings and not read from the file.
    """
    from workbench.cli.errors import UsageError
    from workbench.measure.in_context.behind_an_api import take_in

    if not model or "/" in model or model.startswith("."):
        raise UsageError(f"--model takes a name without slashes, not {model!r}")
    run = take_in(prompts, answered, model, out or Path("checkpoints") / model)
    print(f"Next: lengthlens info {out or run.path}")
