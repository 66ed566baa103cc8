"""Check LengthLens on a device against the CPU, and write what was found to report.json, part by part.

    python -m tests.device.check_device --device cuda --out FOLDER [--parts train,measure] [--limit 420]

Every part runs commands in processes of their own, each with a limit. A failed command is recorded and the rest goes on.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import shutil
import subprocess
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow.parquet as pq

from tests.device.commands import LENGTHLENS, ROOT, Runner
from tests.device.compare_rows import by_measurement, compared, labels_of, rows_of
from workbench.runs.run import Run
from workbench.table.layout import shards_of

COMMON = [
    *("--lengths", "1-32", "--layers", "2", "--d-model", "32", "--learning-rate", "0.003"),
    *("--set", "training.checkpoints.log=4", "--set", "training.checkpoints.linear=4"),
]
MODELS = {
    "learned": [
        "majority",
        "--positions",
        "learned",
        "--ids",
        "random_offset",
        "--n-ctx",
        "300",
        "--heads",
        "2",
        *COMMON,
    ],
    "rotary": ["flip_flop", "--positions", "rotary", "--heads", "2", *COMMON],
    "state_space": ["parity", "--architecture", "ssm", *COMMON],
}
"""Three small models: added positions, rotated queries and keys, and a recurrence."""
GALLERY = ["flip_flop_rotary_s0", "majority_learned", "majority_nope_s0", "parity_nope", "compiled/majority_first_32"]
ON_REQUEST = ["--only", "diagnosis", "--only", "circuits.connections"]
TESTS = ["tests/unit/models/base/test_elsewhere.py", "tests/unit/training/test_training_on_devices.py"]
OTHER_SUMS = {"ATEN_CPU_CAPABILITY": "default", "MKL_CBWR": "COMPATIBLE", "MKL_ENABLE_INSTRUCTIONS": "SSE4_2"}
"""Variables under which the CPU itself sums in another order: how much rounding alone changes."""
EARLY_STEPS = 20
REPEATED = 4
"""So many runs are measured twice on the device."""


@dataclass(frozen=True)
class Options:
    """What the command line says.

    Attributes:
        device: the device to check.
        out: folder of the report.
        work: folder of the runs.
        steps: training steps of the small models.
        sequences: per test set and length; 0 = as each measurement wants.
        gallery: runs of the gallery that are measured too.
    """

    device: str
    out: Path
    work: Path
    steps: int
    sequences: int
    gallery: tuple[str, ...]

    def device_words(self, where: str) -> list[str]:
        """The option for ``cpu`` or the device."""
        return [] if where == "cpu" else ["--device", self.device]


def machine(options: Options, runner: Runner) -> dict[str, Any]:
    """GPU, driver, versions, and the relative error of single operations in float32."""
    import torch

    facts: dict[str, Any] = {
        "device": options.device, "torch": torch.__version__, "python": platform.python_version(),
        "cpu_cores": os.cpu_count(), "float32_matmul_precision": torch.get_float32_matmul_precision(),
        "cudnn_allow_tf32": torch.backends.cudnn.allow_tf32,
    }  # fmt: skip
    if torch.cuda.is_available():
        query = ["nvidia-smi", "--query-gpu=name,driver_version,memory.total", "--format=csv,noheader"]
        answer = subprocess.run(query, capture_output=True, text=True, check=False)
        facts |= {"gpu": answer.stdout.strip(), "cuda": torch.version.cuda, "cudnn": torch.backends.cudnn.version()}
    for where in ("cpu", options.device):
        facts[f"rounding on {where}"] = computing(options, runner, ["rounding", where], 60)
    return facts


def computing(options: Options, runner: Runner, words: Sequence[str], limit: float) -> Any:
    """What ``tests.device.computing`` finds in a process of its own."""
    part, device, *rest = words
    file = options.work / f"{'-'.join(words).replace(':', '_')}.json"
    result = runner.run([sys.executable, "-m", "tests.device.computing", part, device, str(file), *rest], limit)
    return json.loads(file.read_text()) if result.status == 0 else result.facts


def train(options: Options, runner: Runner) -> dict[str, Any]:
    """Train the small models on both; twice on the device, once with an interruption, once in bfloat16 on both."""
    variants = {
        "cpu": ("cpu", []),
        "device": (options.device, []),
        "again": (options.device, []),
        "interrupted": (options.device, []),
        "cpu_bfloat16": ("cpu", ["--dtype", "bfloat16"]),
        "device_bfloat16": (options.device, ["--dtype", "bfloat16"]),
    }
    jobs = {
        f"{name} {variant}": lambda name=name, variant=variant, where=where, extra=extra: trained(
            options, runner, name, variant, [*options.device_words(where), *extra]
        )
        for variant, (where, extra) in variants.items()
        for name in MODELS
    }
    results = runner.together(jobs)
    report: dict[str, Any] = {"commands": results}
    for name in MODELS:
        report[name] = isolated(lambda name=name: training_compared(options, name))
    return report


def trained(options: Options, runner: Runner, name: str, variant: str, extra: Sequence[str]) -> dict[str, Any]:
    """Train one variant of a model; an interrupted one is stopped at its first late checkpoint and resumed."""
    folder = options.work / "trained" / variant / name
    words = [*LENGTHLENS, "train", *MODELS[name], "--steps", str(options.steps), "--out", str(folder), *extra]
    if variant != "interrupted":
        return runner.run(words, 120).facts
    late = folder / "steps" / f"{options.steps // 4:08d}"
    stopped = runner.run(words, 120, interrupt=late.exists)
    left = len(Run.open(folder).steps) if (folder / "run.json").exists() else 0
    resumed = runner.run(words, 120)
    return {"stopped": stopped.facts, "checkpoints_when_stopped": left, "resumed": resumed.facts}


def training_compared(options: Options, name: str) -> dict[str, Any]:
    """Losses of both devices over steps, and whether weights of the device's trainings are bit-identical."""
    runs = {
        variant: Run.open(options.work / "trained" / variant / name)
        for variant in ("cpu", "device", "again", "interrupted", "cpu_bfloat16", "device_bfloat16")
    }
    logs = {variant: log_of(run) for variant, run in runs.items()}
    facts: dict[str, Any] = {"logged_steps": len(logs["cpu"])}
    for label, first, second in (
        ("cpu and device", "cpu", "device"),
        ("device float32 and bfloat16", "device", "device_bfloat16"),
        ("cpu and device in bfloat16", "cpu_bfloat16", "device_bfloat16"),
    ):
        gap = (logs[first]["loss"] - logs[second]["loss"]).abs()
        facts[label] = {
            f"largest_difference_of_loss_to_step_{EARLY_STEPS}": float(gap[gap.index <= EARLY_STEPS].max()),
            "largest_difference_of_loss": float(gap.max()),
            "last_losses": [float(logs[variant]["loss"].iloc[-1]) for variant in (first, second)],
            "last_accuracies_at_N": [
                float(logs[variant]["accuracy_in"].dropna().iloc[-1]) for variant in (first, second)
            ],
        }
    hashes = {variant: [run.meta(step)["sha256"] for step in run.steps] for variant, run in runs.items()}
    for variant in ("again", "interrupted"):
        facts[f"device and {variant}: bit-identical"] = hashes["device"] == hashes[variant]
        facts[f"device and {variant}: largest difference of loss"] = float(
            (logs["device"]["loss"] - logs[variant]["loss"]).abs().max()
        )
    facts["ids differ"] = runs["cpu"].id != runs["device"].id
    return facts


