"""A run's folder as data: configuration, steps, hashes. Needs neither torch nor any model code."""

from __future__ import annotations

import builtins
import os
import warnings
from collections.abc import Collection, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from workbench.core.canonical import key_of
from workbench.core.failures import isolate_errors
from workbench.core.former_names import FormerName
from workbench.core.html_card import card, ends_of
from workbench.core.names import UNTRAINED_RUNS
from workbench.core.stored_model import StoredModel, component_name
from workbench.runs.errors import RunError
from workbench.runs.referenced import how_to_relink, verify_folder, verify_names
from workbench.storage.bounded import is_folder, sha256_of_file
from workbench.storage.seal import SealError
from workbench.table.errors import TableError
from workbench.table.layout import checkpoint_steps, read_config, read_meta, run_folders
from workbench.table.run_verdicts import last_results_of, last_verdict_of, reach_at, verdicts_of
from workbench.table.stored_json import FORMAT as FORMAT
from workbench.table.stored_json import StoredError
from workbench.table.walk import is_run, near_folders, walk
from workbench.tasks.errors import TaskError
from workbench.tasks.source_code import code_of, identity, on_trust, trust

if TYPE_CHECKING:
    import pandas as pd

    from workbench.models.base.hooked import Hooked
    from workbench.runs.run_verdict import RunVerdict
    from workbench.table import Table
    from workbench.tasks.base import Task

MOST_SHOWN = 50
"""The most runs of a list that a notebook shows. Each verdict is read from the files of its run."""
MOST_LISTED = 12
"""The most runs of a folder that a message lists if a single run is required."""


def run_id(config: dict[str, Any]) -> str:
    """Return the hash that identifies a run: of its task, model, training and seeds. The path of a task's file does not
    count.
    """
    parts = {k: config[k] for k in ("task", "model", "training", "seeds")}
    parts["task"] = identity(parts["task"])
    return key_of(parts)


def sha256_of(path: Path) -> str:
    """Return the SHA-256 hash of a file's bytes, in hex."""
    return sha256_of_file(path)


