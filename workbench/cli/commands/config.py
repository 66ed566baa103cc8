"""``lengthlens config``: the stored settings of a run, and the command that trains the same run."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from workbench.runs.run import Run

PARTS = ("task", "model", "training", "seeds")
"""Parts of the settings of a run, in the order in which they are printed."""


def print_config(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="Print the settings of this run.")],
    as_json: Annotated[bool, typer.Option("--json", help="Print the stored settings as JSON.")] = False,
) -> None:
    """Print the settings of a run as YAML: task, model, training and seeds.

    The output ends with a command that trains the same run in a new folder. This command is missing if the run was not
    trained by `lengthlens train`. `lengthlens train --resume RUN` continues the run itself.
    """
    from workbench.runs.run import Run

    opened = Run.open(run)
    settings = {part: opened.config[part] for part in PARTS}
    if as_json:
        print(json.dumps({"run": opened.name, "path": str(run), **settings}, indent=2, ensure_ascii=False))
        return
    import yaml

    print(yaml.safe_dump(settings, sort_keys=False, allow_unicode=True, default_flow_style=None, width=100), end="")
    command, reason = same_training(opened, f"checkpoints/{opened.name}-again")
    print(f"\n# This command trains the same run in a new folder:\n{command}" if command else f"\n# {reason}.")


def same_training(run: Run, out: str) -> tuple[str, str]:
    """The command line that trains the same run, or "" and the reason why there is none.

    Args:
        run: the run.
        out: folder of the new run.
    """
    from workbench.cli.errors import UsageError
    from workbench.cli.resumed_training import settings_to_train
    from workbench.cli.train_command import command_line

    try:
        options, settings = settings_to_train(run)
    except UsageError as error:
        return "", str(error)
    return command_line(str(run.config["task"]["name"]), options, settings, out), ""
