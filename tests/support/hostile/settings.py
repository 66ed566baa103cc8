"""Hostile settings: one wrong value in every place where a setting goes."""

from __future__ import annotations

import copy
import json
import random
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from tests.support.hostile.values import JSON, PYTHON
from workbench.cli.errors import say
from workbench.cli.options import DEFAULTS, assignments, settings_of
from workbench.cli.run_config import build
from workbench.cli.sweeping.sweep_cells import check_cells
from workbench.cli.sweeping.sweep_file import read_sweep
from workbench.cli.train_request import TrainRequest
from workbench.measure.registry import make_measurement, measurements
from workbench.models.positions import ENCODINGS
from workbench.models.positions.registry import ID_SAMPLERS
from workbench.models.ssm.config import SSMConfig
from workbench.models.transformer.config import ModelConfig
from workbench.tasks.registry import find_task, task_names
from workbench.training.config import Schedule, Seeds, TrainingConfig
from workbench.training.curriculum import CURRICULA
from workbench.training.early_stop import EarlyStop
from workbench.training.id_schedule import IdSchedule
from workbench.training.regularizers import REGULARIZERS
from workbench.training.task_schedule import TaskSchedule

SLOW_S = 20.0
LONGEST_SENTENCE = 4000
"""Characters: a sentence that cannot be read tells nothing."""


@dataclass(frozen=True)
class Setting:
    """One hostile setting: what it is about, how it is told, and the reading of it."""

    kind: str
    what: str
    read: Callable[[], object]


def judge(one: Setting) -> str:
    """What is wrong with how a setting was met, or "": it may be taken, or refused with a sentence."""
    start = time.process_time()
    try:
        one.read()
    except Exception as error:  # noqa: BLE001 - whatever it is, is what is looked for
        sentence = say(error)
        if sentence is None:
            return f"{type(error).__name__}: {str(error)[:300]}"
        if not sentence.strip() or len(sentence) > LONGEST_SENTENCE:
            return f"a sentence of {len(sentence):,} characters"
    seconds = time.process_time() - start
    return f"took {seconds:.0f} s" if seconds > SLOW_S else ""


def chosen(seed: int, share: float = 1.0) -> list[Setting]:
    """The hostile settings in random order, or a share of each kind."""
    dice = random.Random(seed)
    kinds: dict[str, list[Setting]] = {}
    for one in every(dice):
        kinds.setdefault(one.kind, []).append(one)
    found = []
    for ones in kinds.values():
        dice.shuffle(ones)
        found += ones[: max(1, round(share * len(ones)))]
    return found


def every(dice: random.Random) -> Iterator[Setting]:
    """All of them; ``dice`` draws which values go where not all do."""
    yield from of_tasks(dice)
    yield from of_runs()
    yield from of_options()
    yield from of_measurements(dice)
    yield from of_sweeps(dice)


def of_tasks(dice: random.Random) -> Iterator[Setting]:
    """Parameters of tasks, as Python gives them and as ``--set`` does."""
    for name in task_names():
        fields = [*find_task(name).model_fields, "name", "nonsense"]
        for field in fields:
            for value in dice.sample((*JSON, *PYTHON), 24):
                yield Setting(
                    "task", f"{name}.{field} = {value!r:.80}", lambda f=field, v=value, n=name: run(n, {f"task.{f}": v})
                )


