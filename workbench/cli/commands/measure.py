"""``lengthlens measure``, and the same for one family: ``python -m probes DIR``, ``python -m circuits DIR``."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from workbench.cli.errors import UsageError, exit_status
from workbench.cli.options import (
    DeviceOption,
    DtypeOption,
    ExecutorOption,
    ShardOption,
    TimeLimitOption,
    TrustCode,
    assignments,
    integers,
    settings_of,
    share_of,
    task_parameters,
)
from workbench.cli.time_limit import time_limit as stopping_before

if TYPE_CHECKING:
    from workbench.measure.request import Deepen, MeasureRequest


def measure(
    folders: Annotated[
        list[Path] | None, typer.Argument(metavar="DIR...", help="Measure these runs, or all runs in these folders.")
    ] = None,
    only: Annotated[
        list[str] | None,
        typer.Option(
            help="Run only this measurement (behaviour, circuits.hardmax, ...) or family (`probes.`). Repeatable. "
            "Default: all except `diagnosis` and `circuits.connections`, which run only if you name them."
        ),
    ] = None,
    steps: Annotated[
        str | None,
        typer.Option(
            help="Measure these checkpoints, e.g. 0,100,2000, or `last` for the last of each run. Default: all."
        ),
    ] = None,
    lengths: Annotated[
        str | None,
        typer.Option(
            help="Measure at these prefix lengths in tokens, e.g. 100,200. Default: up to 8 times the trained length."
        ),
    ] = None,
    sequences: Annotated[
        int | None,
        typer.Option(min=2, help="Draw this many sequences per test set and length. Default: set by each measurement."),
    ] = None,
    set_: Annotated[
        list[str] | None,
        typer.Option(
            "--set", metavar="MEASUREMENT.SETTING=VALUE", help="Change a setting of a measurement. Repeatable."
        ),
    ] = None,
    deepen: Annotated[
        str,
        typer.Option(
            help="Draw more sequences at lengths where they may decide a verdict. Choose the checkpoints: `last` (of "
            "each run), `all` or `bracket`. With `bracket`, these are the last checkpoint and the undecided ones "
            "just before the final verdict began."
        ),
    ] = "last",
    evaluation_seed: Annotated[
        int | None,
        typer.Option(
            min=0,
            help="Draw the test sequences from this seed. The results are stored separately. Default: the run's seed.",
        ),
    ] = None,
    task: Annotated[
        list[str] | None,
        typer.Option(
            metavar="PARAMETER=VALUE",
            help="Evaluate the task with other parameters, e.g. k=12,least=12. The parameters must not change the "
            "tokens or the possible answers of the task. The results are stored separately. Repeatable.",
        ),
    ] = None,
    executor: ExecutorOption = "processes",
    workers: Annotated[
        int | None, typer.Option(min=1, help="Use this many worker processes. Default: one per core.")
    ] = None,
    trust_code: TrustCode = None,
    shard: ShardOption = None,
    time_limit: TimeLimitOption = None,
    device: DeviceOption = "cpu",
    dtype: DtypeOption = None,
    list_: Annotated[
        bool, typer.Option("--list", help="List the measurements and stop, as `lengthlens measurements` does.")
    ] = False,
) -> None:
    """Measure checkpoints in parallel. Existing results are kept.

    Results are stored as Parquet files in the folder of each run, and then collected in the run's table.parquet. A
    damaged checkpoint is reported and skipped; the exit status is then 1. On a device other than cpu, a single process
    measures all checkpoints, unless you name an executor. Results are stored separately for each kind of device, so on
    another kind they are measured again.
    """
    from workbench.cli.measure_plan import measure_with_progress
    from workbench.measure.request import MeasureRequest
    from workbench.models.compute_device import ComputeDevice

    if list_:
        from workbench.cli.commands.measurements import list_measurements

        list_measurements()
        return
    if not folders:
        raise UsageError("no folder was given; name runs (lengthlens measure checkpoints), or use --list")
    chosen = ComputeDevice(device, dtype or "").resolve()
    request = MeasureRequest(
        folders,
        only=only,
        steps=_steps(steps),
        lengths=None if lengths is None else integers(lengths, "--lengths"),
        sequences=sequences,
        settings=settings_of(assignments(set_ or [])),
        deepen=deepening(deepen, "--deepen"),
        share=share_of(shard),
        evaluation_seed=evaluation_seed,
        task_parameters=task_parameters(task or ()),
        executor="serial" if chosen.kind != "cpu" and executor == "processes" else executor,
        workers=workers,
        device=chosen,
    )
    refuse_early(request, trust_code or ())
    with stopping_before(time_limit) as limit:
        measure_with_progress(request, limit)


def refuse_early(request: MeasureRequest, trust_code: Sequence[Path]) -> None:
    """Refuse, before torch is imported, what cannot be measured; and trust the files whose code may be run.

    Raises:
        MeasurementError, RunError, TaskError, ExecutorError: naming what there is not.
    """
    from workbench.jobs.choose import make_executor
    from workbench.measure.known_measurements import refuse_unknown
    from workbench.runs.run import find_runs
    from workbench.tasks.source_code import trust

    refuse_unknown([*(request.only or ()), *request.settings])
    for folder in map(Path, request.folders):
        if not folder.exists():
            find_runs(folder)  # which says so
    for file in trust_code:
        trust(file)
    make_executor(request.executor, workers=request.workers).check()


def deepening(text: object, option: str) -> Deepen:
    """Where to look again, as typed.

    Raises:
        UsageError: for anything that is none of the three.
    """
    from workbench.measure.request import DEEPEN

    for known in DEEPEN:
        if text == known:
            return known
    raise UsageError(f"{option} takes {', '.join(DEEPEN)}, not {text!r}")


def _steps(text: str | None) -> list[int] | Literal["last"] | None:
    if text is None:
        return None
    return "last" if text == "last" else integers(text, "--steps", "last")


def _merged(base: dict[str, dict[str, Any]], typed: dict[str, dict[str, Any]]) -> dict[str, dict[str, Any]]:
    return {name: base.get(name, {}) | typed.get(name, {}) for name in {**base, **typed}}


def family(package: str, targets: str | None, layers: str | None) -> tuple[list[str], dict[str, dict[str, Any]]]:
    """The measurements of a package that are made unasked, are about any of the targets, and their settings of layers.

    Raises:
        UsageError: for a target that none is about, or layers where none has that setting.
    """
    from workbench.measure.registry import measurements

    chosen = {name: cls for name, cls in measurements(f"{package}.").items() if not cls.on_request}
    if targets is not None:
        known = sorted({target for cls in chosen.values() for target in cls.about})
        wanted = [target.strip() for target in targets.split(",")]
        for target in wanted:
            if target not in known:
                names = " or ".join(known) or "nothing, as no measurement here has a target"
                raise UsageError(f"--targets takes {names}, not {target!r}")
        chosen = {name: cls for name, cls in chosen.items() if {*wanted} & {*cls.about}}
    if layers is None:
        return list(chosen), {}
    numbers = integers(layers, "--layers")
    settings = {name: {"layers": numbers} for name, cls in chosen.items() if "layers" in cls.model_fields}
    if not settings:
        raise UsageError(f"no measurement of {package} has a setting for --layers; leave it out")
    return list(settings), settings


def run_for_package(package: str) -> None:
    """The command line of ``python -m PACKAGE``: the same as ``lengthlens measure`` with only that family."""

    def command(
        folders: Annotated[
            list[Path], typer.Argument(metavar="DIR...", help="Measure these runs, or all runs in these folders.")
        ],
        steps: Annotated[
            str | None, typer.Option(help="Measure these checkpoints, e.g. 0,100,2000. Default: all.")
        ] = None,
        lengths: Annotated[
            str | None, typer.Option(help="Measure at these prefix lengths in tokens, e.g. 100,200,400.")
        ] = None,
        layers: Annotated[
            str | None, typer.Option(help="Measure only these layers, e.g. -1,0,2 (-1 = embedding). Default: all.")
        ] = None,
        targets: Annotated[
            str | None, typer.Option(help="Run only measurements of these targets, e.g. `summary` or `position`.")
        ] = None,
        sequences: Annotated[
            int | None, typer.Option(min=2, help="Draw this many sequences per test set and length.")
        ] = None,
        set_: Annotated[
            list[str] | None,
            typer.Option("--set", metavar="MEASUREMENT.SETTING=VALUE", help="Change a setting. Repeatable."),
        ] = None,
        executor: ExecutorOption = "processes",
        workers: Annotated[
            int | None, typer.Option(min=1, help="Use this many worker processes. Default: one per core.")
        ] = None,
        trust_code: TrustCode = None,
    ) -> None:
        from workbench.cli.measure_plan import measure_with_progress
        from workbench.measure.request import MeasureRequest

        only, settings = family(package, targets, layers)
        request = MeasureRequest(
            folders,
            only=only,
            steps=_steps(steps),
            lengths=None if lengths is None else integers(lengths, "--lengths"),
            sequences=sequences,
            settings=_merged(settings, settings_of(assignments(set_ or []))),
            executor=executor,
            workers=workers,
        )
        refuse_early(request, trust_code or ())
        measure_with_progress(request)

    command.__doc__ = f"Measure checkpoints with the measurements of `{package}` only (see `lengthlens measure`)."
    app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)
    app.command()(command)
    sys.exit(exit_status(lambda: app(prog_name=f"python -m {package}")))
