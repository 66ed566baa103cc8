"""``lengthlens open``: a model that others trained, as a run that names its folder."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from workbench.cli.errors import UsageError
from workbench.cli.options import DeviceOption, DtypeOption, assignments, integers
from workbench.core.errors import shown
from workbench.core.suggest import nearest

if TYPE_CHECKING:
    from workbench.tasks.base import Task

LENGTHS = "8,16,32,64,128,256,512,1024"
CALLED = {"copy": "uf"}
"""What a task is called here beside its name."""
SYMBOLS = 256
"""Symbols of a task whose own number is made for small models."""


def open_model(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="A local folder: config.json, safetensors, tokenizer.")],
    task: Annotated[str, typer.Option(help="What is asked: copy, ub, ur, ul, nr_last, ...")] = "copy",
    presentation: Annotated[str, typer.Option(help="How it is told: bare, pairs or shots.")] = "bare",
    template: Annotated[int | None, typer.Option(min=0, help="Which wording of shots, of 20; default 0.")] = None,
    templates: Annotated[
        int | None,
        typer.Option(min=1, metavar="K", help="K wordings of shots, spread over the 20: a run each, below --out."),
    ] = None,
    shots: Annotated[int | None, typer.Option(min=1, max=100, help="Worked examples of shots; default 5.")] = None,
    shot_items: Annotated[int, typer.Option(min=0, help="Items of each; default as many as the question.")] = 0,
    prefix: Annotated[
        str | None, typer.Option(help="The one token before all, e.g. '<|endoftext|>'. Default: the tokenizer's BOS.")
    ] = None,
    words: Annotated[
        int, typer.Option(min=0, help="Of how many words of one token, the commonest, items are taken; 0 = all.")
    ] = 0,
    lengths: Annotated[str, typer.Option(help="Items at which it is asked.")] = LENGTHS,
    trained_window: Annotated[
        int | None, typer.Option(min=1, help="Tokens that it was trained on, where its config does not say so.")
    ] = None,
    revisions: Annotated[
        str | None, typer.Option(help="Folders below DIR that are its revisions, e.g. 'step*': a checkpoint each.")
    ] = None,
    out: Annotated[
        Path | None, typer.Option(help="The run's folder. Default: checkpoints/DIR-TASK-PRESENTATION.")
    ] = None,
    set_: Annotated[
        list[str] | None, typer.Option("--set", metavar="task.PARAMETER=VALUE", help="Of the task. Repeatable.")
    ] = None,
    relink: Annotated[
        Path | None,
        typer.Option(metavar="RUN", help="Say that this run's folder lies at DIR now; nothing else is done."),
    ] = None,
    device: DeviceOption = "cpu",
    dtype: DtypeOption = None,
) -> None:
    """Open a model of Hugging Face's transformers that others trained, and ask it a task in its prompt.

    The run names the folder with a SHA-256 per file and copies no weights; no network is tried, and no code of the
    folder is run. Then `lengthlens measure`, `show`, `check` and `app` as for any run. The test that what is seen of
    the model is what it computes is done on --device, and in --dtype; neither is stored.
    """
    from workbench.models.compute_device import ComputeDevice, computing_on
    from workbench.runs.adoption.open_pretrained import Opened, open_pretrained
    from workbench.runs.adoption.open_pretrained import relink as put_right
    from workbench.runs.adoption.open_pretrained import revisions as found_revisions
    from workbench.runs.run import Run
    from workbench.tasks.presented.presentation import presentation as presented

    chosen = ComputeDevice(device, dtype or "").found()
    folders = found_revisions(folder, revisions)
    if relink is not None:
        run = put_right(Run.open(relink), folders)
        print(f"{run.path}: its weights lie in {folder} now, and are those it was opened on.")
        return
    asked = tuple(sorted({*integers(lengths, "--lengths")}))
    if asked[0] < 1:
        raise UsageError(f"--lengths takes items from 1 on, not {asked[0]}")
    inner = task_for(task, set_ or [], asked)
    wordings = wordings_of(presentation, template, templates)
    tellings = [presented(presentation, which, shots, shot_items, prefix, words) for which in wordings]
    parts = [folder.resolve().name, task, *([presentation, "templates"] if templates else [tellings[0].title])]
    asked_for = f"{task} ({inner.name})" if task in CALLED else inner.name
    named = out or Path("checkpoints") / "-".join(part.replace(", ", "-").replace(" ", "-") for part in parts)
    for which, told in zip(wordings, tellings, strict=True):
        opened = Opened(folders, inner, told, asked, trained_window)
        with computing_on(chosen):
            run = open_pretrained(opened, named / f"template-{which:02d}" if templates else named)
        steps = f"{len(run.steps)} checkpoint{'s' * (len(run.steps) != 1)}"
        print(f"{run.path}: {steps}, {asked_for} presented as {told.title}.")
    held = run.config["task"]["presented"]
    print(f"{len(held['wording']['symbols']):,} symbols, each one token; a window of {held['window']:,} tokens.")
    print(f"Next: lengthlens measure {named}")


def wordings_of(presentation: str, template: int | None, templates: int | None) -> list[int]:
    """Which wordings are asked: the one that is named, or so many of all, spread evenly.

    Raises:
        UsageError: for several of a presentation that has one, more than there are, or one named beside.
    """
    from workbench.tasks.presented.presentation import TEMPLATES

    if templates is None:
        return [template or 0]
    if presentation != "shots":
        raise UsageError(f"--templates is about shots: the presentation {presentation} has one wording; leave it out")
    if template is not None:
        raise UsageError("--templates chooses wordings itself; leave --template out")
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
    from workbench.tasks.known_tasks import TASKS

    given: dict[str, object] = {}
    for path, value in assignments(settings):
        if path[0] != "task" or len(path) != 2:
            raise UsageError(f"--set takes task.PARAMETER=VALUE here, not {'.'.join(path)}")
        given[path[1]] = value
    if ".py" not in name and name not in CALLED and name not in TASKS:
        raise TaskError(f"unknown task {shown(name)}; {nearest(name, [*CALLED, *TASKS])}")
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
