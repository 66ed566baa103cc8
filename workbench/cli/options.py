"""Reading the values of options."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from workbench.cli.errors import UsageError
from workbench.cli.plain_data import DEPTH, refuse_strange
from workbench.core.errors import quoted_value
from workbench.core.limits import COUNT, LONGEST
from workbench.core.stored_model import TRANSFORMER, WITHOUT_ATTENTION, component_name
from workbench.core.suggest import nearest
from workbench.jobs.choose import executor_help
from workbench.jobs.share import WHOLE, Share
from workbench.models.compute_device import DEVICES, DTYPES
from workbench.tasks.known_tasks import TASKS

if TYPE_CHECKING:
    from workbench.tasks.base import Task


class TrainOption(NamedTuple):
    """An option of ``lengthlens train`` that is stored with the run.

    A new option is one entry of :data:`TRAIN_OPTIONS` and one parameter of ``lengthlens train``. Sweeps, notebooks,
    early errors, the run's configuration and the command line of a run follow from the entry.

    Attributes:
        default: its value where neither the user nor the task sets one.
        settings: paths of the settings of a run that it sets.
        only: the only architecture that has it; "" = every architecture.
        plain: whether the settings take the value as it stands. Else the value is a name from a list or needs parsing.
    """

    default: Any
    settings: tuple[str, ...]
    only: str = ""
    plain: bool = False


TRAIN_OPTIONS: Mapping[str, TrainOption] = {
    "architecture": TrainOption("transformer", ("model.architecture",)),
    "gates": TrainOption("nonnegative", ("model.gates",), only="ssm"),
    "cell": TrainOption("gru", ("model.cell",), only="rnn"),
    "positions": TrainOption("none", ("model.positions",), only="transformer"),
    "ids": TrainOption("arange", ("model.ids",), only="transformer"),
    "curriculum": TrainOption("uniform", ("training.curriculum.law",)),
    "lengths": TrainOption("1-50", ("training.curriculum.low", "training.curriculum.high")),
    "steps": TrainOption(2000, ("training.steps",), plain=True),
    "layers": TrainOption(2, ("model.n_layers",), plain=True),
    "d_model": TrainOption(64, ("model.d_model",), plain=True),
    "heads": TrainOption(4, ("model.n_heads",), only="transformer", plain=True),
    "n_ctx": TrainOption(512, ("model.n_ctx",), plain=True),
    "learning_rate": TrainOption(1e-3, ("training.learning_rate",), plain=True),
    "batch_size": TrainOption(64, ("training.batch_size",), plain=True),
    "seed": TrainOption(0, ("seeds.init", "seeds.data"), plain=True),
}
"""Options of ``lengthlens train`` that are stored with the run."""
MOST_SEEDS = 1_000
"""Runs that one ``lengthlens train --seeds`` trains at most."""
DEFAULTS: Mapping[str, Any] = {name: option.default for name, option in TRAIN_OPTIONS.items()}
"""Their values where neither the user nor the task says otherwise."""


def completing(names: Callable[[], Iterable[str]]) -> Callable[[str], list[str]]:
    """Return a function for shell completion (``autocompletion``) of a list of names separated by commas."""

    def matching(incomplete: str) -> list[str]:
        before, comma, begun = incomplete.rpartition(",")
        return [f"{before}{comma}{name}" for name in names() if name.startswith(begun)]

    return matching


completing_tasks = completing(lambda: TASKS)

TrustCode = Annotated[
    list[Path] | None,
    typer.Option(
        "--trust-code",
        metavar="FILE",
        help="Allow the code of this Python file to run. Runs whose task is defined in the file need this. No other "
        "code of a run is executed. Repeatable.",
    ),
]
"""What a command takes that opens the tasks of runs, which are data."""

ShardOption = Annotated[
    str | None,
    typer.Option(
        "--shard",
        metavar="K/M",
        help="Do only share K of M shares of the work, e.g. in a job array. K is from 1 to M. Default: do "
        "all of the work.",
    ),
]
ExecutorOption = Annotated[
    str,
    typer.Option(
        metavar="NAME",
        help=f"Run the work with {executor_help()}. Use only a scheduler that you trust: it can run code on this "
        "machine.",
    ),
]
DeviceOption = Annotated[
    str,
    typer.Option(
        metavar="NAME",
        help=f"Compute models on this device: {DEVICES}. Tested on cpu and on one cuda GPU, never on mps. "
        "Statistics stay on cpu.",
    ),
]
DtypeOption = Annotated[
    str | None,
    typer.Option(
        metavar="NAME", help=f"Compute models in {' or '.join(DTYPES)}. Default: the dtype of the stored weights."
    ),
]
TimeLimitOption = Annotated[
    str | None,
    typer.Option(
        "--time-limit",
        metavar="TIME",
        help="Save and stop before this time is over, e.g. 55m. The exit status is then 75. Run the same command again "
        "to resume. Default: no limit.",
    ),
]
"""What a command takes that may be one of many on a cluster; see docs/scale.md."""


def trusting(task: Task) -> str:
    """Return the option that permits a command to run the code of a task's file; "" for a task known by name."""
    from workbench.tasks.registry import stored_task
    from workbench.tasks.source_code import trust_option

    return trust_option(stored_task(task))


