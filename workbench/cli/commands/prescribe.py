"""``lengthlens prescribe``: what to change in a run's training, by what its diagnosis names."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def prescribe(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="A run's folder, with its diagnosis measured.")],
    out: Annotated[Path | None, typer.Option(help="The new run's folder; default: RUN-prescribed.")] = None,
) -> None:
    """Say why a run fails past its training length, and print the training command that is to mend it.

    Nothing is trained. The command is the run's own but for what its diagnosis (`lengthlens measure RUN --only
    diagnosis`) prescribes: randomized ids where positions are to blame, scores scaled by log n where heads read too
    little of too many keys, few long strings where the strings themselves are. Of these, randomized ids were tried.
    """
    from workbench.cli.errors import UsageError
    from workbench.cli.run_config import build
    from workbench.cli.train_command import command_line, no_command, options_of, settings_of_run, words
    from workbench.diagnosis.prescription import prescribed
    from workbench.figures.text.diagnosis_sentence import diagnosis_sentence, told
    from workbench.runs.run import Run
    from workbench.table import Table

    opened = Run.open(run)
    rows = Table.load(opened.path).frame(measurement="diagnosis", quantity=["entry", "failure_site"])
    if rows.empty:
        raise UsageError(f"{run} has no diagnosis yet: lengthlens measure {run} --only diagnosis")
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
    task, options = opened.config["task"]["name"], options_of(opened.config)
    settings = settings_of_run(opened.config, options)
    if "curriculum" in found.options:  # what another one needs means nothing to it
        settings = {path: value for path, value in settings.items() if not path.startswith("training.curriculum.")}
    settings |= found.settings
    options |= found.options
    # Refused here, and not by the command that is printed.
    build(task, options, [(path.split("."), value) for path, value in settings.items()])
    print(command_line(task, options, settings, str(out or f"{opened.path}-prescribed")))
