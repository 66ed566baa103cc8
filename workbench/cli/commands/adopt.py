"""``lengthlens adopt``."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from workbench.cli.commands.train import trusting
from workbench.cli.errors import UsageError
from workbench.cli.options import assignments, length_range, put
from workbench.core.errors import shown
from workbench.runs.adoption.adopt import Foreign, adopt
from workbench.tasks import make_task


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


def adopt_command(
    source: Path, task: str, lengths: str, out: Path | None, config: Path | None, files: str | None, set_: Sequence[str]
) -> None:
    """Adopt the checkpoints and say what was taken."""
    tree: dict[str, dict[str, object]] = {"task": {}, "model": {}}
    for path, value in assignments(set_):
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
    run = adopt(foreign, out or Path("checkpoints") / source.resolve().name)
    names = ", ".join(f"{i} {name}" for i, name in enumerate(made.tokens_names[:12]))
    more = f", ... {made.d_vocab} in all" if made.d_vocab > 12 else ""
    print(f"{run.path}: {len(run.steps)} checkpoints, last at step {run.steps[-1]:,}.")
    print(f"Its tokens must be those of {made.name}: {names}{more}.")
    for a, b in run.equal_steps():
        print(f"Steps {a} and {b} hold equal weights.")
    print(f"Next: lengthlens measure {out or run.path}{trusting(made)}")