ONLY: Mapping[str, tuple[str, ...]] = {
    kind: tuple(name for name, option in TRAIN_OPTIONS.items() if option.only == kind)
    for kind in (TRANSFORMER, *WITHOUT_ATTENTION)
}
"""Options that one architecture alone has."""


def suggestions(task: Task, options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the given options, completed by those that a task suggests for their architecture. None means not
    given.
    """
    found = dict(task.suggested)

    def chosen(option: str) -> Any:
        value = options.get(option)
        value = found.get(option, DEFAULTS.get(option)) if value is None else value
        return component_name(value)

    for (option, value), more in task.suggested_with.items():
        if chosen(option) == value:
            found |= more
    others = {name for kind, names in ONLY.items() for name in names if kind != chosen("architecture")}
    return {name: value for name, value in found.items() if name not in others}


def resolve_options(options: Mapping[str, Any], suggested: Mapping[str, Any], task: str) -> dict[str, Any]:
    """Return a value for every option: the user's; without one, the task's suggestion; without either, the default.

    Args:
        options: what the user gave; None = not given.
        suggested: see :func:`suggestions`.
        task: the task's name, for the error.

    Raises:
        UsageError: for a suggestion that is not an option, an unknown architecture, or an option that only another
            architecture has.
    """
    for name in suggested:
        if name not in DEFAULTS:
            raise UsageError(f"{task} suggests {name!r}, which is not an option of train; {nearest(name, DEFAULTS)}")
    given = {name: value for name, value in options.items() if value is not None}
    found = {**DEFAULTS, **suggested, **given}
    architecture = found["architecture"]
    if not isinstance(architecture, str) or architecture not in ONLY:
        raise UsageError(f"unknown architecture {quoted_value(architecture)}; {nearest(architecture, ONLY)}")
    for other, names in ONLY.items():
        for name in names:
            if name in given and other != architecture:
                raise UsageError(
                    f"--{name} is an option of architecture {other}, not of {architecture}; leave it out, or add "
                    f"--architecture {other}"
                )
    return found


def length_range(text: str) -> tuple[int, int]:
    """Parse ``LOW-HIGH`` or a single length, and return (low, high).

    Raises:
        UsageError: for anything else.
    """
    found = re.fullmatch(r"\s*([0-9]+)\s*(?:-\s*([0-9]+)\s*)?", text)
    low, high = (_number(part) for part in (found[1], found[2] or found[1])) if found else (0, 0)
    if low < 1:
        raise UsageError(f"--lengths takes LOW-HIGH with LOW at least 1, e.g. 1-50, not {quoted_value(text)}")
    if high > LONGEST:
        raise UsageError(
            f"--lengths {quoted_value(text)}: training lengths are at most {LONGEST:,}; choose shorter ones"
        )
    if low > high:
        raise UsageError(f"--lengths {text}: the shortest length exceeds the longest; write {high}-{low}")
    return low, high


def seed_list(text: str, seed: int | None = None, settings: Sequence[tuple[Sequence[str], Any]] = ()) -> list[int]:
    """Parse ``--seeds``: a range ``0-4``, a list ``0,1,2``, or a number of seeds ``3``.

    Args:
        text: the value of ``--seeds``.
        seed: the value of ``--seed``, which excludes ``--seeds``.
        settings: (path, value) pairs of ``--set``, which may not set a seed too.

    Example:

        >>> seed_list("2-4"), seed_list("7,1"), seed_list("3")
        ([2, 3, 4], [7, 1], [0, 1, 2])

    Raises:
        UsageError: for anything else, more than 1,000 seeds, or a seed that is given twice.
    """
    if seed is not None or any(path[0] == "seeds" for path, _ in settings):
        raise UsageError("--seeds sets the seeds of weights and data; leave out --seed and --set seeds")
    forms = "a range 0-4, a list 0,1,2 or a number of seeds 3"
    number, span = re.fullmatch(r"\s*([0-9]+)\s*", text), re.fullmatch(r"\s*([0-9]+)\s*-\s*([0-9]+)\s*", text)
    if number:
        first, last = 0, _number(number[1]) - 1
    elif span:
        first, last = _number(span[1]), _number(span[2])
    else:
        seeds = integers(text, "--seeds", "a range 0-4") if re.fullmatch(r"[\s0-9,]+", text) else []
        if not seeds or len({*seeds}) < len(seeds):
            raise UsageError(f"--seeds takes {forms}, each seed once, not {quoted_value(text)}")
        return seeds
    if last < first or last - first >= MOST_SEEDS:
        raise UsageError(f"--seeds takes {forms}, with 1 to {MOST_SEEDS:,} seeds, not {quoted_value(text)}")
    return [*range(first, last + 1)]


def share_of(text: str | None) -> Share:
    """Parse ``K/M`` as the K-th of M shares of the work; an empty text means all of it.

    Raises:
        UsageError: for anything else, and for a K outside 1 to M.
    """
    if text is None:
        return WHOLE
    found = re.fullmatch(r"\s*([0-9]{1,6})\s*/\s*([0-9]{1,6})\s*", text)
    number, of = (int(found[1]), int(found[2])) if found else (0, 0)
    if not 1 <= number <= of:
        raise UsageError(f"--shard takes K/M with K from 1 to M, e.g. 3/8, not {quoted_value(text)}")
    return Share(number, of)


def _number(digits: str) -> int:
    """A whole number; of one with more digits than any sensible one, as many as show that."""
    return int(digits[:20] if len(digits.lstrip("0")) > 20 else digits.lstrip("0") or "0")


def integers(text: str, option: str, other: str = "") -> list[int]:
    """Parse a comma-separated list of integers.

    Args:
        text: what was given.
        option: the option that it was given for.
        other: what else the option takes, in words.

    Raises:
        UsageError: naming the option, for anything else.
    """
    try:
        numbers = [int(part) for part in text.split(",")]
    except ValueError:
        takes = f"whole numbers separated by commas, e.g. 100,200{other and f', or {other}'}"
        raise UsageError(f"{option} takes {takes}, not {quoted_value(text)}") from None
    if max(map(abs, numbers)) > COUNT:
        raise UsageError(f"{option} takes whole numbers up to {COUNT:,}, not {quoted_value(text)}")
    return numbers


def assignments(pairs: Sequence[str]) -> list[tuple[list[str], Any]]:
    """Parse settings ``a.b=value`` into (path, value). A value that is not valid JSON is a text.

    Raises:
        UsageError: for a setting without ``=``, an empty part of a path, or a value that is not plain data.
    """
    found = []
    for pair in pairs:
        path, equals, text = pair.partition("=")
        if not equals or not path:
            raise UsageError(f"--set takes PATH=VALUE, e.g. training.weight_decay=0.1, not {quoted_value(pair)}")
        parts = path.split(".")
        if not all(parts):
            raise UsageError(
                f"--set takes PATH=VALUE, but {quoted_value(path)} has an empty part; "
                "write it as in training.weight_decay=0.1"
            )
        if len(parts) > DEPTH:
            raise UsageError(
                f"--set {quoted_value(path)} has {len(parts)} parts, and a path has at most {DEPTH}; shorten it"
            )
        found.append((parts, _value(text, f"--set {quoted_value(path)}")))
    return found


def settings_of(pairs: Sequence[tuple[Sequence[str], Any]]) -> dict[str, dict[str, Any]]:
    """Parse settings such as ``circuits.hardmax.window=8``, and return them by measurement.

    Raises:
        UsageError: for a path that names no setting.
    """
    found: dict[str, dict[str, Any]] = {}
    for path, value in pairs:
        if len(path) < 2:
            raise UsageError(f"--set takes MEASUREMENT.SETTING=VALUE, e.g. circuits.hardmax.window=8, not {path[0]}")
        found.setdefault(".".join(path[:-1]), {})[path[-1]] = value
    return found


def task_parameters(texts: Sequence[str]) -> dict[str, Any]:
    """Parse the parameters of a task from options ``--task k=12,least=12`` or one option per parameter.

    Raises:
        UsageError: for a part without ``=``, an invalid name, a name that is given twice, or a value that is not plain
            data.
    """
    found: dict[str, Any] = {}
    # A value may hold commas itself: a list of JSON does.
    for part in (part for text in texts for part in re.split(r",(?=\s*[A-Za-z_]\w*=)", text)):
        name, equals, value = part.strip().partition("=")
        if not equals or not name.isidentifier():
            raise UsageError(f"--task takes PARAMETER=VALUE, e.g. k=12,least=12, not {quoted_value(part)}")
        if name in found:
            raise UsageError(f"--task names {name} twice; give it once")
        found[name] = _value(value, f"--task {quoted_value(name)}")
    return found


def _value(text: str, where: str) -> Any:
    """The value of a setting: JSON where it is JSON, else the text."""
    try:
        value = json.loads(text)
    except ValueError:
        value = text
    except RecursionError:
        raise UsageError(f"{where} is nested more than {DEPTH} levels deep; reduce the nesting") from None
    refuse_strange(value, where)
    return value


def put(tree: dict[str, Any], path: Sequence[str], value: Any) -> None:
    """Set a nested entry of a dict, making the dicts on the way."""
    for part in path[:-1]:
        inner = tree.get(part)
        if not isinstance(inner, dict):
            inner = tree[part] = {} if inner is None else {"name": inner}
        tree = inner
    tree[path[-1]] = value
