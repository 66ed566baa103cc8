"""``lengthlens demo``: trains three small models, measures them and starts the dashboard."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from workbench.cli.options import TRAIN_OPTIONS, assignments

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
    out: Annotated[Path, typer.Option(help="Write the three runs to this folder.")] = Path("checkpoints/demo"),
    serve: Annotated[bool, typer.Option(help="Start the dashboard at the end.")] = True,
    port: Annotated[int, typer.Option(min=1, max=65535, help="Listen on this port.")] = 8050,
) -> None:
    """Train three small models, measure them and start the dashboard. This takes about 5 minutes on two cores."""
    from workbench.cli.errors import Stopping
    from workbench.cli.progress import Bar, following
    from workbench.cli.show_run import verdict_lines, why_lines
    from workbench.jobs.choose import make_executor
    from workbench.jobs.executors import Failure
    from workbench.storage.atomic import require_room

    start = time.monotonic()
    require_room(out, ROOM)
    jobs = [(name, str(out / name)) for name in RUNS]
    total = sum(spec["options"]["steps"] for spec in RUNS.values())
    print(f"Training {len(jobs)} models into {out}; after an interruption, the same command resumes.")
    with Bar(total, "training", "step") as bar:
        with following(bar, {name: Path(folder) for name, folder in jobs}, {}):
            results = make_executor("processes").map(train_one, jobs)
        bar.update(total, "")
    failures = [r for r in results if isinstance(r, Failure)]
    if failures:
        sentence = "; ".join(f"{f.job[0]}: {f.error}" for f in failures)
        if any("stopped at step" in f.error for f in failures):
            raise Stopping(sentence)
        raise SystemExit(sentence)
    print("Measuring the main quantities of every checkpoint, then all quantities of the last checkpoint of each run.")
    _measure(out)
    print(
        f"Three runs were trained and measured in {time.monotonic() - start:,.0f} s; to look at them: lengthlens app "
        f"{out}"
    )
    for line in [*verdict_lines(out), *why_lines(out)]:
        print(line)
    if serve:
        from workbench.dashboard.app import serve as serve_dashboard

        serve_dashboard([out], port=port, typed=["lengthlens", "app", str(out)])


def config_of(name: str) -> RunConfig:
    """What a demo run is: its own options, else the general defaults, whatever its task suggests."""
    from workbench.cli.run_config import build
    from workbench.cli.train_request import TrainRequest

    general = {name: option.default for name, option in TRAIN_OPTIONS.items() if option.only in ("", "transformer")}
    return build(TrainRequest(RUNS[name]["task"], {**general, **RUNS[name]["options"]}, assignments(SETTINGS)))


def train_one(job: tuple[str, str]) -> int:
    """Train one demo run, in a worker process; returns the last step."""
    from workbench.training.trainer import Trainer

    name, folder = job
    return Trainer(config_of(name), Path(folder)).run().steps[-1]


def _measure(out: Path) -> None:
    from workbench.cli.measure_plan import measure_with_progress
    from workbench.measure.request import MeasureRequest

    measure_with_progress(MeasureRequest([out], only=OVER_TRAINING, sequences=SEQUENCES))
    measure_with_progress(MeasureRequest([out], steps="last", sequences=SEQUENCES))
    measure_with_progress(MeasureRequest([out], only=["diagnosis"], steps="last"))
