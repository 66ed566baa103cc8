"""One run as the dashboard sees it: configuration and brief are loaded at once, rows when needed."""

from __future__ import annotations

import os
import shlex
import threading
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Generic, TypeVar, cast

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from workbench.core.canonical import canonical
from workbench.core.failures import isolate_errors
from workbench.core.stored_model import StoredModel
from workbench.dashboard.state.request_gate import let_others_run
from workbench.dashboard.state.run_brief import Brief
from workbench.dashboard.state.run_kinds import RunKind, kind_of
from workbench.dashboard.state.series_rows import RunRows
from workbench.figures.rows.frame import Frame
from workbench.models.positions.registry import in_words
from workbench.runs.log import COLUMNS, read_log
from workbench.runs.run import Run
from workbench.runs.run_notes import RunNotes
from workbench.table.damage import damage
from workbench.table.parquet import ENCODED
from workbench.table.reading import read_run
from workbench.tasks.source_code import trust_option

T = TypeVar("T")

FRAMES = 24
"""Runs whose rows are cached in memory, some 6 MB each; the least recently used goes first."""
DRAWINGS = 6000
"""Cached drawings, some 10 kB each, as they are sent."""


class Cache(Generic[T]):
    """A thread-safe cache of values by key, which drops the least recently used value first."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._held: OrderedDict[Any, T] = OrderedDict()
        self._lock = threading.Lock()

    def __call__(self, key: Any, make: Callable[[], T]) -> T:
        """The cached value of a key, made if there is none."""
        with self._lock:
            if key in self._held:
                self._held.move_to_end(key)
                return self._held[key]
        value = make()  # outside the lock: making may take long, and twice does no harm
        with self._lock:
            self._held[key] = value
            while len(self._held) > self._most:
                self._held.popitem(last=False)
        return value


class Kept:
    """The caches that all runs of a store share."""

    def __init__(self, frames: int = FRAMES, drawings: int = DRAWINGS) -> None:
        self.frames: Cache[Frame] = Cache(frames)
        self._drawings: Cache[Any] = Cache(drawings)

    def drawings(self, key: Any, make: Callable[[], T]) -> T:
        """Return ``make()``, cached under ``key``: a figure, or another small object made from rows."""
        return cast(T, self._drawings(key, make))


def read_frame(path: Path, name: str, former: Sequence[str] = ()) -> Frame:
    """Return all rows of a run that are shown, with the run's name in this dashboard; no rows if the folder cannot be
    read.

    Args:
        path: its folder.
        name: its name here.
        former: measurements whose rows are left out.
    """
    rows = ENCODED.empty_table()
    with (
        let_others_run(),
        isolate_errors(lambda _: None, name),
    ):  # whoever reads the folder next says what is wrong with it
        rows = read_run(path).rows
        if former:
            rows = rows.filter(~pc.field("measurement").isin(list(former)))
    names = pa.DictionaryArray.from_arrays(np.zeros(rows.num_rows, np.int32), [name])
    return Frame.of(rows.set_column(rows.column_names.index("run"), "run", names))


def log_of(path: Path) -> Frame:
    """Return the training log as :func:`workbench.runs.log.read_log` does; an empty log if the run is deleted or
    damaged.
    """
    with let_others_run(), isolate_errors(lambda _: None, str(path)):  # whoever reads the folder next names it
        return Frame.of(read_log(path))
    return Frame.from_rows([], COLUMNS)


@dataclass(frozen=True)
class RunView:
    """An immutable snapshot of one run: configuration, checkpoints and rows. If the run changes, a new snapshot is
    made.

    Attributes:
        former: measurements whose rows are left out, because other runs have them of a newer version
            (:meth:`workbench.dashboard.state.store.Store.comparable_runs`).
        notes: the note and tags that people wrote about it.
        first: its rows of the series that the Sweep page opens with, None where it has no rows.
    """

    run: Run
    root: Path
    signature: str
    steps: tuple[int, ...]
    brief: Brief
    live: bool
    log_signature: str
    kept: Kept = field(compare=False, repr=False)
    former: tuple[str, ...] = ()
    first: RunRows | None = field(default=None, compare=False, repr=False)
    notes: RunNotes = field(default_factory=RunNotes)

    @property
    def rows_version(self) -> str:
        """Return a text that changes whenever the run's rows change, or which of them are left out."""
        return "|".join((self.signature, *self.former))

    def memo(self, key: Any, make: Callable[[], T]) -> T:
        """Return ``make()``, cached under ``key`` as long as the run's rows do not change, so that moving a slider back
        draws nothing again.
        """
        return self.kept.drawings((self.name, self.rows_version, key), make)

    @property
    def frame(self) -> Frame:
        """Return all rows of the run, which are read when first needed; an empty frame if they were deleted."""
        return self.kept.frames((self.name, self.rows_version), lambda: read_frame(self.path, self.name, self.former))

    @cached_property
    def damage(self) -> str | None:
        """Describe rows that no measurement could have written, for the message after a failed drawing; None if all
        rows are valid.
        """
        return damage(self.frame.to_pandas())

    @property
    def specs(self) -> Mapping[str, Any]:
        """Return the description (:class:`Spec`) of each measurement of the run, by name."""
        return self.brief.specs

    @property
    def problems(self) -> tuple[str, ...]:
        """Return one sentence for each damaged part of the run's rows, which is left out."""
        return self.brief.problems

    @property
    def damaged_parts(self) -> tuple[str, ...]:
        """Return :attr:`problems` without the sentences on rows of a former version, which come last."""
        return self.problems[: len(self.problems) - len(self.former)]

    @property
    def name(self) -> str:
        return self.run.name

    @property
    def path(self) -> Path:
        return self.run.path

    @property
    def config(self) -> dict[str, Any]:
        return self.run.config

    @cached_property
    def trained(self) -> int:
        """Return N, the longest prefix length in training."""
        return self.run.trained_length

    @property
    def kind(self) -> RunKind:
        """Return the kind of run, trained on prefixes or evaluated in a prompt, with everything that differs between
        the two kinds.
        """
        return kind_of(self.config)

    @property
    def shortest(self) -> int:
        """Return the shortest prefix length in training."""
        return int((self.config["training"].get("curriculum") or {}).get("low", 1))

    @property
    def n_layers(self) -> int:
        return int(self.config["model"]["n_layers"])

    @property
    def n_heads(self) -> int:
        return int(self.config["model"]["n_heads"])

    @property
    def model(self) -> StoredModel:
        """Return the model as the run states it."""
        return StoredModel(self.config["model"])

    @property
    def fork(self) -> tuple[str, int] | None:
        """Return the id of the run that this run was split from, and the step; None if it is not a fork."""
        match self.config["training"].get("fork"):
            case {"run": str(parent), "step": int(step)}:
                return parent, step
        return None

    @property
    def task(self) -> str:
        return str(self.config["task"]["name"])

    @property
    def question(self) -> str:
        """Return the task as a question; "" if the run does not state it."""
        return str(self.config.get("facts", {}).get("question", ""))

    @property
    def encoding(self) -> str:
        return self.model.positions

    @property
    def positions(self) -> str:
        """Return the model's position encoding, in words."""
        ids = self.model.ids
        how = "" if ids == "arange" else f" + {ids.replace('_', ' ')}"
        return in_words(self.encoding) + how

    @property
    def lengths(self) -> tuple[int, ...]:
        """Return the prefix lengths at which the model's accuracy was measured, ascending."""
        return self.brief.lengths

    @property
    def measured_steps(self) -> tuple[int, ...]:
        """Return the training steps with a verdict, ascending; if no step has one, the steps with any rows."""
        return self.brief.steps

    @property
    def measurement_names(self) -> frozenset[str]:
        """Return the names of the measurements that the run has rows of."""
        return self.brief.measurement_names

    def leading(self, step: int, length: int) -> tuple[int, int] | None:
        """Return layer and index of the head that pages select first; None for all heads together."""
        if not self.n_heads:
            return 0, 0
        return self.memo(("leading", step, length), lambda: self.kind.leading(self.frame, step, length))

    def prompt_tokens(self, step: int) -> dict[str, int]:
        """Return the number of prompt tokens for each number of items; empty for a model that was trained on the
        task.
        """
        tokens = self.memo(("tokens", step), lambda: self.kind.prompt_tokens(self.frame, step))
        return {str(items): number for items, number in tokens.items()}

    @property
    def planned_steps(self) -> int:
        """Return the number of optimizer steps that the training of the run is planned to have."""
        return int(self.config["training"]["steps"])

    @property
    def log(self) -> Frame:
        """Return loss and accuracies during training, see :func:`workbench.runs.log.read_log`."""
        return self.memo(("log", self.log_signature), lambda: log_of(self.path))

    @cached_property
    def family(self) -> str:
        """Return a text that is equal for runs that differ only in their seeds."""
        return canonical({part: self.config.get(part) for part in ("task", "model", "training")})

    @cached_property
    def shown_path(self) -> str:
        """Return the path of the run folder, relative if that is shorter."""
        return display_path(self.path)

    @property
    def typed_path(self) -> str:
        """Return the path of the run folder, quoted for a command line."""
        return quote_path(self.shown_path)

    def measuring(self, options: str = "") -> str:
        """Return the command that measures the run with the given options. For a custom task it includes the permission
        to run the task's file.
        """
        return f"lengthlens measure {self.typed_path}{options}{trust_option(self.config['task'])}"


def display_path(path: Path) -> str:
    """Return a path in its shortest form, relative to the folder in which the dashboard was started."""
    here = Path.cwd()
    for written in (path.absolute, path.resolve):  # the second asks the disk for every folder above it
        with suppress(ValueError, OSError, RuntimeError):  # RuntimeError: links in a circle
            return written().relative_to(here).as_posix()
    return str(path)


def quote_path(path: str | Path) -> str:
    """Quote a path so that a shell reads it as one word, and a command does not read it as an option.

    Control characters, characters that reverse the direction of text, and undecodable bytes are escaped, because a
    terminal could act upon them.
    """
    text = f"./{path}" if str(path).startswith("-") else str(path)
    if text.isprintable():
        return shlex.quote(text)
    plain = (char if char.isprintable() and char not in "\\'" else _escaped(char) for char in text)
    return f"$'{''.join(plain)}'"


def _escaped(char: str) -> str:
    return "".join(f"\\x{byte:02x}" for byte in os.fsencode(char))
