"""Reading of a sweep: a YAML file that describes a grid of runs becomes cells with a name and settings each."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import yaml

from workbench.cli.errors import UsageError
from workbench.cli.options import DEFAULTS, settings_of
from workbench.cli.plain_data import DEPTH, refuse_strange
from workbench.cli.sweeping.shipped_sweeps import FOLDER
from workbench.cli.train_request import TrainRequest
from workbench.core.errors import quoted_value
from workbench.core.limits import DRAWN
from workbench.core.suggest import nearest
from workbench.measure.request import MeasureRequest
from workbench.runs.saved_views import ViewError, check_view
from workbench.storage.bounded import UnreadableError, read_bytes

OPTIONS = ("task", *DEFAULTS)
SECTIONS = ("task", "model", "training", "seeds")
TOP = ("out", "base", "grid", "measure", "views")
LARGEST_FILE = 1 << 20
"""Bytes of a sweep's file."""
MOST_CELLS = 10_000
MEASURE = ("only", "steps", "lengths", "sequences", "set")


@dataclass(frozen=True)
class SweepCell:
    """One run of a sweep.

    Attributes:
        name: its folder below the sweep's, made from what varies.
        settings: every setting of the cell, by option name or dotted path.
        varying: the settings that differ between cells.
    """

    name: str
    settings: Mapping[str, Any]
    varying: Mapping[str, Any]

    @property
    def request(self) -> TrainRequest:
        """The request of the ``lengthlens train`` command that would train only this cell."""
        options = {key: value for key, value in self.settings.items() if key in DEFAULTS}
        assignments = [(key.split("."), value) for key, value in self.settings.items() if "." in key]
        return TrainRequest(str(self.settings["task"]), options, assignments)


@dataclass(frozen=True)
class Sweep:
    """The description of a sweep, as read from its file.

    Attributes:
        out: folder of the runs, relative to the folder of the file, or to the working directory for a sweep that comes
            with LengthLens; None where the file names none.
        cells: the runs.
        measure: what is measured once the runs are trained, without their folders; None = nothing.
        views: saved views of the dashboard that the folder of the runs gets: links by name.
    """

    out: Path | None
    cells: tuple[SweepCell, ...]
    measure: MeasureRequest | None
    views: Mapping[str, str] = field(default_factory=dict)


def read_sweep(file: Path) -> Sweep:
    """Return the sweep that a file describes.

    Raises:
        UsageError: for anything that cannot be read or does not exist; names the file and the key.
    """
    try:
        content = yaml.load(read_bytes(file, LARGEST_FILE), Loader=_Loader)
    except UnreadableError as error:
        raise UsageError(f"{file} is not a sweep file: {error}") from None
    except (yaml.YAMLError, ValueError, LookupError, AttributeError, TypeError) as error:  # PyYAML, of tags
        raise UsageError(f"{file} is not valid YAML: {shown_error(error, file)}; correct it there") from None
    except RecursionError:
        raise UsageError(f"{file} is nested more than {DEPTH} levels deep; reduce the nesting") from None
    try:
        refuse_strange(content, "a sweep")
        sweep = _sweep(content)
        return sweep if sweep.out is None else replace(sweep, out=_folder_of_runs(file, sweep.out))
    except UsageError as error:
        raise UsageError(f"{file}: {error}") from None


def _folder_of_runs(file: Path, out: Path) -> Path:
    """The folder that ``out`` names. The files of shipped sweeps lie in the installed package, where no runs belong."""
    return out if file.resolve().parent == FOLDER.resolve() else file.parent / out


def shown_error(error: Exception, file: Path) -> str:
    """Return an error of PyYAML about a file, in one line."""
    said = " ".join(str(error).split()) or type(error).__name__
    said = said.replace('"<byte string>"', file.name)  # it was given the bytes alone
    return said if len(said) <= 400 else f"{said[:400]} ..."


