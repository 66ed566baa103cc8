"""``lengthlens adopt``: checkpoints trained elsewhere, as a run."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from workbench.cli.errors import UsageError
from workbench.cli.options import assignments, completing_tasks, length_range, put, trusting
from workbench.cli.table_text import count_of
from workbench.core.errors import shown


def adopt(
    source: Annotated[Path, typer.Argument(metavar="DIR", help="Checkpoint files (.safetensors, .pt) of one run.")],
    task: Annotated[
        str,
        typer.Option(
            help="The task it was trained on, or `file.py:MyTask`.",
            autocompletion=completing_tasks,
        ),
    ],
    lengths: Annotated[str, typer.Option(help="The lengths it was trained on, as LOW-HIGH.")],
    out: Annotated[Path | None, typer.Option(help="The run's folder. Default: checkpoints/DIR.")] = None,
    config: Annotated[
        Path | None, typer.Option(help="TransformerLens's config as JSON. Default: DIR/config.json, if there.")
    ] = None,
    files: Annotated[str | None, typer.Option(help="Which files to take, e.g. 'model_*.pt'. Default: all.")] = None,
    set_: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="PATH=VALUE", help="task.PARAMETER or model.FIELD. Repeatable."),
    ] = None,
) -> None:
    """Take in checkpoints of TransformerLens's HookedTransformer, trained elsewhere, as a run.

    Steps come from the file names; all files are checked before anything is written. What the weights'
    shapes and the config do not tell must be stated, e.g. --set model.positions=rotary
    --set model.act_fn=gelu. Models with folded LayerNorms are refused: adopt the raw checkpoints.
    """
    from workbench.runs.adoption.adopt import Foreign
    from workbench.runs.adoption.adopt import adopt as take_in
    from workbench.tasks import make_task

    tree: dict[str, dict[str, object]] = {"task": {}, "model": {}}
    for path, value in assignments(set_ or []):
        if path[0] not in tree or len(path) < 2:
            raise UsageError(f"--set {'.'.join(path)}: settings of adopt start with task. or model.")
        put(tree, path, value)
    made = make_task(task, **tree["task"])
    refuse_pattern(files)
    foreign = Foreign(
        source=source,
        task=made,
        lengths=length_range(lengths),
        stated=tree["model"],
        config=config,
        files=files,
    )
    run = take_in(foreign, out or Path("checkpoints") / source.resolve().name)
    names = ", ".join(f"{i} {name}" for i, name in enumerate(made.tokens_names[:12]))
    more = f", ... {made.d_vocab} in all" if made.d_vocab > 12 else ""
    print(f"{run.path}: {count_of(len(run.steps), 'checkpoint')}, last at step {run.steps[-1]:,}.")
    print(f"Its tokens must be those of {made.name}: {names}{more}.")
    for a, b in run.equal_steps():
        print(f"Steps {a} and {b} hold equal weights.")
    print(f"Next: lengthlens measure {out or run.path}{trusting(made)}")


def refuse_pattern(files: str | None) -> None:
    """Refuse a pattern that does not stay inside the folder.

    Raises:
        UsageError: for one that is empty, absolute, or leads out of it.
    """
    if files is None:
        return
    parts = Path(files).parts
    if not parts or Path(files).is_absolute() or ".." in parts or "\0" in files:
        raise UsageError(f"--files takes a pattern of files inside the folder, e.g. 'model_*.pt', not {shown(files)}")
