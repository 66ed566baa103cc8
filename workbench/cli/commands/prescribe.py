"""``lengthlens prescribe``: what to change in a run's training, by what its diagnosis names."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NoReturn

import typer

if TYPE_CHECKING:
    from workbench.runs.run import Run


def prescribe(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="A run's folder, with its diagnosis measured.")],
    out: Annotated[Path | None, typer.Option(help="The new run's folder; default: RUN-prescribed.")] = None,
) -> None:
    """Say why a run fails past its training length, and print the training command that is to mend it.

    Nothing is trained. The command is the run's own but for what its diagnosis (`lengthlens measure RUN --only
    diagnosis`) prescribes: randomized ids where positions are to blame, scores scaled by log n where heads read too
    little of too many keys, few long strings where the strings themselves are. What came of it: docs/diagnosis.md.
    """
    from workbench.cli.train_command import command_line, no_command, with_change, words
    from workbench.diagnosis.prescription import prescribed
    from workbench.figures.text.diagnosis_sentence import diagnosis_sentence, told
    from workbench.runs.run import Run
    from workbench.table import Table

    opened = Run.open(run)
    rows = Table.load(opened.path).frame(measurement="diagnosis", quantity=["entry", "failure_site"])
    if rows.empty:
        _refuse(run, opened)
    step = int(rows["step"].max())
    whole = Table.load(opened.path).frame(measurement="diagnosis", step=step)
    print(told(diagnosis_sentence(whole, step=step, longest=opened.trained_length)))
    at_step = rows[(rows["step"] == step) & (rows["label"] != "")].sort_values("length")
    labels = at_step.drop_duplicates("quantity").set_index("quantity")["label"]
    found = prescribed(str(labels.get("entry", "")), str(labels.get("failure_site", "")), opened.config)
    if not found.about:
        print(f"Nothing is prescribed: {found.why}.")
        return
    print(f"Prescribed: {found.about}; {found.why}.")
    if why := no_command(opened.config):
        print(f"{why}; change this in the command that trained it: {' '.join(words(found.options, found.settings))}")
        return
    # What cannot be built is refused here, and not by the command that is printed.
    options, settings = with_change(opened.config, found)
    task = opened.config["task"]["name"]
    print(command_line(task, options, settings, str(out or f"{opened.path}-prescribed")))


def _refuse(folder: Path, run: Run) -> NoReturn:
    """Say what is to be done about a run without a diagnosis, or why nothing is."""
    from workbench.cli.errors import UsageError
    from workbench.runs.referenced import how_to_relink
    from workbench.tasks.source_code import trust_option

    if "presented" in run.config["task"]:
        here = f" ({run.weightless})" if run.weightless else ""
        raise UsageError(
            f"{folder} was given its task in its prompt{here}: it has no training that could be changed; "
            "name a run that has"
        )
    if run.weightless:
        way_out = f"; {how_to_relink(str(folder))}" if run.rows_only else ""
        raise UsageError(
            f"{folder} has no diagnosis, and none can be made here: {run.weightless}{way_out}; or name another run"
        )
    trusted = trust_option(run.config["task"])
    raise UsageError(f"{folder} has no diagnosis yet: lengthlens measure {folder} --only diagnosis{trusted}")
