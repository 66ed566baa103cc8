"""``lengthlens measure``, and the same for one family: ``python -m probes DIR``, ``python -m circuits DIR``."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from workbench.cli.errors import UsageError, guarded
from workbench.cli.options import (
    DeviceOption,
    DtypeOption,
    ExecutorOption,
    ShardOption,
    TimeLimitOption,
    TrustCode,
    assignments,
    integers,
    share_of,
    task_parameters,
)

if TYPE_CHECKING:
    from workbench.measure.running.plan import Deepen, Plan


def measure(
    folders: Annotated[list[Path], typer.Argument(metavar="DIR...", help="Runs, or folders of runs.")],
    only: Annotated[
        list[str] | None,
        typer.Option(
            help="A measurement (behaviour, circuits.hardmax, ...) or family (`probes.`). Repeatable. "
            "`diagnosis` and `circuits.connections` are made only where they are named."
        ),
    ] = None,
    steps: Annotated[
        str | None, typer.Option(help="Checkpoints, e.g. 0,100,2000; default all; `last`: each run's last.")
    ] = None,
    lengths: Annotated[
        str | None, typer.Option(help="Prefix lengths, e.g. 100,200,400; default up to 8 x the trained one.")
    ] = None,
    sequences: Annotated[
        int | None, typer.Option(min=2, help="Sequences per law and length; default what each measurement wants.")
    ] = None,
    set_: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="MEASUREMENT.SETTING=VALUE", help="A measurement's setting. Repeatable."),
    ] = None,
    deepen: Annotated[
        str,
        typer.Option(
            help="Where behaviour may draw more strings to decide a verdict: last (each run's last checkpoint), all, "
            "or bracket (also those among which the last verdict began, earliest first)."
        ),
    ] = "last",
    evaluation_seed: Annotated[
        int | None,
        typer.Option(
            min=0, help="Draw the strings from this seed, not from the run's own: stored apart, never mixed with those."
        ),
    ] = None,
    task: Annotated[
        list[str] | None,
        typer.Option(
            metavar="PARAMETER=VALUE",
            help="Ask each run its task under other parameters, e.g. k=12,least=12, which keep its tokens and answers: "
            "stored apart, never mixed with its own. Repeatable.",
        ),
    ] = None,
    executor: ExecutorOption = "processes",
    workers: Annotated[int | None, typer.Option(min=1, help="Worker processes; default: one per core.")] = None,
    trust_code: TrustCode = None,
    shard: ShardOption = None,
    time_limit: TimeLimitOption = None,
    device: DeviceOption = "cpu",
    dtype: DtypeOption = None,
) -> None:
    """Measure checkpoints: whatever is missing, in parallel; what is there stays.

    Results are Parquet shards in each run's folder and one table.parquet per run. A damaged checkpoint
    is named and skipped; the exit status then is 1. On another device than the processor one process measures,
    unless an executor is named; what was measured on one kind of device is measured anew on another.
    """
    from workbench.models.compute_device import ComputeDevice, computing_on

    chosen = ComputeDevice(device, dtype or "").found()
    if chosen.kind != "cpu" and executor == "processes":
        executor = "serial"
    trusted = trust_code or ()
    given = (folders, only, steps, lengths, sequences, set_ or [], executor, workers)
    with computing_on(chosen):
        measure_folders(
            *given,
            deepen=deepen,
            trust_code=trusted,
            shard=shard,
            time=time_limit,
            evaluation_seed=evaluation_seed,
            parameters=task_parameters(task or ()),
        )


def measure_folders(
    folders: Sequence[Path],
    only: list[str] | None,
    steps: str | None,
    lengths: str | None,
    sequences: int | None,
    settings: Sequence[str],
    executor: str,
    workers: int | None,
    further: dict[str, dict[str, Any]] | None = None,
    deepen: str = "last",
    trust_code: Sequence[Path] = (),
    shard: str | None = None,
    time: str | None = None,
    evaluation_seed: int | None = None,
    parameters: Mapping[str, Any] | None = None,
) -> None:
    """Plan, measure, report; raises SystemExit(1) if anything went wrong on the way.

    ``further`` are settings by measurement, beside ``settings`` as typed, which win; ``trust_code`` files whose code
    may be run; strings are drawn from ``evaluation_seed`` and are of the task under ``parameters``, None = each
    run's own.
    """
    from workbench.cli.measure_plan import run_plan, settings_of
    from workbench.cli.time_limit import time_limit
    from workbench.jobs.choose import make_executor
    from workbench.measure.known_measurements import refuse_unknown
    from workbench.runs.run import find_runs
    from workbench.tasks.source_code import trust

    share = share_of(shard)
    wanted_steps, wanted_lengths = _steps(steps), None if lengths is None else integers(lengths, "--lengths")
    given = _merged(further or {}, settings_of(assignments(settings)))
    refuse_unknown([*(only or ()), *given])
    for folder in folders:
        if not folder.exists():
            find_runs(folder)  # which says so
    for file in trust_code:
        trust(file)
    make_executor(executor, workers=workers).check()  # refuse before any work what cannot do it
    # What is refused above is refused before torch is loaded.
    from workbench.measure.running.plan import plan

    def todo() -> Plan:
        return plan(
            folders,
            only=only,
            steps=wanted_steps,
            lengths=wanted_lengths,
            sequences=sequences,
            settings=given,
            deepen=deepening(deepen, "--deepen"),
            share=share,
            evaluation_seed=evaluation_seed,
            task_parameters=parameters,
        )

    with time_limit(time) as limit:
        run_plan(todo(), executor, workers, limit)
        # What one checkpoint of a bracket shows says whether the next one is needed. A problem ends this: SystemExit.
        while deepen == "bracket" and (more := todo()).items:
            run_plan(more, executor, workers, limit)


def deepening(text: object, option: str) -> Deepen:
    """Where to look again, as typed.

    Raises:
        UsageError: for anything that is none of the three.
    """
    from workbench.measure.running.plan import DEEPEN

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

    every = measurements().items()
    chosen = {name: cls for name, cls in every if name.startswith(f"{package}.") and not cls.on_request}
    if targets is not None:
        known = sorted({target for cls in chosen.values() for target in cls.about})
        wanted = [target.strip() for target in targets.split(",")]
        for target in wanted:
            if target not in known:
                names = " or ".join(known) or "nothing: no measurement here is about one"
                raise UsageError(f"--targets takes {names}, not {target!r}")
        chosen = {name: cls for name, cls in chosen.items() if {*wanted} & {*cls.about}}
    if layers is None:
        return list(chosen), {}
    numbers = integers(layers, "--layers")
    settings = {name: {"layers": numbers} for name, cls in chosen.items() if "layers" in cls.model_fields}
    if not settings:
        raise UsageError(f"--layers: no measurement of {package} can be restricted to layers; leave it out")
    return list(settings), settings


def run_for_package(package: str) -> None:
    """The command line of ``python -m PACKAGE``: the same as ``lengthlens measure`` with only that family."""

    def command(
        folders: Annotated[list[Path], typer.Argument(metavar="DIR...", help="Runs, or folders of runs.")],
        steps: Annotated[str | None, typer.Option(help="Checkpoints, e.g. 0,100,2000; default all.")] = None,
        lengths: Annotated[str | None, typer.Option(help="Prefix lengths, e.g. 100,200,400.")] = None,
        layers: Annotated[
            str | None, typer.Option(help="Layers, e.g. -1,0,2 (-1 = embedding): those measurements that have layers.")
        ] = None,
        targets: Annotated[str | None, typer.Option(help="What about, e.g. summary or position.")] = None,
        sequences: Annotated[int | None, typer.Option(min=2, help="Sequences per law and length.")] = None,
        set_: Annotated[
            list[str] | None, typer.Option("--set", metavar="MEASUREMENT.SETTING=VALUE", help="Repeatable.")
        ] = None,
        executor: ExecutorOption = "processes",
        workers: Annotated[int | None, typer.Option(min=1, help="Worker processes.")] = None,
        trust_code: TrustCode = None,
    ) -> None:
        only, settings = family(package, targets, layers)
        given = (folders, only, steps, lengths, sequences, set_ or [], executor, workers)
        measure_folders(*given, further=settings, trust_code=trust_code or ())

    command.__doc__ = f"Measure checkpoints with the measurements of `{package}` only (see `lengthlens measure`)."
    app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)
    app.command()(command)
    sys.exit(guarded(lambda: app(prog_name=f"python -m {package}")))
