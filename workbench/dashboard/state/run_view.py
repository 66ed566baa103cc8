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
from workbench.core.failures import isolated
from workbench.dashboard.state.request_gate import aside
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
    """Values by key; the least recently used is dropped first. Several threads may use it at once."""

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
    """What all runs of a store share memory for."""

    def __init__(self, frames: int = FRAMES, drawings: int = DRAWINGS) -> None:
        self.frames: Cache[Frame] = Cache(frames)
        self._drawings: Cache[Any] = Cache(drawings)

    def drawings(self, key: Any, make: Callable[[], T]) -> T:
        """A drawing, or anything else small that was made of rows."""
        return cast(T, self._drawings(key, make))


def read_frame(path: Path, name: str, former: Sequence[str] = ()) -> Frame:
    """All rows of a run that count, under its name here; none where the folder has gone or cannot be read.

    Args:
        path: its folder.
        name: its name here.
        former: measurements whose rows are left out.
    """
    rows = ENCODED.empty_table()
    with aside(), isolated(lambda _: None, name):  # whoever reads the folder next says what is wrong with it
        rows = read_run(path).rows
        if former:
            rows = rows.filter(~pc.field("measurement").isin(list(former)))
    names = pa.DictionaryArray.from_arrays(np.zeros(rows.num_rows, np.int32), [name])
    return Frame.of(rows.set_column(rows.column_names.index("run"), "run", names))


def log_of(path: Path) -> Frame:
    """The training log, see :func:`workbench.runs.log.read_log`; empty where the run has gone or is damaged."""
    with aside(), isolated(lambda _: None, str(path)):  # whoever reads the folder next names it
        return Frame.of(read_log(path))
    return Frame.from_rows([], COLUMNS)


@dataclass(frozen=True)
class RunView:
    """One run at one moment: configuration, checkpoints, rows. Immutable; a change makes a new one.

    Attributes:
        former: measurements whose rows are left out, because other runs have them of a newer version
            (:meth:`workbench.dashboard.state.store.Store.together`).
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
        """Changes whenever its rows do, or what is left out of them."""
        return "|".join((self.signature, *self.former))

    def memo(self, key: Any, make: Callable[[], T]) -> T:
        """Cache what was made of these rows as long as the rows stay, so that moving a slider back draws nothing
        again."""
        return self.kept.drawings((self.name, self.rows_version, key), make)

    @property
    def frame(self) -> Frame:
        """All rows, read when first needed; an empty frame if they were deleted meanwhile."""
        return self.kept.frames((self.name, self.rows_version), lambda: read_frame(self.path, self.name, self.former))

    @cached_property
    def damage(self) -> str | None:
        """Describe rows that no measurement could have written, for the message after a failed drawing; None if all
        rows are valid.
        """
        return damage(self.frame.to_pandas())

    @property
    def specs(self) -> Mapping[str, Any]:
        """Measurement -> its spec."""
        return self.brief.specs

    @property
    def problems(self) -> tuple[str, ...]:
        """What of its rows is damaged and left out."""
        return self.brief.problems

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
        """N, the longest prefix length seen in training."""
        return self.run.trained_length

    @property
    def kind(self) -> RunKind:
        """Trained on prefixes or evaluated in a prompt, and all that differs between the two."""
        return kind_of(self.config)

    @property
    def shortest(self) -> int:
        """The shortest prefix length seen in training."""
        return int((self.config["training"].get("curriculum") or {}).get("low", 1))

    @property
    def n_layers(self) -> int:
        return int(self.config["model"]["n_layers"])

    @property
    def n_heads(self) -> int:
        return int(self.config["model"]["n_heads"])

    @property
    def gates(self) -> str:
        """The gates of a state-space model; "" for a transformer."""
        model = self.config["model"]
        return str(model["gates"]) if model.get("architecture") == "ssm" else ""

    @property
    def task(self) -> str:
        return str(self.config["task"]["name"])

    @property
    def question(self) -> str:
        """The task as a question, or "" if the run does not state it."""
        return str(self.config.get("facts", {}).get("question", ""))

    @property
    def encoding(self) -> str:
        return _name(self.config["model"]["positions"])

    @property
    def positions(self) -> str:
        """How the model encodes positions, in words."""
        ids = _name(self.config["model"].get("ids", "arange"))
        how = "" if ids == "arange" else f" + {ids.replace('_', ' ')}"
        return in_words(self.encoding) + how

    @property
    def lengths(self) -> tuple[int, ...]:
        """Prefix lengths at which the model's accuracy was measured, ascending."""
        return self.brief.lengths

    @property
    def measured_steps(self) -> tuple[int, ...]:
        """Steps that have a verdict, or else any rows, ascending."""
        return self.brief.steps

    @property
    def measured(self) -> frozenset[str]:
        """Names of the measurements this run has rows of."""
        return self.brief.measured

    def leading(self, step: int, length: int) -> tuple[int, int] | None:
        """Layer and head of the one head on which pages open; None = all heads."""
        if not self.n_heads:
            return 0, 0
        return self.memo(("leading", step, length), lambda: self.kind.leading(self.frame, step, length))

    def prompt_tokens(self, step: int) -> dict[str, int]:
        """Items of a question -> tokens of its prompt; empty for a model that was trained on the task."""
        tokens = self.memo(("tokens", step), lambda: self.kind.prompt_tokens(self.frame, step))
        return {str(items): number for items, number in tokens.items()}

    @property
    def planned(self) -> int:
        """Optimizer steps the run is to have."""
        return int(self.config["training"]["steps"])

    @property
    def log(self) -> Frame:
        """Loss and accuracies as training went, see :func:`workbench.runs.log.read_log`."""
        return self.memo(("log", self.log_signature), lambda: log_of(self.path))

    @cached_property
    def family(self) -> str:
        """Equal for runs that differ in nothing but their seeds."""
        return canonical({part: self.config.get(part) for part in ("task", "model", "training")})

    @cached_property
    def shown_path(self) -> str:
        """The run folder, as short as it can be written."""
        return display_path(self.path)

    @property
    def typed_path(self) -> str:
        """The run folder as the reader would type it into a command."""
        return typed(self.shown_path)

    def measuring(self, options: str = "") -> str:
        """The command that measures it, with these options; it names the file of a custom task as trusted."""
        return f"lengthlens measure {self.typed_path}{options}{trust_option(self.config['task'])}"


def display_path(path: Path) -> str:
    """A path as short as it can be written from where the dashboard was started."""
    here = Path.cwd()
    for written in (path.absolute, path.resolve):  # the second asks the disk for every folder above it
        with suppress(ValueError, OSError, RuntimeError):  # RuntimeError: links in a circle
            return written().relative_to(here).as_posix()
    return str(path)


def typed(path: str | Path) -> str:
    """A path as a shell takes it for one word and a command for no option.

    What a terminal would act upon when it is pasted (control characters, text that runs backwards, bytes that are no
    text) is written out.
    """
    text = f"./{path}" if str(path).startswith("-") else str(path)
    if text.isprintable():
        return shlex.quote(text)
    plain = (char if char.isprintable() and char not in "\\'" else _escaped(char) for char in text)
    return f"$'{''.join(plain)}'"


def _escaped(char: str) -> str:
    return "".join(f"\\x{byte:02x}" for byte in os.fsencode(char))


def _name(part: Any) -> str:
    """The name of a component that is given by only its name, or as an object with settings."""
    return str(part["name"]) if isinstance(part, dict) else str(part)
