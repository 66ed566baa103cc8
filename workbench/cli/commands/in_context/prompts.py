"""``lengthlens prompts``: writes prompts for a model behind an API, one JSON object per line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from workbench.cli.errors import UsageError
from workbench.cli.options import integers


def prompts(
    out: Annotated[Path, typer.Argument(metavar="FILE", help="Write the prompts to this file, e.g. prompts.jsonl.")],
    task: Annotated[str, typer.Option(help="Prompt the model with this task: copy, ub, ur, ul, nr_last, ...")] = "copy",
    presentation: Annotated[
        str,
        typer.Option(
            help="Write the prompt as bare (items only), pairs (lines of two items) or shots (worked examples)."
        ),
    ] = "shots",
    template: Annotated[
        int, typer.Option(min=0, help="Choose one of the 20 wordings of the presentation `shots`, from 0 to 19.")
    ] = 0,
    shots: Annotated[
        int | None,
        typer.Option(
            min=1, max=100, help="Set the number of worked examples in prompts of the presentation `shots`. Default: 5."
        ),
    ] = None,
    shot_items: Annotated[
        int,
        typer.Option(
            min=0, help="Set the number of items of each worked example. With 0, it has as many items as the question."
        ),
    ] = 0,
    lengths: Annotated[str, typer.Option(help="Evaluate at these numbers of items.")] = "8,16,32,64,128",
    strings: Annotated[int, typer.Option(min=2, help="Write this many prompts per length.")] = 100,
    window: Annotated[int, typer.Option(min=1, help="Set the context window of the model, in words.")] = 100_000,
    set_: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="task.PARAMETER=VALUE", help="Set a parameter of the task. Repeatable."),
    ] = None,
) -> None:
    """Write prompts for a model behind an API, one JSON object per line: id, n, prompt and correct answer.

    The first line contains the settings. Send each prompt to the model and write a line {"id": ..., "answer": ...} per
    answer. Then `lengthlens answers` makes a run from the answers. Items are made-up words, since the tokenizer is
    unknown.
    """
    from workbench.cli.commands.in_context.open import task_for
    from workbench.measure.in_context.behind_an_api import LARGEST_WINDOW, heading, refuse_many, task_in_words
    from workbench.measure.in_context.behind_an_api import prompts as lines
    from workbench.storage.atomic import write_named
    from workbench.tasks.presented.presentation import presentation as presented

    asked = tuple(sorted({*integers(lengths, "--lengths")}))
    if asked[0] < 1:
        raise UsageError(f"--lengths takes numbers of items from 1, not {asked[0]}")
    if window > LARGEST_WINDOW:
        raise UsageError(f"--window takes at most {LARGEST_WINDOW:,} words, not {window:,}")
    if asked[-1] > window:
        raise UsageError(f"--lengths takes at most the {window:,} words of --window, not {asked[-1]:,}")
    refuse_many(strings, asked)
    told = presented(presentation, template, shots, shot_items)
    made = task_in_words(task_for(task, set_ or [], asked), told, asked, window)
    written = [heading(made, strings, 0), *lines(made, strings)]
    write_named(out, "".join(json.dumps(line) + "\n" for line in written).encode())
    print(f"{out}: {len(written) - 1:,} prompts, {made.inner.name} presented as {told.title}.")
    print(f"Next: lengthlens answers {out} ANSWERS.jsonl --model NAME")
