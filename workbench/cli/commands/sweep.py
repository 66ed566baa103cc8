"""``lengthlens sweep``: a grid of runs, trained as far as they are missing, then measured."""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from workbench.cli.errors import UsageError
from workbench.cli.options import ExecutorOption, ShardOption, TimeLimitOption, completing, share_of
from workbench.cli.output.print_tables import CsvOption, JsonOption, OutputTable, print_tables, refuse_both
from workbench.cli.output.table_kinds import CELLS, COST
from workbench.cli.sweeping.shipped_sweeps import shipped_sweeps
from workbench.cli.table_text import align_columns

if TYPE_CHECKING:
    from workbench.cli.sweeping.sweep_file import SweepCell


def sweep(
    file: Annotated[
        Path | None,
        typer.Argument(
            metavar="SWEEP",
            help="Train this sweep: a file FILE.yaml (see below) or a name from --list.",
            autocompletion=completing(shipped_sweeps),
        ),
    ] = None,
    out: Annotated[
        Path | None, typer.Option(help="Write the runs to this folder. Default: the key `out` of the file.")
    ] = None,
    workers: Annotated[
        int | None, typer.Option(min=1, help="Use this many worker processes. Default: one per core.")
    ] = None,
    executor: ExecutorOption = "processes",
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="List the cells of the grid and mark the missing ones. Train nothing.")
    ] = False,
    plan: Annotated[
        bool,
        typer.Option(
            "--plan", help="Estimate time, memory and disk space of the missing runs from finished ones. Train nothing."
        ),
    ] = False,
    shard: ShardOption = None,
    time_limit: TimeLimitOption = None,
    list_: Annotated[bool, typer.Option("--list", help="List the sweeps that come with LengthLens.")] = False,
    as_json: JsonOption = False,
    as_csv: CsvOption = False,
) -> None:
    """Train a grid of runs in parallel. Finished runs are kept; run the same command to resume.

    The keys of FILE.yaml are options of `lengthlens train` (task, positions, lengths, ...) or paths of its --set:

        out: checkpoints/example
        base:
          layers: 1
          steps: 1000
          training.checkpoints.log: 4
        grid:
          task: [majority, parity]
          scheme:
            - {name: nope, positions: none}
            - {name: ape, positions: learned, ids: random_offset}
          seed: [0, 1]
        measure: true

    A relative folder in `out` is relative to the folder of FILE.yaml, so that the command finds finished runs from any
    working directory. For a sweep from --list, it is relative to the working directory.

    An axis that is not an option (here `scheme`) sets several keys at once. For several grids, write a list under
    `grid`. Each run is named after the values that vary, e.g. majority-nope-seed0. All cells are checked before
    training starts. `measure` may also be {only: [behaviour], steps: last, lengths: [100, 200], sequences: 256}.

    `views` gives links to pages of the dashboard by name, e.g. {by task: "/sweep?x=task.name"}. They appear there as
    saved views.
    """
    from workbench.cli.sweeping.shipped_sweeps import about, find_sweep
    from workbench.cli.sweeping.sweep_cells import (
        PATIENCE_S,
        STATE_WORDS,
        TrainingJob,
        check_cells,
        cost,
        former_names,
        measure,
        states_of,
        train,
    )
    from workbench.cli.sweeping.sweep_file import read_sweep
    from workbench.cli.sweeping.sweep_plan import cost_row, plan_lines, plan_sweep
    from workbench.cli.time_limit import NotFinished
    from workbench.cli.time_limit import time_limit as stopping_before
    from workbench.jobs.choose import executor_kind, make_executor
    from workbench.jobs.resources import available_cores as cores
    from workbench.storage.atomic import require_room

    refuse_both(as_json, as_csv)
    if (as_json or as_csv) and not (plan or dry_run):
        raise UsageError("--json and --csv work with --plan and --dry-run, which print a table; give one of the two")
    if list_:
        print("\n".join(align_columns([(name, about(path)) for name, path in shipped_sweeps().items()])))
        return
    if file is None:
        raise UsageError(f"name a sweep: a file FILE.yaml, or one of {', '.join(shipped_sweeps())}")
    engine = make_executor(executor, workers=workers)  # refuse an unknown one before any work
    if not dry_run and not plan:
        engine.check()
    share = share_of(shard)
    described = read_sweep(find_sweep(file))
    root = out or described.out
    if root is None:
        raise UsageError(f"{file} has no folder for its runs; add `out: checkpoints/NAME` to it, or give --out")
    late: NotFinished | None = None
    with stopping_before(time_limit) as limit:
        configs = check_cells(file, described, root)
        cells = [cell for cell in described.cells if share.has(cell.name)]
        whole = f"{len(cells)} cells" if shard is None else f"{len(cells)} of {len(described.cells)} cells ({shard})"
        states, problems = states_of(cells, root)
        missing = [cell for cell in cells if states[cell.name] in ("missing", "begun")]
        if as_json or as_csv:
            cost_left = plan_sweep(cells, configs, states, root, described.measure)
            rows = [
                {
                    "cell": cell.name,
                    "state": states[cell.name],
                    "steps": configs[cell.name].training.steps,
                    "settings": json.dumps(cell.varying),
                }
                for cell in cells
            ]
            row = cost_row(cost_left, workers or cores())
            print_tables("sweep", [OutputTable(CELLS, rows), OutputTable(COST, [row])], as_json, as_csv)
            return
        for note in renaming(former_names(configs, states, root), root):
            print(f"note: {note}", file=sys.stderr)
        if dry_run:
            list_cells(cells, states)
            print(f"{whole} in {root}, {len(missing)} to be trained; nothing was done.")
            return
        if plan:
            counts = Counter(states.values())
            progress = ", ".join(f"{counts[state]} {word}" for state, word in STATE_WORDS.items() if counts[state])
            print(f"{file}: {whole} in {root}: {progress}.")
            print(
                "\n".join(plan_lines(plan_sweep(cells, configs, states, root, described.measure), workers or cores()))
            )
            return
        problems += save_views(described.views, root)
        left: list[str] = []
        if missing:
            require_room(root, 0)  # what a run needs, each says when it begins
            # The longest first, for all workers to end together.
            missing.sort(key=lambda cell: -cost(configs[cell.name]))
            until = None if limit is None else limit.until
            patience = PATIENCE_S if executor_kind(executor).remote else 0.0
            jobs = [TrainingJob(cell, str((root / cell.name).absolute()), until, patience) for cell in missing]
            found, left = train(jobs, configs, executor, workers, limit)
            problems += found
        done = sum(state == "done" for state in states.values())
        print(f"{file}: {whole} in {root}; {len(missing) - len(left)} trained now, {done} existed already.")
        if left:
            late = NotFinished(f"The time limit is up: {len(left)} of {len(cells)} cells are left to be trained")
        elif described.measure is not None:
            try:
                folders = [root / cell.name for cell in cells]
                request = replace(described.measure, folders=folders, executor=executor, workers=workers)
                problems += measure(request, limit)
            except NotFinished as leaving:
                late = leaving
    for problem in problems:
        print(f"problem: {problem}", file=sys.stderr)
    if late is not None:
        raise late
    if problems:
        raise SystemExit(1)


