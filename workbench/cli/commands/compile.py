"""``lengthlens compile``: a C-RASP program as a run."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from workbench.cli.early_refusal import refuse_no_task
from workbench.cli.errors import UsageError
from workbench.cli.options import length_range, trusting


def compile_program(
    program: Annotated[
        str,
        typer.Argument(
            help="A program, named as `lengthlens predict --program` does (majority), or a file FILE.crasp."
        ),
    ],
    lengths: Annotated[
        str, typer.Option(help="Lengths that count as trained, as LOW-HIGH; it is right on them.")
    ] = "1-20",
    up_to: Annotated[
        int, typer.Option("--up-to", min=1, help="Longest prefix for which its comparisons are sharp enough.")
    ] = 1024,
    first_keys: Annotated[
        int | None, typer.Option("--first-keys", min=1, help="Hide all keys after this position.")
    ] = None,
    log_scaled: Annotated[bool, typer.Option("--log-scaled", help="Multiply scores by log K.")] = False,
    out: Annotated[
        Path | None, typer.Option(help="The run's folder. Default: checkpoints/compiled/PROGRAM_UPTO.")
    ] = None,
    task: Annotated[
        str | None, typer.Option(help="The task that a program of a file answers: a name, or `file.py:MyTask`.")
    ] = None,
    set_: Annotated[
        list[str] | None, typer.Option("--set", metavar="task.X=VALUE", help="A parameter of that task. Repeatable.")
    ] = None,
) -> None:
    """Make a transformer that computes a C-RASP program exactly, as a run: a model whose every answer is known.

    Two options make twins of it, right on short prefixes by construction and wrong on some longer ones: --up-to 20
    (comparisons too blunt for the near ties of long strings, which a verdict over all strings hardly sees) and
    --first-keys 20 (what comes later is never read).

    A file holds a program as text, a definition a line; its last line is the answer:

        alphabet 0 1
        ones_lead := count(Q(0)) < count(Q(1))
    """
    trained = length_range(lengths)
    if task is not None:
        refuse_no_task(task)
    if program.endswith(".crasp") and not Path(program).exists():
        raise UsageError(f"there is no file {program}; write a program there, a definition a line (see --help)")
    from workbench.cli.compiled_run import SUFFIX, compiled_run, file_source, known_source

    settings = set_ or []
    source = file_source(Path(program), task, settings) if program.endswith(SUFFIX) else known_source(program, task)
    run = compiled_run(source, trained, up_to, first_keys, log_scaled, out)
    cfg = run.config["model"]
    sizes = f"{cfg['n_layers']} layers, d_model {cfg['d_model']}, {cfg['n_heads']} head{'s' * (cfg['n_heads'] != 1)}"
    print(f"{run.path}: {source.name} compiled for prefixes up to {up_to:,} ({sizes}); step 0 holds random weights.")
    print(f"Next: lengthlens measure {run.path}{trusting(source.task)}")
