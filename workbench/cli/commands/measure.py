"""``lengthlens measure``, and the same for one family: ``python -m probes DIR``, ``python -m circuits DIR``."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from workbench.cli.errors import UsageError, guarded
from workbench.cli.options import TrustCode, assignments, integers
from workbench.cli.progress import Bar

if TYPE_CHECKING:
    from workbench.measure.running.engine import Done, Item
    from workbench.measure.running.plan import Deepen, Plan


def measure_command(
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
) -> None:
    """Plan, measure, report; raises SystemExit(1) if anything went wrong on the way.

    ``further`` are settings by measurement, beside ``settings`` as typed, which win; ``trust_code`` files whose code
    may be run.
    """
    from workbench.jobs.choose import make_executor
    from workbench.measure.running.plan import plan
    from workbench.tasks.source_code import trust

    for file in trust_code:
        trust(file)
    make_executor(executor, workers=workers)  # refuse an unknown one before any work

    def todo() -> Plan:
        return plan(
            folders,
            only=only,
            steps=_steps(steps),
            lengths=None if lengths is None else integers(lengths, "--lengths"),
            sequences=sequences,
            settings=_merged(further or {}, settings_of(assignments(settings))),
            deepen=deepening(deepen, "--deepen"),
        )

    run_plan(todo(), executor, workers)
    # What one checkpoint of a bracket shows says whether the next one is needed. A problem ends this: SystemExit.
    while deepen == "bracket" and (more := todo()).items:
        run_plan(more, executor, workers)


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


def run_plan(todo: Plan, executor: str, workers: int | None) -> None:
    """Execute a plan with progress and a report; raises SystemExit(1) if anything went wrong."""
    from workbench.measure.running.plan import execute

    for notice in todo.notices:
        print(f"note: {notice}", file=sys.stderr)
    done: list[Done] = []
    ended: list[Item] = []
    with Bar(len(todo.items), "measuring", "checkpoint") as bar:

        def tick(item: Item, result: Done | None) -> None:
            ended.append(item)
            if result is not None:
                done.append(result)
            bar.update(len(ended), f"{item.run_name} step {item.step:,}")

        problems = execute(todo, executor, workers, tick)
    _report(todo, done, problems)


def _report(todo: Plan, done: list[Done], problems: list[str]) -> None:
    rows, passes, extra = (sum(getattr(d, f) for d in done) for f in ("rows", "passes", "extra_passes"))
    print(
        f"{len(done)} of {len(todo.items)} checkpoints measured in {len(todo.runs)} runs: {rows:,} rows, "
        f"{passes:,} forward passes and {extra:,} further ones; {todo.present:,} measurements were already there."
    )
    for problem in problems:
        print(f"problem: {problem}", file=sys.stderr)
    if problems:
        raise SystemExit(1)


def _steps(text: str | None) -> list[int] | Literal["last"] | None:
    if text is None:
        return None
    return "last" if text == "last" else integers(text, "--steps")


def settings_of(pairs: Sequence[tuple[Sequence[str], Any]]) -> dict[str, dict[str, Any]]:
    """``circuits.hardmax.window=8``, read as a path and a value, as settings per measurement.

    Raises:
        UsageError: for a path that names no setting.
    """
    found: dict[str, dict[str, Any]] = {}
    for path, value in pairs:
        if len(path) < 2:
            raise UsageError(f"--set takes MEASUREMENT.SETTING=VALUE, e.g. circuits.hardmax.window=8, not {path[0]}")
        found.setdefault(".".join(path[:-1]), {})[path[-1]] = value
    return found


def _merged(base: dict[str, dict[str, Any]], typed: dict[str, dict[str, Any]]) -> dict[str, dict[str, Any]]:
    return {name: base.get(name, {}) | typed.get(name, {}) for name in {**base, **typed}}


def family(package: str, targets: str | None, layers: str | None) -> tuple[list[str], dict[str, dict[str, Any]]]:
    """The measurements of a package that are about any of the targets, and their settings of layers.

    Raises:
        UsageError: for a target that none is about, or layers where none has that setting.
    """
    from workbench.measure.registry import measurements

    chosen = {name: cls for name, cls in measurements().items() if name.startswith(f"{package}.")}
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
        raise UsageError(f"no measurement of {package} can be restricted to layers")
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
        executor: Annotated[str, typer.Option(help="serial or processes.")] = "processes",
        workers: Annotated[int | None, typer.Option(min=1, help="Worker processes.")] = None,
        trust_code: TrustCode = None,
    ) -> None:
        only, settings = family(package, targets, layers)
        given = (folders, only, steps, lengths, sequences, set_ or [], executor, workers)
        measure_command(*given, further=settings, trust_code=trust_code or ())

    command.__doc__ = f"Measure checkpoints with the measurements of `{package}` only (see `lengthlens measure`)."
    app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)
    app.command()(command)
    sys.exit(guarded(lambda: app(prog_name=f"python -m {package}")))
