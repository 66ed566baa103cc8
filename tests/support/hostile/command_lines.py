"""Hostile command lines, and the children of one warm parent that they are given to."""

from __future__ import annotations

import os
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.campaign.forked import Ended, start
from tests.support.hostile.effort import DEFECT

LIMIT_S = 300.0
"""A command that has not ended by then hangs."""
STATUSES = (0, 1, 2, 75)

NUMBERS = (
    "-1", "0", "x", "", " ", "1e3", "1.5", "nan", "inf", "-inf", "99999999999999999999", "9" * 5000, "0x10", "1_0", "[1]", "null",
    "true", "\u0661", "\uff11", "--", "-", "1-", "-9", "1,2", "1,,2", ",", "1;2",
)  # fmt: skip
NAMES = (
    "x", "", " ", "majorty", "none", "[]", "{}", "a" * 3000, "\u00fcn\u00efcode", "../..", "/", "/etc/passwd", "\x1b[31mred", "a\nb", "*", ".",
    "..", "-", "--", "none,learned", "file.py", "file.py:", ":X", "missing.py:X", "/dev/null:X", "%s", "{0}", "$HOME", "\udcff",
)  # fmt: skip
RANGES = (
    "0-5", "5-1", "1-99999999999999999999", "9" * 5000, "1-x", "-", "", "1..5", "1-2-3", "\u0661-\u0669", "1-1000001", " 1 - 3 ", "2-2",
)  # fmt: skip
SETTINGS = (
    "x", "=", "=1", "model=1", "model.=1", ".=1", "model..x=1", "model.positions=", "model.positions=[]", "model.positions.name=[]",
    "model.positions.base=x", "model.n_heads=x", "model.d_model=[8]", "model.d_mlp=-1", "model.architecture=[]", "model.n_layers=1e9",
    "training.steps=x", "training.curriculum=3", "training.curriculum.law=[]", "training.curriculum.law=mixture",
    "training.curriculum={\"law\":\"mixture\",\"weights\":[1],\"components\":[3]}", "training.betas=1", "training.early_stop=1",
    "training.task_schedule=[1]", "training.task_schedule=[{\"parameter\":1}]", "training.regularizers=x", "training.regularizers.x=1",
    "training.regularizers.positional=x", "training.checkpoints=1", "training.checkpoints.log=-1", "training.learning_rate=NaN",
    "training.learning_rate=Infinity", "seeds=1", "seeds.init=-1", "seeds.init=1e99", "task.p=x", "task.name=x", "task.positions=1", "task.subject=1", "task.convention=x", "task.place=1", "task.=1", "nonsense.x=1",
    "behaviour.resamples=0", "behaviour.resamples=x", "behaviour.nonsense=1", "circuits.hardmax.window=[]", "circuits.hardmax.delta=NaN",
    "probes.summary.layers=99", "probes.summary.layers=[99]", "probes.summary.law=x", "probes.=1", "circuits.ablation.modes=[1]",
    "positions.period=x", "positions.period=0", "a." * 200 + "b=1", "model.x=" + "[" * 3000, "model.x=" + "9" * 5000, "model.x=\udcff",
)  # fmt: skip
SHARES = ("0/8", "9/8", "8", "1/0", "-1/8", "1/8/2", "1/1", "2/3", "\u0661/8", "/", "")
TIMES = ("0m", "55", "m", "1.5h", "5m1h", "999999d", "1h", "1s", "\u0665m", "inf", "")
REGEXES = (
    "(",
    ")",
    "*",
    "a**",
    "(a|b",
    "a|",
    "|",
    "()",
    "[",
    "\\",
    "a" * 300,
    "(" * 500 + "a" + ")" * 500,
    "(a|b)*a" + "(a|b)" * 8,
    "\u00fc*",
    "",
)


@dataclass(frozen=True)
class Places:
    """What command lines point at: a small measured run, and paths that are no run."""

    run: Path
    folder: Path

    @property
    def paths(self) -> list[str]:
        """Anything but a run, made by :func:`make_places`."""
        below = self.folder / "odd"
        odd = [str(below / name) for name in ("missing", "empty", "file", "pipe", "loop", "dangling", "text.yaml")]
        return [
            *odd,
            "",
            " ",
            "/dev/null",
            "/dev/zero",
            "/proc/self/mem",
            "a" * 3000,
            "\udcff",
            "a\nb",
            str(self.run),
            str(self.run / "run.json"),
        ]


def make_places(folder: Path) -> None:
    """Folders, links, pipes and files that are no run."""
    odd = folder / "odd"
    (odd / "empty").mkdir(parents=True)
    (odd / "file").write_bytes(b"\x00\xff")
    (odd / "text.yaml").write_text("task: majority\n")
    (odd / "loop").symlink_to(odd / "loop")
    (odd / "dangling").symlink_to(odd / "nowhere")
    os.mkfifo(odd / "pipe")


Draw = Callable[[random.Random, Places], str]


def one_of(*groups: Sequence[str]) -> Draw:
    every = [value for group in groups for value in group]
    return lambda dice, places: dice.choice(every)


def path(dice: random.Random, places: Places) -> str:
    return dice.choice(places.paths)