def of_runs() -> Iterator[Setting]:
    """Fields of the model, its positions and ids, of training, its parts, and seeds."""
    models = [(ModelConfig, "transformer"), (SSMConfig, "ssm")]
    for cls, architecture in models:
        for field in [*cls.model_fields, "nonsense", "architecture"]:
            for value in (*JSON, *PYTHON):
                yield told("model", f"model.{field}", value, architecture)
    for part, registry in (("positions", ENCODINGS), ("ids", ID_SAMPLERS)):
        for name, scheme in registry.items():
            for field in [*scheme.model_fields, "nonsense"]:
                for value in (*JSON, *PYTHON):
                    base = {f"model.{part}.name": name, f"model.{part}.{field}": value}
                    yield Setting(
                        "positions", f"model.{part}.{name}.{field} = {value!r:.80}", lambda b=base: run("majority", b)
                    )
    training = [f"training.{field}" for field in [*TrainingConfig.model_fields, "nonsense"]]
    training += [f"training.regularizers.{name}" for name in REGULARIZERS]
    training += [f"training.early_stop.{field}" for field in EarlyStop.model_fields]
    training += [f"training.checkpoints.{field}" for field in Schedule.model_fields]
    training += [f"seeds.{field}" for field in Seeds.model_fields]
    for path in training:
        for value in (*JSON, *PYTHON):
            yield told("training", path, value)
    for name, law in CURRICULA.items():
        sound = {"law": name, "low": 1, "high": 9, **_SOUND.get(name, {})}
        for field in [*law.model_fields, "nonsense"]:
            for value in (*JSON, *PYTHON):
                yield told("training", "training.curriculum", {**sound, field: value})
    schedule = {"parameter": "p", "values": [2, 3], "over": 10}
    for field in [*TaskSchedule.model_fields, "nonsense"]:
        for value in (*JSON, *PYTHON):
            held = {"training.task_schedule": [{**schedule, field: value}]}
            yield Setting("training", f"task_schedule.{field} = {value!r:.80}", lambda h=held: run("mod_p_mean", h))
    for field in [*IdSchedule.model_fields, "nonsense"]:
        for value in (*JSON, *PYTHON):
            held = {"training.id_schedule": {"values": ["arange"], "over": 10, field: value}}
            yield Setting("training", f"id_schedule.{field} = {value!r:.80}", lambda h=held: run("majority", h))


_SOUND: dict[str, dict[str, Any]] = {
    "growing": {"start": 2, "over": 10},
    "few_long": {"short": 5},
    "mixture": {"weights": [1, 1], "components": [{"law": "uniform"}, {"law": "fixed"}]},
}
"""What a curriculum needs beside its bounds."""


def told(kind: str, path: str, value: Any, architecture: str = "transformer") -> Setting:
    """A setting of a run of majority."""
    options = {"architecture": architecture}
    return Setting(kind, f"{architecture} {path} = {value!r:.80}", lambda: run("majority", {path: value}, options))


def run(task: str, settings: dict[str, Any], options: dict[str, Any] | None = None) -> object:
    """Read the settings of a run: the description of the run, with nothing built of it."""
    pairs = [(path.split("."), value) for path, value in settings.items()]
    config = build(TrainRequest(task, {"lengths": "1-9", **(options or {})}, pairs))
    return json.dumps(config.as_json(), allow_nan=False).encode()  # what is taken can also be stored


def of_options() -> Iterator[Setting]:
    """The named options, as a sweep gives them: of any type."""
    for option in DEFAULTS:
        for value in (*JSON, *PYTHON):
            yield Setting(
                "option", f"{option} = {value!r:.80}", lambda o=option, v=value: build(TrainRequest("majority", {o: v}))
            )
    for value in JSON:
        text = value if isinstance(value, str) else json.dumps(value)
        for path in (
            "model",
            "model.",
            ".",
            "model..x",
            "=",
            "training.curriculum",
            "seeds.init",
            "model.positions.base",
        ):
            yield Setting(
                "option",
                f"--set {path}={text:.80}",
                lambda p=path, t=text: build(TrainRequest("majority", {}, assignments([f"{p}={t}"]))),
            )


def of_measurements(dice: random.Random) -> Iterator[Setting]:
    """Settings of every measurement."""
    for name, cls in measurements().items():
        for setting in [*cls().spec.settings, "nonsense"]:
            for value in dice.sample((*JSON, *PYTHON), 40):
                yield Setting(
                    "measurement", f"{name}.{setting} = {value!r:.80}",
                    lambda n=name, s=setting, v=value: json.dumps(dict(make_measurement(n, {s: v}).spec.settings), allow_nan=False),
                )  # fmt: skip
    for value in JSON:
        text = value if isinstance(value, str) else json.dumps(value)
        for path in ("behaviour", "behaviour.", ".", "nonsense.x", "behaviour.resamples", "circuits.hardmax.window.x"):
            yield Setting("measurement", f"--set {path}={text:.80}", lambda p=path, t=text: _measured(f"{p}={t}"))


