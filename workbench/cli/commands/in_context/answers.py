"""``lengthlens answers``: what a model behind an API answered, as a run."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def answers(
    prompts: Annotated[Path, typer.Argument(metavar="PROMPTS", help="The file that lengthlens prompts wrote.")],
    answered: Annotated[Path, typer.Argument(metavar="ANSWERS", help='Lines like {"id": "8-0", "answer": "word"}.')],
    model: Annotated[str, typer.Option(help="What the model is called.")],
    out: Annotated[Path | None, typer.Option(help="The run's folder. Default: checkpoints/MODEL.")] = None,
) -> None:
    """Take in what a model behind an API answered: a run without weights, with its behaviour and its verdict.

    An answer is right if its first word is the wanted one. What is right is drawn anew, and not read from the file.
    """
    from workbench.cli.errors import UsageError
    from workbench.measure.in_context.behind_an_api import take_in

    if not model or "/" in model or model.startswith("."):
        raise UsageError(f"--model takes a name without slashes, not {model!r}")
    run = take_in(prompts, answered, model, out or Path("checkpoints") / model)
    print(f"Next: lengthlens show {out or run.path}")
