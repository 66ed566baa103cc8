"""The runs of the gallery as a folder: each with its checkpoints, its table and a model card, and a list of all."""

from __future__ import annotations

from pathlib import Path

from workbench.cli.errors import UsageError
from workbench.cli.exporting.hub_folder import FRONT, export_to_hub
from workbench.runs.run import Run, find_runs
from workbench.runs.shipped_gallery import gallery
from workbench.storage.atomic import make_folder, replacing_folder
from workbench.storage.below import write_new

LICENCE_LINE = "license: mit\n"


def write_gallery(to: Path) -> int:
    """Write all runs of the gallery that have weights, and return their number.

    Raises:
        UsageError: for a folder that exists.
    """
    if to.exists():
        raise UsageError(f"{to} exists already; name a new folder with --to")
    place = to.absolute()
    make_folder(place.parent)
    runs = [run for run in find_runs(gallery(), []) if not run.weightless]
    with replacing_folder(place.parent, place.name) as folder:
        for run in runs:
            export_to_hub(run, folder / run.name)
        write_new(folder, "README.md", gallery_card(runs).encode())
    return len(runs)


def gallery_card(runs: list[Run]) -> str:
    """Return the card of the whole folder as Markdown, with a line for each run."""
    lines = [
        FRONT.replace("---\n", f"---\n{LICENCE_LINE}", 1),
        "# Gallery of LengthLens",
        "",
        "Each folder is a run: a small trained or compiled model with its checkpoints, its measured rows, and a model "
        "card with its verdict. N is the longest trained length.",
        "",
        "| run | task | N | checkpoints |",
        "|---|---|---|---|",
    ]
    for run in sorted(runs, key=lambda run: run.name):
        task = run.config["task"]["name"]
        lines.append(f"| [{run.name}]({run.name}/README.md) | `{task}` | {run.trained_length:,} | {len(run.steps)} |")
    lines += [
        "",
        "Licence: MIT, as LengthLens itself. `lengthlens cite` prints what to cite.",
        "",
        "```python",
        "from lengthlens import Run",
        "",
        f'run = Run.open("{min(run.name for run in runs)}")',
        "model = run.load(run.steps[-1])",
        "```",
        "",
    ]
    return "\n".join(lines)
