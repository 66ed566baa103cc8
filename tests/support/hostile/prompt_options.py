"""Options as nobody should give them to ``lengthlens prompts``."""

from __future__ import annotations

import random

from tests.support.hostile.command_cases import CommandCase
from tests.support.hostile.command_lines import NAMES, NUMBERS
from workbench.tasks.known_tasks import TASKS

TASK_NAMES = ("copy", "ub", "ur", "ul", "nr_last", *TASKS, "os:system", "missing.py:X", "/dev/zero:X", *NAMES)
LENGTHS = (
    "8", "8,16", "16,8", "8,8", "0", "-1", "", ",", "x", "1000000", "8,1000000000", "9" * 5000, "1.5", "\u0661", "1-9", "1," * 2000 + "1",
    ",".join(map(str, range(1, 3000))),
)  # fmt: skip
SETTINGS = (
    "task.symbols=12", "task.symbols=1", "task.symbols=-1", "task.symbols=1000000000", "task.symbols=[]", "task.symbols=" + "9" * 5000,
    "task.x=1", "task.=1", "x", "=", "model.d_model=8", "task.symbols=" + "[" * 3000, "task.presented=1", "task.name=copy",
)  # fmt: skip
SIZES = (*NUMBERS, "2", "3", "19", "20", "100", "101", "10000", "1000000", "10000000")
OPTIONS = {
    "--task": TASK_NAMES, "--presentation": ("bare", "pairs", "shots", *NAMES), "--template": SIZES, "--shots": SIZES,
    "--shot-items": SIZES, "--lengths": LENGTHS, "--strings": SIZES, "--window": SIZES, "--set": SETTINGS,
}  # fmt: skip
FILES = ("", ".", "..", "/", "x" * 300, "x" * 300 + "/x", "/proc/x.jsonl")
"""Places that no file can be written to."""


def prompted_cases(seed: int, count: int = 300) -> list[CommandCase]:
    """Cases of a seed: sound options of which one to three are hostile."""
    dice = random.Random(seed)
    cases = [CommandCase("sound", _words({}), succeeds=True)]
    cases += [CommandCase(f"file {name[:20]!a} of {len(name)}", _words({}, name)) for name in FILES]
    for number in range(count):
        hostile = {option: dice.choice(OPTIONS[option]) for option in dice.sample(sorted(OPTIONS), dice.randint(1, 3))}
        shown = " ".join(f"{option}={value[:30]!a}" for option, value in hostile.items())
        cases.append(CommandCase(f"{number}: {shown}", _words(hostile)))
    return cases


def _words(hostile: dict[str, str], file: str = "OUT") -> tuple[str, ...]:
    options = {"--task": "ur", "--lengths": "8,16", "--strings": "3"} | hostile
    return ("prompts", *(f"{option}={value}" for option, value in options.items()), "--", file)