def log_of(run: Run) -> pd.DataFrame:
    """The training log of a run, by step."""
    parts = [pq.read_table(run.step_path(step) / "log.parquet").to_pandas() for step in run.steps]
    return pd.concat(parts).drop_duplicates("step", keep="last").set_index("step")


def measure(options: Options, runner: Runner) -> dict[str, Any]:
    """Measure everything on both, of the runs trained on the CPU and of some of the gallery; and compare all rows."""
    sources = {name: options.work / "trained" / "cpu" / name for name in MODELS}
    sources |= {name.replace("/", "_"): ROOT / "checkpoints" / "gallery" / name for name in options.gallery}
    sources = {name: path for name, path in sources.items() if (path / "run.json").exists()}
    environments: dict[str, dict[str, str]] = {"device": {}, "cpu": {}, "again": {}, "control": OTHER_SUMS}
    repeated = list(sources)[:REPEATED]
    jobs = {
        f"{where} {name}": lambda where=where, name=name, path=path: measured(
            options, runner, where, name, path, environments[where]
        )
        for where in environments
        for name, path in sources.items()
        if where != "again" or name in repeated
    }
    report: dict[str, Any] = {"commands": runner.together(jobs)}
    differing = []
    comparisons = {"cpu and device": list(sources), "cpu and control": list(sources), "device and again": repeated}
    for pair, names in comparisons.items():
        tables: list[pd.DataFrame] = []
        for name in names:
            report[f"{pair}: {name}"] = isolated(
                lambda name=name, pair=pair, tables=tables: rows_compared(options, name, pair.split(" and "), tables)
            )
        if tables:
            together = pd.concat(tables)
            report[f"{pair}: by measurement"] = by_measurement(together)
            report[f"{pair}: in all"] = {
                str(relation): int(count) for relation, count in together["relation"].value_counts().items()
            }
            differing.append(together[together["relation"].isin(["differs", "label", "only one"])].assign(pair=pair))
    if differing:
        pd.concat(differing).to_csv(options.out / "differing_rows.csv", index=False)
    if sources:
        report["keys"] = isolated(lambda: keys_apart(options, runner, next(iter(sources))))
    return report


