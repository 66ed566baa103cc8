"""``lengthlens open``: a model that others trained, as a run that names its folder."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from workbench.cli.errors import UsageError
from workbench.cli.options import DeviceOption, DtypeOption, assignments, integers
from workbench.core.errors import quoted_value
from workbench.core.suggest import nearest

if TYPE_CHECKING:
    from workbench.tasks.base import Task

LENGTHS = "8,16,32,64,128,256,512,1024"
SYMBOLS = 256
"""Symbols of a task whose own number is made for small models."""


def open_model(
    folder: Annotated[
        Path,
        typer.Argument(
            metavar="DIR",
            help="Read the model from this local folder with config.json, safetensors files and a tokenizer.",
        ),
    ],
    task: Annotated[str, typer.Option(help="Prompt the model with this task: copy, ub, ur, ul, nr_last, ...")] = "copy",
    presentation: Annotated[
        str,
        typer.Option(
            help="Write the prompt as bare (items only), pairs (lines of two items) or shots (worked examples)."
        ),
    ] = "bare",
    template: Annotated[
        int | None,
        typer.Option(
            min=0, help="Choose one of the 20 wordings of the presentation `shots`, from 0 to 19. Default: 0."
        ),
    ] = None,
    templates: Annotated[
        int | None,
        typer.Option(
            min=1,
            metavar="K",
            help="Evaluate K evenly spaced wordings of the 20 wordings of the presentation `shots`. Each wording "
            "becomes a run in the folder --out.",
        ),
    ] = None,
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
    prefix: Annotated[
        str | None,
        typer.Option(help="Put this token before the prompt, e.g. '<|endoftext|>'. Default: the tokenizer's BOS."),
    ] = None,
    words: Annotated[
        int, typer.Option(min=0, help="Draw items from this many of the most common single-token words; 0 uses all.")
    ] = 0,
    lengths: Annotated[str, typer.Option(help="Evaluate at these numbers of items.")] = LENGTHS,
    trained_window: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="Set the context length in tokens that the model was trained with. Default: read from the config.",
        ),
    ] = None,
    revisions: Annotated[
        str | None,
        typer.Option(help="Read these subfolders of DIR as checkpoints of one run, e.g. 'step*'. Default: only DIR."),
    ] = None,
    out: Annotated[
        Path | None, typer.Option(help="Write the run to this folder. Default: checkpoints/DIR-TASK-PRESENTATION.")
    ] = None,
    set_: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="task.PARAMETER=VALUE", help="Set a parameter of the task. Repeatable."),
    ] = None,
    relink: Annotated[
        Path | None,
        typer.Option(
            metavar="RUN", help="Point this existing run to DIR, where its model folder is now. Nothing else is done."
        ),
    ] = None,
    device: DeviceOption = "cpu",
    dtype: DtypeOption = None,
) -> None:
    """Prepare a pretrained Hugging Face model for evaluation on a task that is given in its prompt.

    The result is a run that refers to the folder and stores the SHA-256 hash of each file. No weights are copied, no
    network is used and no code of the folder is executed. Use `lengthlens measure`, `show`, `check` and `app` as for
    any run. A self-test compares the activations at the hooks with those that the model computes. The self-test runs on
    --device in --dtype. Neither option is stored.

    If DIR is a run of LengthLens or the name of one, the command opens the run in the dashboard, as `lengthlens app RUN
    --open` does.
    """
    from workbench.models.compute_device import ComputeDevice, computing_on
    from workbench.runs.adoption.open_pretrained import Opened, open_pretrained
    from workbench.runs.adoption.open_pretrained import relink as put_right
    from workbench.runs.adoption.open_pretrained import revisions as found_revisions
    from workbench.runs.run import Run
    from workbench.tasks.known_tasks import task_label
    from workbench.tasks.presented.presentation import presentation as presented

    if relink is None and (own := run_meant(folder)) is not None:
        from workbench.cli.commands.app import serve_app

        serve_app([own], host="127.0.0.1", port=8050, browser=True)
        return
    chosen = ComputeDevice(device, dtype or "").resolve()
    folders = found_revisions(folder, revisions)
    if relink is not None:
        run = put_right(Run.open(relink), folders)
        print(f"{run.path}: it now refers to the weights in {folder}, which are unchanged.")
        return
    asked = tuple(sorted({*integers(lengths, "--lengths")}))
    if asked[0] < 1:
        raise UsageError(f"--lengths takes numbers of items from 1, not {asked[0]}")
    inner = task_for(task, set_ or [], asked)
    wordings = wordings_of(presentation, template, templates)
    tellings = [presented(presentation, which, shots, shot_items, prefix, words) for which in wordings]
    parts = [folder.resolve().name, task, *([presentation, "templates"] if templates else [tellings[0].title])]
    named = out or Path("checkpoints") / "-".join(part.replace(", ", "-").replace(" ", "-") for part in parts)
    for which, told in zip(wordings, tellings, strict=True):
        opened = Opened(folders, inner, told, asked, trained_window)
        with computing_on(chosen):
            run = open_pretrained(opened, named / f"template-{which:02d}" if templates else named)
        steps = f"{len(run.steps)} checkpoint{'s' * (len(run.steps) != 1)}"
        print(f"{run.path}: {steps}, {task_label(inner.name)} presented as {told.title}.")
    held = run.config["task"]["presented"]
    print(
        f"{len(held['wording']['symbols']):,} symbols of one token each; the context window has {held['window']:,} "
        "tokens."
    )
    print(f"Next: lengthlens measure {named}")


def run_meant(folder: Path) -> Path | None:
    """The run of LengthLens that is named instead of the folder of a model, by its folder or its name; else None."""
    from workbench.table.walk import is_run

    if (folder / "config.json").exists():
        return None
    return folder if is_run(folder) else None if folder.exists() else run_named(str(folder))


def run_named(name: str) -> Path | None:
    """The run of this name below `checkpoints`, else in the gallery; None where no run has it."""
    from workbench.runs import gallery
    from workbench.runs.errors import RunError
    from workbench.runs.run import find_runs

    for root in (Path("checkpoints"), gallery()):
        try:
            runs = find_runs(root, [])
        except RunError:
            continue
        for run in runs:
            if name in (run.name, run.path.name):
                return root / run.name
    return None


def wordings_of(presentation: str, template: int | None, templates: int | None) -> list[int]:
    """The wordings of the prompt: the named one, or the given number of all wordings, spread evenly.

    Raises:
        UsageError: for several wordings of a presentation that has one, for more than exist, or for a number and a
            name together.
    """
    from workbench.tasks.presented.presentation import TEMPLATES

    if templates is None:
        return [template or 0]
    if presentation != "shots":
        raise UsageError(
            f"--templates works only with --presentation shots, as {presentation} has one wording; leave it out"
        )
    if template is not None:
        raise UsageError("--templates and --template were both given; leave one of them out")
    if templates > len(TEMPLATES):
        raise UsageError(f"--templates takes at most {len(TEMPLATES)}, not {templates:,}")
    return [number * len(TEMPLATES) // templates for number in range(templates)]


def task_for(name: str, settings: list[str], lengths: tuple[int, ...]) -> Task:
    """The task by its name, with as many symbols as its longest question needs.

    Raises:
        UsageError: for a setting that is none of the task.
        TaskError: for a task or a parameter that there is not.
    """
    from workbench.tasks import TaskError, find_task, make_task
    from workbench.tasks.known_tasks import CALLED, TASKS

    given: dict[str, object] = {}
    for path, value in assignments(settings):
        if path[0] != "task" or len(path) != 2:
            raise UsageError(f"--set takes task.PARAMETER=VALUE here, not {'.'.join(path)}")
        given[path[1]] = value
    if ".py" not in name and name not in CALLED and name not in TASKS:
        raise TaskError(f"unknown task {quoted_value(name)}; {nearest(name, [*CALLED, *TASKS])}")
    name = CALLED.get(name, name)
    if ".py" in name or "symbols" in given or "symbols" not in find_task(name).model_fields:
        return make_task(name, **given)
    try:
        made = make_task(name, symbols=max(SYMBOLS, *lengths), **given)
    except TaskError:
        made = make_task(name, symbols=SYMBOLS, **given)
    drawable = getattr(made, "drawable", None)
    if drawable is None:  # items may be equal
        return make_task(name, symbols=SYMBOLS, **given)
    return made
