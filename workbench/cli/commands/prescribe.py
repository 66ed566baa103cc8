"""``lengthlens prescribe``: a change of a run's training that may fix the failure that its diagnosis names."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NoReturn

import typer

if TYPE_CHECKING:
    from workbench.runs.run import Run

CHILDREN = Path("checkpoints")
"""Where a suggested run is trained, seen from the working folder: never beside the run, which may be a shipped one."""


def prescribe(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="Read the diagnosis of this run.")],
    out: Annotated[
        Path | None,
        typer.Option(
            help="Train the new run in this folder. Default: `checkpoints/NAME-prescribed` in the working folder."
        ),
    ] = None,
    run_now: Annotated[
        bool, typer.Option("--run", help="Run the printed command at once. Default: only print it.")
    ] = False,
) -> None:
    """Print why a run fails past its training length, and a training command that may fix the failure.

    Nothing is trained without --run. Measure the diagnosis first: `lengthlens diagnose RUN`. The printed command
    differs from the training command of the run only in the change that the diagnosis suggests:

    - If position encoding is the cause, it randomizes the position ids.
    - If the number of attended tokens is the cause, it scales attention scores by log n.
    - If input content is the cause, it adds a few long sequences.

    In our trial such changes raised accuracy past the training length, but often not to the level at trained lengths.
    See docs/diagnosis.md.
    """
    from workbench.cli.train_command import command_line, no_command, with_change, words
    from workbench.diagnosis.prescription import suggest_change
    from workbench.figures.rows.diagnosis_rows import named_entry
    from workbench.figures.rows.frame import Frame
    from workbench.figures.text.diagnosis_sentence import diagnosis_sentence, plain_text
    from workbench.runs.run import Run
    from workbench.table import Table

    opened = Run.open(run)
    steps = Table.load(opened.path).frame(measurement="diagnosis", quantity="entry")
    if steps.empty:
        _refuse(run, opened)
    step = int(steps["step"].max())
    rows = Table.load(opened.path).frame(measurement="diagnosis", step=step)
    print(plain_text(diagnosis_sentence(rows, step=step, longest=opened.trained_length)))
    frame = Frame.of(rows)
    named = named_entry(frame, step=step)
    sites = frame.where(quantity="failure_site", law=named["law"], length=named["length"]).rows()
    change = suggest_change(str(named["label"] or ""), str(sites[0]["label"] or "") if sites else "", opened.config)
    if not change.about:
        print(f"No change is suggested: {change.why}.")
        return
    print(f"This may fix the failure: {change.about}. Reason: {change.why}.")
    if why := no_command(opened.config):
        print(
            f"{why}. Make this change in the command that trained the run: "
            f"{' '.join(words(change.options, change.settings))}"
        )
        return
    # What cannot be built is refused here, and not by the command that is printed.
    options, settings = with_change(opened.config, change)
    task = opened.config["task"]["name"]
    child = out or CHILDREN / f"{opened.path.resolve().name}-prescribed"
    print(f"This command trains the changed run in {child}:")
    print(command_line(task, options, settings, str(child)))
    if run_now:
        from workbench.cli.commands.train import train_one
        from workbench.cli.train_request import TrainRequest
        from workbench.models.compute_device import ComputeDevice

        request = TrainRequest(task, options, [(path.split("."), value) for path, value in settings.items()])
        folder, _ = train_one(request, child, ComputeDevice().resolve())
        print(f"Next: lengthlens measure {folder}, then lengthlens compare {run} {folder}")


def _refuse(folder: Path, run: Run) -> NoReturn:
    """Say what is to be done about a run without a diagnosis, or why nothing is."""
    from workbench.cli.errors import UsageError
    from workbench.tasks.source_code import trust_option

    refuse_undiagnosable(folder, run)
    trusted = trust_option(run.config["task"])
    raise UsageError(f"{folder} has no diagnosis yet; run lengthlens diagnose {folder}{trusted}")


def refuse_undiagnosable(folder: Path, run: Run) -> None:
    """Refuse a run that cannot be diagnosed.

    Raises:
        UsageError: for a run without weights, without checkpoints, or with a model that was prompted with its task.
    """
    from workbench.cli.errors import UsageError
    from workbench.runs.referenced import how_to_relink

    if "presented" in run.config["task"]:
        here = f" ({run.weightless})" if run.weightless else ""
        raise UsageError(
            f"{folder} contains a model that was prompted with its task{here}, so there is no training to change; "
            "name a run of lengthlens train"
        )
    if run.weightless:
        way_out = f"; {how_to_relink(str(folder))}" if run.rows_only else ""
        raise UsageError(
            f"{folder} has no diagnosis and cannot be diagnosed here: {run.weightless}{way_out}; or name another run"
        )
    if not run.steps:
        raise UsageError(f"{folder} has no checkpoint to diagnose yet; train it first")
