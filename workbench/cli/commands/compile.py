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
            help="Compile this program: a built-in one such as majority (`lengthlens predict TASK "
            "--program` prints programs), or your own file FILE.crasp."
        ),
    ],
    lengths: Annotated[
        str, typer.Option(help="Use these lengths, in tokens, as training lengths. The model is correct on them.")
    ] = "1-20",
    up_to: Annotated[
        int, typer.Option("--up-to", min=1, help="Make comparisons exact for prefixes of up to this many tokens.")
    ] = 1024,
    first_keys: Annotated[
        int | None,
        typer.Option(
            "--first-keys", min=1, help="Hide all keys after this position from attention. Default: hide none."
        ),
    ] = None,
    log_scaled: Annotated[
        bool, typer.Option("--log-scaled", help="Multiply attention scores by log K, where K is the number of keys.")
    ] = False,
    out: Annotated[
        Path | None, typer.Option(help="Write the run to this folder. Default: checkpoints/compiled/PROGRAM_UPTO.")
    ] = None,
    task: Annotated[
        str | None, typer.Option(help="Name the task that FILE.crasp solves, or give `file.py:MyTask`.")
    ] = None,
    set_: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="task.X=VALUE", help="Set a parameter of that task. Repeatable."),
    ] = None,
) -> None:
    """Compile a C-RASP program into a transformer that computes it exactly.

    The result is a run. Two options make a broken variant, which is correct on short prefixes and wrong on some longer
    ones. With --up-to 20, the comparisons of the model are too coarse for small margins at long prefixes. Such
    sequences are rare, so the verdict over all sequences hardly changes. With --first-keys 20, the model ignores all
    later tokens.

    FILE.crasp contains one definition per line. The last line is the answer:

        alphabet 0 1
        ones_lead := count(Q(0)) < count(Q(1))
    """
    trained = length_range(lengths)
    if task is not None:
        refuse_no_task(task)
    if program.endswith(".crasp") and not Path(program).exists():
        raise UsageError(f"there is no file {program:.300}; write a program with one definition per line (see --help)")
    from workbench.cli.compiled_run import SUFFIX, compiled_run, file_source, known_source

    settings = set_ or []
    source = file_source(Path(program), task, settings) if program.endswith(SUFFIX) else known_source(program, task)
    run = compiled_run(source, trained, up_to, first_keys, log_scaled, out)
    cfg = run.config["model"]
    sizes = f"{cfg['n_layers']} layers, d_model {cfg['d_model']}, {cfg['n_heads']} head{'s' * (cfg['n_heads'] != 1)}"
    print(f"{run.path}: {source.name} compiled for prefixes up to {up_to:,} ({sizes}).")
    print("Step 1 contains the compiled weights. Step 0 contains random weights for comparison.")
    print(f"Next: lengthlens measure {run.path}{trusting(source.task)}")