def measured(
    options: Options, runner: Runner, where: str, name: str, source: Path, environment: dict[str, str]
) -> dict[str, Any]:
    """Measure a copy of one run: all usual measurements, then those on request."""
    folder = options.work / "measured" / where / name
    shutil.copytree(source, folder, ignore=shutil.ignore_patterns("table.parquet", "measurements"))
    words = [*LENGTHLENS, "measure", str(folder), "--steps", "last", "--executor", "serial"]
    words += [*options.device_words("device" if where in ("device", "again") else "cpu")]
    words += ["--sequences", str(options.sequences)] if options.sequences else []
    return {
        "usual": runner.run(words, 240, environment).facts,
        "on request": runner.run([*words, *ON_REQUEST], 240, environment).facts,
    }


def rows_compared(options: Options, name: str, pair: Sequence[str], tables: list[pd.DataFrame]) -> dict[str, Any]:
    """How the rows of one run relate, and verdict and diagnosis of both; ``tables`` receives the rows."""
    cpu, other = (rows_of(options.work / "measured" / where / name) for where in pair)
    table = compared(cpu, other)
    tables.append(table.assign(name=name))
    facts: dict[str, Any] = {
        "rows": len(table),
        **{str(k): int(v) for k, v in table["relation"].value_counts().items()},
    }
    for measurement in ("behaviour", "diagnosis"):
        one, two = labels_of(cpu, measurement), labels_of(other, measurement)
        changed = {key: [one.get(key), two.get(key)] for key in sorted({*one, *two}) if one.get(key) != two.get(key)}
        facts[measurement] = {"labels": len(one), "changed": changed}
    return facts


def keys_apart(options: Options, runner: Runner, name: str) -> dict[str, Any]:
    """Measure a run that the device measured once more there, then on the CPU: is the second new, the first not?"""
    folder = options.work / "measured" / "device" / name

    def keys() -> set[str]:
        return {shard.key for shard in shards_of(folder) if shard.measurement == "behaviour"}

    words = [*LENGTHLENS, "measure", str(folder), "--steps", "last", "--executor", "serial", "--only", "behaviour"]
    words += ["--sequences", str(options.sequences)] if options.sequences else []
    before = keys()
    again = runner.run([*words, *options.device_words("device")], 60)
    same = keys()
    other = runner.run(words, 60)
    return {
        "new shards on the same device": len(same - before),
        "new shards on the CPU": len(keys() - same),
        "statuses": [again.status, other.status],
        "last lines": [said.output.strip().splitlines()[-1:] for said in (again, other)],
    }


def tests(options: Options, runner: Runner) -> dict[str, Any]:
    """The tests that move models to another device."""
    words = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-n", "4", *TESTS]
    result = runner.run([*words, "--other-device", "cpu:0" if options.device == "cpu" else options.device], 150)
    return {**result.facts, "tail": result.output[-3_000:]}


