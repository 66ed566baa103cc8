"""``lengthlens prompts``: what to ask a model behind an API, as lines of JSON."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from workbench.cli.errors import UsageError
from workbench.cli.options import integers


def prompts(
    out: Annotated[Path, typer.Argument(metavar="FILE", help="Where to write them, e.g. prompts.jsonl.")],
    task: Annotated[str, typer.Option(help="What is asked: copy, ub, ur, ul, nr_last, ...")] = "copy",
    presentation: Annotated[str, typer.Option(help="How it is told: bare, pairs or shots.")] = "shots",
    template: Annotated[int, typer.Option(min=0, help="Which wording of shots, of 20.")] = 0,
    shots: Annotated[int | None, typer.Option(min=1, max=100, help="Worked examples of shots; default 5.")] = None,
    shot_items: Annotated[int, typer.Option(min=0, help="Items of each; default as many as the question.")] = 0,
    lengths: Annotated[str, typer.Option(help="Items at which it is asked.")] = "8,16,32,64,128",
    strings: Annotated[int, typer.Option(min=2, help="Prompts of each length.")] = 100,
    window: Annotated[int, typer.Option(min=1, help="Words that the model is said to read at most.")] = 100_000,
    set_: Annotated[
        list[str] | None, typer.Option("--set", metavar="task.PARAMETER=VALUE", help="Of the task. Repeatable.")
    ] = None,
) -> None:
    """Write the prompts of a presentation, a line of JSON each: id, n, prompt and the right answer.

    The first line says what makes them. Send each prompt to the model, write a line {"id": ..., "answer": ...} for
    each, and `lengthlens answers` takes them in. Items are made-up words, for no tokenizer is known.
    """
    from workbench.cli.commands.in_context.open import task_for
    from workbench.measure.in_context.behind_an_api import heading, spoken
    from workbench.measure.in_context.behind_an_api import prompts as lines
    from workbench.runs.run import write_atomic
    from workbench.tasks.presented.presentation import presentation as presented

    asked = tuple(sorted({*integers(lengths, "--lengths")}))
    if asked[0] < 1:
        raise UsageError(f"--lengths takes items from 1 on, not {asked[0]}")
    told = presented(presentation, template, shots, shot_items)
    made = spoken(task_for(task, set_ or [], asked), told, asked, window)
    written = [heading(made, strings, 0), *lines(made, strings)]
    write_atomic(out, "".join(json.dumps(line) + "\n" for line in written).encode())
    print(f"{out}: {len(written) - 1:,} prompts, {made.inner.name} presented as {told.title}.")
    print(f"Next: lengthlens answers {out} ANSWERS.jsonl --model NAME")