@dataclass(frozen=True)
class Run:
    """One training run: a folder with ``run.json`` and checkpoints under ``steps/``.

    Attributes:
        path: the folder.
        name: its path below the data root (the folder's own name when opened directly).
        config: the content of ``run.json``.
    """

    path: Path
    name: str
    config: dict[str, Any]

    @classmethod
    def open(cls, path: str | os.PathLike[str], root: str | os.PathLike[str] | None = None) -> Run:
        """Open a run folder.

        Args:
            path: the folder that contains ``run.json``.
            root: the data root to which its name is relative; None = its name is the folder's.

        Raises:
            RunError: if the folder is missing, is not a run, was written by a newer format, or if its ``run.json``
                contains values that no run can have.
        """
        folder = Path(path)
        if not is_folder(folder):
            raise RunError(f"there is no folder {path}{near_folders(folder)}")
        if not is_run(folder):
            raise RunError(_no_run(path))
        try:
            config = read_config(folder)
        except TableError as error:
            raise RunError(str(error)) from None
        name = folder.resolve().name if root is None else folder.relative_to(root).as_posix()
        return cls(folder.absolute(), name, config)

    @classmethod
    def list(cls, folder: str | os.PathLike[str] = "checkpoints") -> RunList:
        """Return all runs at or below a folder, sorted by name. A run that cannot be opened causes a warning.

        Notebooks show the list as a table with verdicts.

        Example:

            >>> [run.name for run in Run.list("checkpoints/gallery")][-1]
            'small_model'

        Raises:
            RunError: if the folder does not exist, or contains files but no run.
        """
        return RunList(find_runs(folder), os.fspath(folder))

    def model(self, step: int | Literal["last"] = "last") -> Hooked:
        """Return the model at a training step; another name of :meth:`load`."""
        return self.load(step)

    def table(self) -> Table:
        """Return the table of all measured rows of the run."""
        from workbench.table import Table

        return Table.load(self.path)

    def measurements(self) -> pd.DataFrame:
        """Return what has been measured: one row per measurement, with its steps, its quantities and its number of
        rows.
        """
        rows = self.table().sql(
            "SELECT measurement, count(DISTINCT step) AS steps, max(step) AS last_step, "
            "string_agg(DISTINCT quantity, ', ' ORDER BY quantity) AS quantities, count(*) AS rows "
            "FROM rows GROUP BY measurement ORDER BY measurement"
        )
        return rows

    def verdict(self, step: int | Literal["last"] = "last") -> RunVerdict:
        """Return the verdict and reach at the last measured checkpoint; the label is ``not measured`` if there is none.

        Args:
            step: training step of the checkpoint, or an index from the end; ``last`` is the last measured one.

        Raises:
            RunError: if there is no such checkpoint.
        """
        from workbench.runs.run_verdict import RunVerdict

        if step == "last":
            verdict, reach = last_results_of(self.path)
        else:
            by_step = verdicts_of(self.path)
            verdict = by_step.get(self._checked_step(step, by_step))
            reach = None if verdict is None else reach_at(self.path, verdict)
        if verdict is None:
            return RunVerdict(self.name, next_step=f"lengthlens measure {self.path}")
        return RunVerdict(
            self.name,
            verdict.label,
            verdict.step,
            verdict.length,
            verdict.reason,
            verdict.note,
            next_step=f"lengthlens info {self.path}",
            **({} if reach is None else reach.estimate),
        )

    def __repr__(self) -> str:
        return f"Run({self.name!r}, {self.config['task']['name']}, {_model_name(self.config['model'])})"

    def _repr_html_(self) -> str:
        """Task, model, training and the verdict, for display in a notebook."""
        last = last_verdict_of(self.path)
        verdict = "not measured yet" if last is None else f"{last.label} at step {last.step:,}"
        further = (
            f"lengthlens measure {self.path}" if last is None else ".verdict(), .measurements(), .table(), .model()"
        )
        facts = [
            ("task", self.config["task"]["name"]),
            ("model", _model_name(self.config["model"])),
            ("trained on lengths up to", self.trained_length),
            ("checkpoints", f"{len(self.steps)}: {ends_of(self.steps)}"),
            ("verdict", verdict),
            ("next", further),
        ]
        return card(f"Run {self.name}", facts)

    @property
    def id(self) -> str:
        return str(self.config["id"])

    @property
    def steps(self) -> builtins.list[int]:
        """Return the training steps that have a complete checkpoint, ascending."""
        return checkpoint_steps(self.path)

    @property
    def trained_length(self) -> int:
        """Return N, the longest prefix length whose answer was trained."""
        return int(self.config["training"]["trained_length"])

    @property
    def shortest_trained(self) -> int:
        """Return the length of the shortest sequences in training."""
        return int((self.config["training"].get("curriculum") or {}).get("low", 1))

    @property
    def stop_reason(self) -> str:
        """Return why training stopped before its last planned step, in one clause; "" if it did not stop early.

        Raises:
            RunError: if the last checkpoint's ``meta.json`` cannot be read.
        """
        steps = self.steps
        return str(self.meta(steps[-1]).get("ended", "")) if steps else ""

    ended = FormerName("stop_reason")

    @property
    def finished(self) -> bool:
        """Whether training has ended, at its last planned step or by early stopping."""
        return int(self.config["training"]["steps"]) in self.steps or bool(self.stop_reason)

    def step_path(self, step: int) -> Path:
        return self.path / "steps" / f"{step:08d}"

    def meta(self, step: int) -> dict[str, Any]:
        """Return the content of a checkpoint's ``meta.json``: run, step, SHA-256 of the weights, trained position ids,
        versions.

        Raises:
            RunError: if the step has no checkpoint, or if its ``meta.json`` is damaged or belongs to another step or
                run.
        """
        if isinstance(step, bool) or not hasattr(step, "__index__"):
            known = f"run {self.name} has {self._checkpoints()}"
            raise RunError(f'step must be a whole number, or "last" for load, not {step!r}; {known}')
        folder = self.step_path(step)
        if not is_folder(folder):
            raise RunError(f"run {self.name} has no checkpoint at step {step}; it has {self._checkpoints()}")
        try:
            meta = read_meta(self.path, step)
        except (OSError, SealError, StoredError) as error:
            raise RunError(f"checkpoint {folder} is damaged: meta.json: {error}") from None
        if meta["step"] != step:
            raise RunError(f"checkpoint {folder} is damaged: its meta.json is of step {meta['step']}")
        if meta.get("run", self.id) != self.id:
            raise RunError(f"checkpoint {folder} is of another run (id {meta['run']}, here {self.id})")
        return meta

    def _checkpoints(self) -> str:
        """The number of its checkpoints, and some of their steps."""
        steps = self.steps
        return f"{len(steps)}: {ends_of(steps)}" if steps else "none yet"

    def verify(self, step: int) -> str:
        """Check the weights of a checkpoint against their stored SHA-256 hash, and return the hash.

        Raises:
            RunError: if the weights are missing or differ from ``meta.json``; see also :meth:`meta`.
        """
        meta, file = self.meta(step), self.step_path(step) / "model.safetensors"
        if self.answered:
            return str(meta["sha256"])
        if self.rows_only:
            return verify_names(meta, self.name) if self.referenced else str(meta["sha256"])
        if self.referenced:
            return verify_folder(self.folder(step), meta, self.name)
        try:
            current = sha256_of(file)
        except FileNotFoundError:
            raise RunError(f"checkpoint {file.parent} is damaged: model.safetensors is missing") from None
        except OSError as error:
            raise RunError(f"checkpoint {file} is damaged: {error}") from None
        if current != meta["sha256"]:
            raise RunError(f"checkpoint {file} is damaged: its sha256 differs from meta.json")
        return str(meta["sha256"])

    @property
    def trained_here(self) -> bool:
        """Whether `lengthlens train` or Python code with a training configuration trained the run."""
        return not any(key in self.config["training"] for key in UNTRAINED_RUNS)

    @property
    def referenced(self) -> bool:
        """Whether the run's weights are in other folders, which ``run.json`` names. They are never copied into the
        run.
        """
        return "pretrained" in self.config["training"]

    @property
    def answered(self) -> bool:
        """Whether the run contains only answers of a model behind an API, and no weights."""
        return "answers" in self.config["training"]

    @property
    def rows_only(self) -> str:
        """The name of the model whose weights are missing although its rows are here; "" if the weights are here."""
        return str(self.config.get("rows_only") or "")

    @property
    def weightless(self) -> str:
        """Why the run's weights cannot be used here, as a clause; "" if they can be used."""
        if self.answered:
            return "it contains answers of a model behind an API, but no weights"
        return f"results only, as the weights of {self.rows_only} are not stored here" if self.rows_only else ""

    def folder(self, step: int) -> Path:
        """Return the folder outside the run that contains the weights of a step.

        Raises:
            RunError: if the run names no folder for it.
        """
        folders = self.config.get("folders")
        if not isinstance(folders, dict) or not isinstance(folders.get(str(step)), str):
            raise RunError(f"run {self.name} has no folder for step {step}; {how_to_relink(self.name)}")
        return Path(folders[str(step)])

    def equal_steps(self) -> builtins.list[tuple[int, int]]:
        """Return pairs of training steps whose weights are identical, which should not happen in training.

        Steps whose ``meta.json`` cannot be read are left out; :meth:`meta` raises their error.
        """
        first_steps: dict[str, int] = {}
        pairs = []
        for step in self.steps:
            try:
                sha = str(self.meta(step)["sha256"])
            except RunError:
                continue
            if sha in first_steps:
                pairs.append((first_steps[sha], step))
            first_steps.setdefault(sha, step)
        return pairs

    @property
    def task(self) -> Task:
        """Return the task of the run, with its parameters.

        Raises:
            UntrustedCode: if its code is in a file that nobody has trusted here; call :meth:`trust` first.
            TaskError: if there is no such task, or its parameters do not fit it.
        """
        from workbench.tasks.registry import task_of

        return task_of(self.config["task"])

    def trust(self, file: str | os.PathLike[str]) -> Run:
        """Allow this process to run the code of a file as the run's task, and return the run.

        Raises:
            TaskError: if the task does not come from a file, or the file cannot be read.
            UntrustedCode: if it is not the file with which the run was made.
        """
        code = code_of(self.config["task"])
        if code is None:
            raise TaskError(f"the task of run {self.name} is part of LengthLens; leave out the file")
        trust(Path(file), code)
        if said := on_trust(code):
            warnings.warn(f"run {self.name}: {said}", stacklevel=2)
        return self

    def load(self, step: int | Literal["last"] = "last") -> Hooked:
        """Return the model at ``step`` after checking its weights. Its attribute ``loaded_from`` names the run and the
        step.

        Args:
            step: a step that has a checkpoint, ``"last"``, or an index from the end: -1 is the last checkpoint.

        Example:

            >>> run = Run.open("checkpoints/gallery/majority_nope_s0")
            >>> run.load().loaded_from
            Checkpoint(run='majority_nope_s0', step=1000)

        Raises:
            RunError: if ``step`` is neither, or the checkpoint is missing or damaged in any way (hash, shapes, NaN).
        """
        from workbench.models.base.hooked import Checkpoint

        step = self._step_of(step)
        self.verify(step)
        model = self._load(step)
        model.loaded_from = Checkpoint(self.name, int(step))
        return model

    def _step_of(self, step: int | str) -> int:
        """The step that ``"last"`` or an index from the end stands for; any other value as it is.

        Raises:
            RunError: if there is no such checkpoint.
        """
        if isinstance(step, str) and step == "last":
            return self._last_step()
        if isinstance(step, int) and not isinstance(step, bool) and step < 0:
            steps = self.steps
            if -step > len(steps):
                raise RunError(f"run {self.name} has {self._checkpoints()}; there is no checkpoint {step} from the end")
            return steps[step]
        return step  # type: ignore[return-value]  # what it is no step of, meta says

    def _checked_step(self, step: int | str, measured: Collection[int]) -> int:
        """The step that is meant, if it has a checkpoint or is one of the measured ones.

        Raises:
            RunError: if it is neither.
        """
        chosen = self._step_of(step)
        if isinstance(chosen, int) and chosen in measured:
            return chosen
        self.meta(chosen)
        return chosen

    def _last_step(self) -> int:
        """The last step that has a checkpoint.

        Raises:
            RunError: if there is none.
        """
        steps = self.steps
        if not steps:
            raise RunError(f"run {self.name} has no checkpoint yet; train it first")
        return steps[-1]

    def _load(self, step: int) -> Hooked:
        """The model at a step that was verified before."""
        from workbench.runs.weights import load_model, load_referenced, model_config
        from workbench.tasks.tokens import TaskTokenizer

        if self.weightless:
            way_out = f"; {how_to_relink(str(self.path))}" if self.referenced else ""
            raise RunError(f"the weights of run {self.name} cannot be used: {self.weightless}{way_out}")
        described = self.path / "run.json"
        if self.referenced:
            return load_referenced(self.folder(step), described)
        cfg = model_config(self.config["model"], described)
        model = load_model(self.step_path(step) / "model.safetensors", cfg, described)
        with suppress(TaskError):  # of a task that is not here, or whose code nobody trusted, tokens stay numbers
            model.tokenizer = TaskTokenizer.of(self.task)
        return model