def renaming(pairs: Sequence[tuple[str, str]], root: Path) -> list[str]:
    """A sentence that names runs with the settings of missing cells, and how to keep them; none without such runs.

    Args:
        pairs: the name of each such run, and the name that its cell has now.
        root: their folder.
    """
    if not pairs:
        return []
    run, cell = pairs[0]
    count = "1 run has" if len(pairs) == 1 else f"{len(pairs):,} runs have"
    return [
        f"{count} the settings of missing cells but another name. Names contain the axes that vary. To keep a run, "
        f"rename its folder, e.g. mv {root / run} {root / cell}"
    ]


def save_views(views: Mapping[str, str], root: Path) -> list[str]:
    """Save the views of a sweep in the folder of its runs; those whose names exist there stay. Returns what failed.

    Args:
        views: links by name.
        root: the folder.
    """
    from workbench.runs.saved_views import ViewError, read_views, save_view

    saved = {view.name for view in read_views(root)[0]} if views else set()
    problems = []
    for name, link in views.items():
        if name in saved:
            continue
        try:
            save_view(root, name, link)
        except ViewError as error:
            problems.append(f"the view {name} was not saved: {error}")
    return problems


def list_cells(cells: Sequence[SweepCell], states: Mapping[str, str]) -> None:
    """The cells and what is missing, a line each."""
    rows = [("cell", "state", "settings")]
    for cell in cells:
        rows.append((cell.name, states[cell.name], ", ".join(f"{key} {value}" for key, value in cell.varying.items())))
    print("\n".join(align_columns(rows)))