class _Loader(yaml.SafeLoader):  # type: ignore[misc]  # yaml ships no types
    """YAML in which a key that is given twice is an error, not silently the last one."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        if not isinstance(node, yaml.MappingNode):
            raise yaml.constructor.ConstructorError(None, None, "expected a mapping of keys to values", node.start_mark)
        keys = [self.construct_object(key, deep=True) for key, _ in node.value]
        twice = next((key for i, key in enumerate(keys) if key in keys[:i]), None)
        if twice is not None:
            raise yaml.constructor.ConstructorError(None, None, f"the key {twice!r} is given twice", node.start_mark)
        made: dict[Any, Any] = super().construct_mapping(node, deep)
        return made


def _sweep(content: Any) -> Sweep:
    content = _mapping(content, "a sweep", TOP)
    base = _settings(content.get("base") or {}, "base")
    grids = content.get("grid") or {}
    grids = grids if isinstance(grids, list) else [grids]
    _refuse_endless([_mapping(grid, "grid") for grid in grids])
    drawn = [point for grid in grids for point in _points(grid)]
    varying = _varying([labels for _, labels in drawn])
    keys = {key for settings, _ in drawn for key in settings}
    differing = {key for key in keys if len({repr(settings.get(key)) for settings, _ in drawn}) > 1}
    cells = []
    for settings, labels in drawn:
        whole = {**base, **settings}
        if "task" not in whole:
            raise UsageError("no task is given; name one under base, or several under grid")
        if not isinstance(whole["task"], str):
            raise UsageError(f"task takes a name, not {quoted_value(whole['task'])}")
        name = "-".join(label for axis, label in labels.items() if axis in varying) or "run"
        told = {key: value for key, value in settings.items() if key in differing}
        cells.append(SweepCell(name, whole, told))
    _distinct(cells)
    out = content.get("out")
    folder = None if out is None else Path(str(out))
    return Sweep(folder, tuple(cells), _measure(content.get("measure")), _views(content.get("views") or {}))


def _refuse_endless(grids: list[dict[str, Any]]) -> None:
    """Count the cells before they are made.

    Raises:
        UsageError: for more than anybody trains.
    """
    cells = sum(math.prod(len(values) for values in grid.values() if isinstance(values, list)) for grid in grids)
    if cells > MOST_CELLS:
        raise UsageError(
            f"grid: it has {cells:,} cells, more than {MOST_CELLS:,}; vary fewer settings, or split the sweep"
        )


def _points(grid: Any) -> Iterator[tuple[dict[str, Any], dict[str, str]]]:
    """The settings of every point of one grid, and a label per axis."""
    axes = _mapping(grid, "grid")
    choices = [[(axis, point) for point in _axis(axis, values)] for axis, values in axes.items()]
    for chosen in itertools.product(*choices):
        settings: dict[str, Any] = {}
        for axis, (_, point) in chosen:
            for key, value in point.items():
                if key in settings:
                    raise UsageError(
                        f"grid: {axis} sets {key}, which another axis sets as well; remove it from one of them"
                    )
                settings[key] = value
        yield settings, {axis: label for axis, (label, _) in chosen}


def _axis(axis: str, values: Any) -> list[tuple[str, dict[str, Any]]]:
    """The points along one axis: a label and settings each."""
    if not isinstance(values, list) or not values:
        raise UsageError(f"grid: {axis} takes a list of values, e.g. [1, 2], not {quoted_value(values)}")
    if _known(axis):
        return [(_label(axis, value), {axis: value}) for value in values]
    if not all(isinstance(value, dict) for value in values):
        raise UsageError(f"grid: there is no setting {quoted_value(axis)}; {nearest(axis, OPTIONS)}")
    points = []
    for value in values:
        settings = _settings({k: v for k, v in value.items() if k != "name"}, f"grid: {axis}")
        label = _slug(value["name"]) if "name" in value else "-".join(_label(k, v) for k, v in settings.items())
        points.append((label, settings))
    return points


def _settings(values: Any, where: str) -> dict[str, Any]:
    settings = _mapping(values, where)
    for key in settings:
        if not _known(key):
            raise UsageError(f"{where}: there is no setting {quoted_value(key)}; {nearest(key, OPTIONS)}")
    return settings


def _known(key: str) -> bool:
    """Whether a key is an option of ``train`` or a path of its ``--set``."""
    section, dot, rest = key.partition(".")
    return key in OPTIONS or bool(dot and rest and section in SECTIONS)


def _mapping(value: Any, where: str, known: tuple[str, ...] | None = None) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise UsageError(f"{where} must be a mapping of keys to values, not {quoted_value(value)}")
    made = {str(key): inner for key, inner in value.items()}
    for key in made:
        if known is not None and key not in known:
            raise UsageError(f"{where} has no key {quoted_value(key)}; {nearest(key, known)}")
    return made


def _varying(labels: list[dict[str, str]]) -> set[str]:
    """The axes along which the cells differ; an axis that some grid lacks is one."""
    axes = {axis for one in labels for axis in one}
    return {axis for axis in axes if len({one.get(axis) for one in labels}) > 1}


def _distinct(cells: list[SweepCell]) -> None:
    seen: dict[str, SweepCell] = {}
    for cell in cells:
        if cell.name in seen:
            raise UsageError(
                f"grid: two cells are called {cell.name!r} "
                f"(their settings: {quoted_value(seen[cell.name].varying)} and "
                f"{quoted_value(cell.varying)}); remove one, or give each a `name`"
            )
        seen[cell.name] = cell


def _label(key: str, value: Any) -> str:
    """A short name of one setting: words as they are, numbers after their key."""
    short = key.rpartition(".")[2]
    if isinstance(value, dict):
        inner = [v if k in ("name", "law") else f"{k}{v}" for k, v in value.items()]
        return _slug("_".join(map(str, inner)))
    words = isinstance(value, str) and not value[:1].isdigit()
    return _slug(value if words else f"{short}{value}")


def _slug(value: Any) -> str:
    """Text that is safe as the name of a folder."""
    return re.sub(r"[^A-Za-z0-9_.+]+", "_", str(value)).strip("_.") or "_"


def _measure(value: Any) -> MeasureRequest | None:
    if value is None or value is False:
        return None
    options: dict[str, Any] = {} if value is True else _mapping(value, "measure", MEASURE)
    for key in ("only", "lengths", "steps"):
        given = options.get(key, [])
        kind = str if key == "only" else int
        last = key == "steps" and given == "last"
        if not last and not (isinstance(given, list) and all(type(one) is kind for one in given)):
            raise UsageError(f"measure: {key} takes a list{' or last' * (key == 'steps')}, not {quoted_value(given)}")
    sequences = options.get("sequences", 2)
    if type(sequences) is not int or not 2 <= sequences <= DRAWN:
        raise UsageError(f"measure: sequences takes a whole number from 2 to {DRAWN:,}, not {quoted_value(sequences)}")
    pairs = [(key.split("."), one) for key, one in _mapping(options.pop("set", {}), "measure: set").items()]
    return MeasureRequest((), **options, settings=settings_of(pairs))


def _views(value: Any) -> dict[str, str]:
    views = {" ".join(name.split()): link for name, link in _mapping(value, "views").items()}
    for name, link in views.items():
        try:
            check_view(name, link)
        except ViewError as error:
            raise UsageError(f"views: {error}") from None
    return views
