"""``lengthlens adopt``: checkpoints trained elsewhere, as a run."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from workbench.cli.errors import UsageError
from workbench.cli.options import assignments, completing_tasks, integers, length_range, put, trusting
from workbench.cli.table_text import count_of
from workbench.core.errors import quoted_value

if TYPE_CHECKING:
    from workbench.runs.run import Run


def adopt(
    source: Annotated[
        Path, typer.Argument(metavar="DIR", help="Read the checkpoint files (.safetensors, .pt) in this folder.")
    ],
    task: Annotated[
        str,
        typer.Option(
            help="Name the task that the model was trained on, or give `file.py:MyTask`.",
            autocompletion=completing_tasks,
        ),
    ],
    lengths: Annotated[
        str, typer.Option(help="State the shortest and the longest training length in tokens, e.g. 1-50.")
    ],
    out: Annotated[Path | None, typer.Option(help="Write the run to this folder. Default: checkpoints/DIR.")] = None,
    config: Annotated[
        Path | None,
        typer.Option(help="Read TransformerLens's config from this JSON file. Default: DIR/config.json, if it exists."),
    ] = None,
    files: Annotated[
        str | None, typer.Option(help="Read only files that match this pattern, e.g. 'model_*.pt'. Default: all.")
    ] = None,
    tokens: Annotated[
        str | None,
        typer.Option(
            metavar="IDS",
            help="List the model's token ids in the order of the task's tokens, e.g. 3,0,1,2. Default: 0,1,2,...",
        ),
    ] = None,
    bos: Annotated[
        int | None,
        typer.Option(
            min=0,
            metavar="ID",
            help="Give the model's token id of <bos>. This is enough if its other tokens are in the order of the task.",
        ),
    ] = None,
    set_: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="PATH=VALUE", help="Set task.PARAMETER or model.FIELD. Repeatable."),
    ] = None,
) -> None:
    """Convert checkpoints of TransformerLens's HookedTransformer into a run.

    Training steps are read from the file names. All files are checked before anything is written. If a setting follows
    neither from the shapes of the weights nor from the config, state it, e.g. with --set model.positions=rotary --set
    model.act_fn=gelu. Models with folded LayerNorms are refused: convert the raw checkpoints instead.

    Use --tokens or --bos if the model orders its tokens differently from the task, or has more tokens. The run then
    stores the token embeddings in the order of the task's tokens. If the model outputs tokens, its outputs are
    reordered as well.
    """
    from workbench.runs.adoption.adopt import Foreign
    from workbench.runs.adoption.adopt import adopt as take_in
    from workbench.tasks import make_task

    tree: dict[str, dict[str, object]] = {"task": {}, "model": {}}
    for path, value in assignments(set_ or []):
        if path[0] not in tree or len(path) < 2:
            raise UsageError(f"--set {'.'.join(path)}: a setting of adopt starts with task. or model.")
        put(tree, path, value)
    made = make_task(task, **tree["task"])
    refuse_pattern(files)
    if tokens is not None and bos is not None:
        raise UsageError("--tokens already contains <bos>; leave --bos out")
    foreign = Foreign(
        source=source,
        task=made,
        lengths=length_range(lengths),
        stated=tree["model"],
        config=config,
        files=files,
        tokens=None if tokens is None else tuple(integers(tokens, "--tokens")),
        bos=bos,
    )
    run = take_in(foreign, out or Path("checkpoints") / source.resolve().name)
    names = ", ".join(f"{i} {name}" for i, name in enumerate(made.tokens_names[:12]))
    more = f", ... {made.d_vocab} in all" if made.d_vocab > 12 else ""
    print(f"{run.path}: {count_of(len(run.steps), 'checkpoint')}, last at step {run.steps[-1]:,}.")
    print(f"The tokens of the model must be those of {made.name}: {names}{more}.")
    if hint := below_chance(run):
        print(hint)
    for a, b in run.equal_steps():
        print(f"Steps {a} and {b} have equal weights.")
    print(f"Next: lengthlens measure {out or run.path}{trusting(made)}")


def below_chance(run: Run) -> str:
    """A hint where the last checkpoint is not shown to be above chance at its trained length; "" where it is."""
    from pandas import isna

    from workbench.figures.labels import all_counted
    from workbench.measure import make_measurement
    from workbench.measure import run as measure

    step, length = run.steps[-1], run.trained_length
    behaviour = measure(
        make_measurement("behaviour"), run.load(step), run.task, trained=length, lengths=[length], sequences=SEQUENCES
    )
    rows = behaviour.frame()
    here = rows[(rows["law"] == "matched") & (rows["length"] == length) & (rows["status"] == "ok")]
    cells = here[here["mode"] == "teacher_forced"].drop_duplicates("quantity").set_index("quantity")
    if not {"accuracy", "chance"} <= {*cells.index}:
        return ""
    accuracy, chance = cells["value"]["accuracy"], cells["value"]["chance"]
    low = cells["low"]["accuracy"]
    if (accuracy if isna(low) else low) > chance:  # an accuracy over all sequences is exact and has no interval
        return ""
    sequences = all_counted(cells["note"]["accuracy"]) or f"{SEQUENCES} sequences"
    return (
        f"At length {length}, step {step:,} has accuracy {accuracy:.2f} on {sequences}; chance is {chance:.2f}. "
        "If you expect more, its tokens may have another order: set it with --tokens or --bos."
    )


SEQUENCES = 256
"""On which the last checkpoint is tried when it is adopted."""


def refuse_pattern(files: str | None) -> None:
    """Refuse a pattern that does not stay inside the folder.

    Raises:
        UsageError: for one that is empty, absolute, or leads out of it.
    """
    if files is None:
        return
    parts = Path(files).parts
    if not parts or Path(files).is_absolute() or ".." in parts or "\0" in files:
        raise UsageError(
            f"--files takes a pattern of files inside the folder, e.g. 'model_*.pt', not {quoted_value(files)}"
        )