class RunList(list[Run]):
    """Runs, with what :class:`list` does.

    Args:
        runs: in their order.
        folder: the folder that contains them.
    """

    def __init__(self, runs: Iterable[Run], folder: str) -> None:
        super().__init__(runs)
        self.folder = folder

    def _repr_html_(self) -> str:
        """Task, longest trained length, steps and verdict of each run, as notebooks show them."""
        lines = []
        for run in self[:MOST_SHOWN]:
            verdict = run.verdict()
            label = verdict.label if verdict.step is None else f"{verdict.label} at step {verdict.step:,}"
            steps = run.steps
            last = f"{steps[-1]:,}" if steps else "no checkpoint"
            lines.append((run.name, run.config["task"]["name"], run.trained_length, last, label))
        hidden = len(self) - len(lines)
        facts = [
            ("not shown", f"{hidden:,} more (lengthlens list {self.folder} prints all)" if hidden else ""),
            ("next", '[i], Run.open("DIR/NAME"), Table.load("DIR")'.replace("DIR", self.folder)),
        ]
        columns = ("run", "task", "trained on lengths up to", "last step", "verdict")
        return card(f"{len(self):,} runs in {self.folder}", facts, columns=columns, lines=lines)


def find_runs(root: str | os.PathLike[str], problems: list[str] | None = None) -> list[Run]:
    """Return all runs at or below ``root`` that can be opened, sorted by name.

    Args:
        root: a run, or a folder of runs.
        problems: receives one sentence for each run that cannot be opened; None = a warning for each.

    Raises:
        RunError: if the folder does not exist, or contains files but no run.
    """
    messages: list[str] = []
    try:
        found = run_folders(Path(root), messages)
    except TableError as error:
        raise RunError(str(error)) from None
    runs = []
    for name, path in found:
        with isolate_errors(messages.append, f"{path} cannot be opened"):
            runs.append(replace(Run.open(path), name=name))
    if problems is None:
        for sentence in messages:
            warnings.warn(sentence, stacklevel=2)
    else:
        problems += messages
    return runs


def _no_run(path: str | os.PathLike[str]) -> str:
    """Why a folder is not a run: it contains runs, and some are named, or it contains nothing of a run."""
    below = [str(where) for _, where in walk(Path(path)).runs]
    if not below:
        return f"{path} is not a run: it has no run.json (lengthlens train TASK --out {path} makes one)"
    more = "" if len(below) <= MOST_LISTED else f" and {len(below) - MOST_LISTED:,} more (lengthlens list {path})"
    return f"{path} is not a run but a folder of runs; name one of them: {', '.join(below[:MOST_LISTED])}{more}"


def _model_name(model: Mapping[str, Any]) -> str:
    """A model's architecture and positions, as its run states them; None for what a damaged config lacks."""
    stored = StoredModel(model)
    if stored.variant:
        return f"{stored.architecture}, {stored.variant}"
    return f"{stored.architecture}, positions {component_name(model.get('positions'))}"