number, name, span = one_of(NUMBERS), one_of(NAMES, NUMBERS), one_of(RANGES, NUMBERS)
setting, regex = one_of(SETTINGS), one_of(REGEXES, NAMES)
share, duration = one_of(SHARES), one_of(TIMES)

TRAIN = [
    "--steps",
    "2",
    "--layers",
    "1",
    "--d-model",
    "8",
    "--heads",
    "2",
    "--lengths",
    "1-9",
    "--batch-size",
    "4",
    "--set",
    "training.checkpoints.log=2",
]
OPTIONS: dict[str, dict[str, Draw]] = {
    "train": {
        "--architecture": name, "--gates": name, "--positions": name, "--ids": name, "--curriculum": name, "--lengths": span,
        "--steps": number, "--layers": number, "--d-model": number, "--heads": number, "--n-ctx": number, "--learning-rate": number,
        "--batch-size": number, "--seed": number, "--set": setting, "--out": path, "--nonsense": number,
    },
    "sweep": {"--out": path, "--workers": number, "--executor": name, "--dry-run": lambda dice, places: "", "--nonsense": number,
        "--shard": share, "--time-limit": duration,
    },
    "measure": {
        "--only": name, "--steps": number, "--lengths": number, "--sequences": number, "--set": setting, "--executor": name,
        "--workers": number, "--nonsense": number, "--shard": share, "--time-limit": duration,
    },
    "adopt": {"--task": name, "--lengths": span, "--out": path, "--config": path, "--files": name, "--set": setting},
    "compile": {"--lengths": span, "--up-to": number, "--first-keys": number, "--log-scaled": lambda dice, places: "", "--out": path, "--task": name, "--set": setting},
    "app": {"--host": lambda dice, places: "127.0.0.1", "--port": lambda dice, places: dice.choice(("0", "-1", "x", "65536", ""))},
    "tasks": {"--nonsense": name, "--check": lambda dice, places: ""},
    "predict": {
        "--regex": regex, "--alphabet": name, "--positions": name, "--ids": name, "--acceptance": name, "--set": setting,
        "--program": lambda dice, places: "",
    },
    "show": {"--step": number},
    "prescribe": {"--out": path},
    "check": {"--nonsense": name},
    "demo": {"--port": lambda dice, places: dice.choice(("0", "-1", "x", "65536")), "--out": path},
}  # fmt: skip
"""Options by command, with what is drawn for each. What would serve, or train for minutes, has a port that is refused."""


def command_line(dice: random.Random, places: Places, number_of: int) -> list[str]:
    """One command line: a sound one with a few hostile values, or none that makes sense."""
    command = dice.choice([*OPTIONS, "train", "train", "measure", "predict", "sweep"])
    if dice.random() < 0.02:
        return [dice.choice(NAMES) for _ in range(dice.randrange(4))]
    words = [command, *base(command, dice, places, number_of)]
    at_most = 3 if command != "app" else 1
    for _ in range(dice.randrange(1 if command in ("app", "demo") else 0, at_most + 1)):
        option = dice.choice(list(OPTIONS[command]))
        value = OPTIONS[command][option](dice, places)
        words += [option] if option in ("--dry-run", "--log-scaled", "--program", "--check") else [option, value]
    if command == "app" and "--port" not in words:
        words += ["--port", "0"]
    if command == "demo":
        words += ["--port", "0"]
    return words


def base(command: str, dice: random.Random, places: Places, number_of: int) -> list[str]:
    """What a command takes without an option, mostly sound."""
    sound = dice.random() < 0.6
    run = str(places.run) if sound else path(dice, places)
    new = str(places.folder / "made" / str(number_of))
    task = dice.choice(("majority", "parity", "mod_p_mean", "flip_flop")) if sound else name(dice, places)
    return {
        "train": [task, *TRAIN, "--out", new],
        "sweep": [str(places.folder / "odd" / "text.yaml") if sound else path(dice, places), "--dry-run"],
        "measure": [run, "--only", "behaviour", "--sequences", "8", "--executor", "serial"],
        "adopt": [
            str(places.folder / "odd" / "empty") if sound else path(dice, places),
            "--task",
            task,
            "--lengths",
            "1-9",
            "--out",
            new,
        ],
        "compile": [dice.choice(("majority", "x", "")), "--up-to", "12", "--lengths", "1-5", "--out", new],
        "app": [run],
        "tasks": [task] if dice.random() < 0.8 else [],
        "predict": [task] if dice.random() < 0.7 else [],
        "show": [run],
        "prescribe": [run],
        "check": [run],
        "demo": [],
    }[command]


def wrong(ended: Ended) -> str:
    """What is wrong with how a hostile command ended, or ""."""
    if ended.seconds >= LIMIT_S:
        return f"hangs: {ended.said[-300:]}"
    if "Traceback (most recent call last)" in ended.said or DEFECT in ended.said:
        return ended.said[-600:]
    if ended.status not in STATUSES:
        return f"ended with status {ended.status}: {ended.said[-300:]}"
    if ended.status and not ended.said.strip():
        return f"ended with status {ended.status} and said nothing"
    return ""


def forked(words: Sequence[str], folder: Path, encoding: str = "utf-8") -> Ended:
    """A command in a child of this process, which has imported all it needs."""
    return start(words, folder, encoding=encoding).end(kill_after=LIMIT_S)
