"""``lengthlens demo``: three models that tell the story, trained and measured on this machine."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from workbench.cli.options import DEFAULTS, ONLY, assignments

if TYPE_CHECKING:
    from workbench.training.config import RunConfig

# The longest first, for two cores to end together.
RUNS: dict[str, dict[str, Any]] = {
    # Parity fits on short strings alone, and is lost at the next length; the diagnosis says what is known of why.
    "parity-learned": {
        "task": "parity",
        "options": {"positions": "learned", "ids": "random_offset", "lengths": "1-8", "steps": 2400, "d_model": 64,
                    "heads": 4, "n_ctx": 80, "learning_rate": 2e-3},
    },
    # No positions, a count to take: found to be robust.
    "majority-nope": {
        "task": "majority",
        "options": {"positions": "none", "lengths": "1-50", "steps": 1500, "d_model": 32, "heads": 2,
                    "learning_rate": 3e-3},
    },
    # Rotary positions, the last write to find: right at every trained length, lost soon after.
    "flip_flop-rotary": {
        "task": "flip_flop",
        "options": {"positions": "rotary", "lengths": "1-50", "steps": 1500, "d_model": 32, "heads": 2,
                    "learning_rate": 3e-3},
    },
}  # fmt: skip

SETTINGS = ("training.checkpoints.log=9", "training.checkpoints.linear=3")

SEQUENCES = {"probes.summary": 256, "probes.position": 256}
"""Half of what the probes want by default: bands a little wider, in half the time."""

OVER_TRAINING = ("behaviour", "circuits.hardmax", "probes.summary", "probes.position", "probes.length_coupling")
"""What is measured at every checkpoint; the rest, at the last one alone."""

ROOM = 16 << 20
"""Bytes that the demo runs take, measured."""


def demo(
    out: Annotated[Path, typer.Option(help="Where the three demo runs go.")] = Path("checkpoints/demo"),
    serve: Annotated[bool, typer.Option(help="Open the dashboard at the end.")] = True,
    port: Annotated[int, typer.Option(min=1, max=65535, help="Port of the dashboard.")] = 8050,
) -> None:
    """Train three small models, measure them, and serve the dashboard: minutes on two cores."""
    from workbench.cli.errors import Stopping
    from workbench.cli.progress import Bar, following
    from workbench.cli.run_in_terminal import verdict_lines, why_lines
    from workbench.jobs.choose import make_executor
    from workbench.jobs.executors import Failure
    from workbench.storage.atomic import require_room

    start = time.monotonic()
    require_room(out, ROOM)
    items = [(name, str(out / name)) for name in RUNS]
    total = sum(spec["options"]["steps"] for spec in RUNS.values())
    print(f"Training {len(items)} models into {out}; the same command continues if it is interrupted.")
    with Bar(total, "training", "step") as bar:
        with following(bar, {name: Path(folder) for name, folder in items}, {}):
            results = make_executor("processes").map(train_one, items)
        bar.update(total, "")
    failures = [r for r in results if isinstance(r, Failure)]
    if failures:
        sentence = "; ".join(f"{f.item[0]}: {f.error}" for f in failures)
        if any("stopped at step" in f.error for f in failures):
            raise Stopping(sentence)
        raise SystemExit(sentence)
    print("Measuring every checkpoint, then the last one of each run in full.")
    _measure(out)
    print(
        f"Three runs trained and measured in {time.monotonic() - start:,.0f} s; to look at them: lengthlens app {out}"
    )
    for line in [*verdict_lines(out), *why_lines(out)]:
        print(line)
    if serve:
        from workbench.dashboard.app import serve as serve_dashboard

        serve_dashboard([out], port=port, typed=["lengthlens", "app", str(out)])


def config_of(name: str) -> RunConfig:
    """What a demo run is: its own options, else the general defaults, whatever its task suggests."""
    from workbench.cli.run_config import build

    general = {option: value for option, value in DEFAULTS.items() if option not in ONLY["ssm"]}
    return build(RUNS[name]["task"], {**general, **RUNS[name]["options"]}, assignments(SETTINGS))


def train_one(item: tuple[str, str]) -> int:
    """Train one demo run, in a worker process; returns the last step."""
    from workbench.training.trainer import Trainer

    name, folder = item
    return Trainer(config_of(name), Path(folder)).run().steps[-1]


def _measure(out: Path) -> None:
    from workbench.cli.measure_plan import run_plan
    from workbench.measure.running.plan import plan

    run_plan(plan([out], only=OVER_TRAINING, sequences=SEQUENCES), "processes", None)
    run_plan(plan([out], steps="last", sequences=SEQUENCES), "processes", None)
    run_plan(plan([out], only=["diagnosis"], steps="last"), "processes", None)