def speed(options: Options, runner: Runner) -> dict[str, Any]:
    """Training steps and forward passes, one process at a time: CPU with one thread and with all cores, and the device."""
    cores = str(os.cpu_count() or 1)
    everything = "small,state-space,medium"
    cases = {
        f"{options.device} float32": ["speed", options.device, "1", "float32", everything],
        f"{options.device} bfloat16": ["speed", options.device, "1", "bfloat16", everything],
        f"cpu, {cores} threads": ["speed", "cpu", cores, "float32", everything],
        "cpu, 1 thread": ["speed", "cpu", "1", "float32", "small,state-space"],
        "repeated training": ["repeated", options.device],
    }
    return {name: computing(options, runner, words, 90) for name, words in cases.items()}


def measure_speed(options: Options, runner: Runner) -> dict[str, Any]:
    """``lengthlens measure`` of a medium model's behaviour, on the CPU (one thread, as always) and on the device."""
    folder = options.work / "medium"
    words = [
        *LENGTHLENS,
        "train",
        "majority",
        "--positions",
        "rotary",
        "--layers",
        "4",
        "--d-model",
        "512",
        "--heads",
        "8",
    ]
    words += ["--lengths", "1-32", "--steps", "1", "--batch-size", "4", "--out", str(folder)]
    report: dict[str, Any] = {"train": runner.run([*words, *options.device_words("device")], 60).facts}
    measuring = [*LENGTHLENS, "measure", str(folder), "--steps", "last", "--executor", "serial", "--only", "behaviour"]
    measuring += ["--lengths", "1025", "--sequences", "32"]
    for where in ("device", "cpu"):
        report[where] = runner.run([*measuring, *options.device_words(where)], 90).facts
    return report


PARTS: dict[str, Callable[[Options, Runner], dict[str, Any]]] = {
    "machine": machine, "train": train, "measure": measure, "tests": tests, "speed": speed, "measure_speed": measure_speed,
}  # fmt: skip


def isolated(compute: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    """What a function returns, or its traceback."""
    try:
        return compute()
    except Exception:  # noqa: BLE001 - the report keeps the traceback
        return {"crashed": traceback.format_exc()[-3_000:]}


def main() -> None:
    """Run the parts in order and print their reports."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--device", default="cuda", help="the device to check (default: cuda)")
    parser.add_argument(
        "--out", type=Path, required=True, help="write report.json, log.txt and differing_rows.csv here"
    )
    parser.add_argument("--parts", default=",".join(PARTS), help="run these parts only")
    parser.add_argument("--limit", type=float, default=900, help="start nothing after so many seconds (default: 900)")
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1, help="commands that run at the same time")
    parser.add_argument("--steps", type=int, default=200, help="training steps of the small models (default: 200)")
    parser.add_argument(
        "--sequences", type=int, default=0, help="per test set and length (default: each measurement's own)"
    )
    parser.add_argument("--gallery", default=",".join(GALLERY), help="runs of the gallery to measure")
    given = parser.parse_args()
    given.out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as work:
        gallery = tuple(name for name in given.gallery.split(",") if name)
        options = Options(given.device, given.out, Path(work), given.steps, given.sequences, gallery)
        environment = {
            "OMP_NUM_THREADS": "1",
            "HF_HUB_OFFLINE": "1",
            "XDG_STATE_HOME": work,
            "PYTHONPATH": python_path(),
        }
        runner = Runner(given.out / "log.txt", time.monotonic() + given.limit, given.workers, environment)
        report: dict[str, Any] = {}
        for name in given.parts.split(","):
            begun = time.monotonic()
            report[name] = isolated(lambda name=name: PARTS[name](options, runner))
            report[name]["wall_seconds"] = round(time.monotonic() - begun, 1)
            (given.out / "report.json").write_text(json.dumps(report, indent=1))
            print(f"== {name}\n{json.dumps(brief(report[name]), indent=1)}", flush=True)
        errors = Path(work) / "lengthlens" / "lengthlens.log"
        if errors.exists():
            shutil.copy(errors, given.out / "errors.log")


def brief(report: dict[str, Any]) -> dict[str, Any]:
    """A part's report without what is long: commands that ended well, and tables by measurement."""
    short = {key: value for key, value in report.items() if key != "commands" and not key.endswith("by measurement")}
    failed = {name: facts for name, facts in report.get("commands", {}).items() if "output" in json.dumps(facts)}
    return {**short, "failed commands": failed} if failed else short


def python_path() -> str:
    """The repository, and whatever is on the path already."""
    return os.pathsep.join([str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])])


if __name__ == "__main__":
    main()