def _measured(text: str) -> object:
    return [make_measurement(name, given) for name, given in settings_of(assignments([text])).items()]


SWEEP: dict[str, Any] = {
    "out": "runs",
    "base": {"layers": 1, "lengths": "1-9", "training.checkpoints.log": 4},
    "grid": {
        "task": ["majority", "parity"],
        "scheme": [
            {"name": "nope", "positions": "none"},
            {"name": "ape", "positions": "learned", "ids": "random_offset"},
        ],
        "seed": [0, 1],
    },
    "measure": {
        "only": ["behaviour"],
        "steps": "last",
        "lengths": [18, 36],
        "sequences": 16,
        "set": {"behaviour.resamples": 8},
    },
}
YAML = (
    "seed: !!python/object/apply:os.system ['true']", "seed: 2020-01-01", "seed: 2020-13-45", "seed: !!int x",
    "seed: !!float x", "seed: !!bool x", "seed: !!binary x", "seed: !!set {a, b}", "seed: !!omap [a: 1]", "seed: !x 1",
    "seed: !!timestamp x", "seed: &a [*a]", "seed: &a {x: *a}", "<<: 3", "<<: [1]", "? [a]\n: 1", "? {a: 1}\n: 1", "seed: .nan",
    "seed: .inf", "seed: 0o7", "seed: 1:30:00", "seed: " + "[" * 2000, "seed: " + "{a: " * 2000, "seed: " + "9" * 5000,
    "seed: |\n  x\n\ty", "seed: \x00", "seed: \ud800", "\ufeffseed: 1", "%YAML 9.9\n---\nseed: 1", "---\na: 1\n---\nb: 2", "- 1", "3", "", "null",
    "a: &a [x, x, x, x, x, x, x, x, x]\n" + "\n".join(f"{b}: &{b} [{', '.join(['*' + a] * 9)}]" for a, b in zip("abcdefgh", "bcdefghi", strict=True)),
)  # fmt: skip
"""What stands in a YAML file that is no plain data, or not what it looks like."""


def of_sweeps(dice: random.Random) -> Iterator[Setting]:
    """A sweep's file with one wrong value anywhere in it, and files that are hardly YAML."""
    for place in places(SWEEP):
        for value in dice.sample((*JSON, *PYTHON[:-1]), 36):
            content = copy.deepcopy(SWEEP)
            put(content, place, value)
            yield Setting("sweep", f"{place} = {value!r:.80}", lambda c=content: sweep(yaml_of(c)))
    for text in YAML:
        yield Setting("sweep", f"{text!r:.80}", lambda t=text: sweep(t))
        yield Setting(
            "sweep",
            f"base {text!r:.80}",
            lambda t=text: sweep("base:\n" + "\n".join(f"  {line}" for line in t.splitlines())),
        )


FOLDER = Path("nowhere")
"""Where the files of sweeps are written; set by the test."""


def sweep(text: str) -> object:
    """Read a sweep's file, and all its cells."""
    file = FOLDER / "sweep.yaml"
    file.write_bytes(text.encode(errors="surrogatepass"))
    return check_cells(file, read_sweep(file), FOLDER / "runs")


def yaml_of(content: Any) -> str:
    try:
        return str(yaml.safe_dump(content, allow_unicode=True))
    except (yaml.YAMLError, RecursionError):
        return f"task: {content!r}"


def places(tree: Any) -> Iterator[tuple[Any, ...]]:
    """The path of every value in nested lists and dicts, the whole included."""
    yield ()
    inner = tree.items() if isinstance(tree, dict) else enumerate(tree) if isinstance(tree, list) else ()
    for key, value in inner:
        for rest in places(value):
            yield (key, *rest)


def put(tree: Any, place: tuple[Any, ...], value: Any) -> None:
    if not place:
        tree.clear()
        tree["base"] = value
        return
    for key in place[:-1]:
        tree = tree[key]
    tree[place[-1]] = value
