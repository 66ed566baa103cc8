"""Opens folders of a pretrained model as a run. The run stores the hashes of their files and never copies them."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

from workbench.models.interop.hugging_face.config_json import one_sentence, read_pretrained_config
from workbench.models.interop.hugging_face.families import PretrainedError, family_of
from workbench.models.interop.hugging_face.opening import open_tokenizer, open_where_chosen
from workbench.runs.adoption.being_written import being_written
from workbench.runs.checkpoints import write_checkpoint, write_config
from workbench.runs.errors import RunError
from workbench.runs.lock import writer_lock
from workbench.runs.referenced import hashed_files, sha256_of_files, verify_folder
from workbench.runs.run import FORMAT, Run, run_id
from workbench.storage.bounded import is_folder
from workbench.tasks.base import Task
from workbench.tasks.presented.presentation import Presentation
from workbench.tasks.presented.presented_task import Presented
from workbench.tasks.presented.single_tokens import wording
from workbench.tasks.registry import present, stored_task

ONLY_STEP = 1
"""The step of a folder without a step in its name. It is not 0, which would mean weights before training."""


@dataclass(frozen=True)
class Opened:
    """An opened pretrained model, and the task and lengths on which to evaluate it.

    Attributes:
        folders: by step, each with ``config.json``, weights and tokenizer.
        task: the task, in symbols.
        presentation: how the task is written as a prompt.
        lengths: numbers of items at which the model is evaluated.
        window: positions that the model was trained on; None = as its config states.
    """

    folders: Mapping[int, Path]
    task: Task
    presentation: Presentation
    lengths: tuple[int, ...]
    window: int | None = None


def revisions(folder: Path, pattern: str | None) -> dict[int, Path]:
    """Return the folders with the revisions of one model, by training step: the last number in the folder's name.

    Args:
        folder: the folder of one model, or the folder that contains its revisions.
        pattern: which of the folders below are revisions, e.g. ``step*``; None = ``folder`` itself is the only one.

    Raises:
        RunError: for a missing folder, a name without a number, or a step twice.
    """
    if not is_folder(folder):
        raise RunError(f"{folder} is not a folder; give one that contains config.json and the weights of a model")
    if pattern is None:
        return {ONLY_STEP: folder}
    folders: dict[int, Path] = {}
    for path in sorted(path for path in folder.glob(pattern) if path.is_dir()):
        numbers = re.findall(r"[0-9]+", path.name)
        if not numbers:
            raise RunError(f"{path}: its name contains no step; name revisions like step1000 or checkpoint-500")
        step = int(numbers[-1])
        if step in folders:
            raise RunError(f"{folders[step]} and {path} are both of step {step}; choose one with --revisions")
        folders[step] = path
    if not folders:
        raise RunError(f"{folder} contains no folder that matches {pattern!r}")
    return dict(sorted(folders.items()))


def open_pretrained(opened: Opened, out: Path) -> Run:
    """Write a run that names the folders. Checks that need no weights come first.

    Raises:
        PretrainedError: for a folder without such a model, or a model that our attention does not reproduce.
        TaskError: for a task that cannot be written as such a prompt, or too few symbols.
        RunError: for revisions of different models, lengths that a table of positions cannot read, or another run in
            the folder.
    """
    configs = {step: read_pretrained_config(folder) for step, folder in opened.folders.items()}
    tokenizers = {step: open_tokenizer(folder) for step, folder in opened.folders.items()}
    first = min(opened.folders)
    task = prompted_task(opened, tokenizers[first], configs[first])
    for step, config in configs.items():
        if _shape(config) != _shape(configs[first]):
            raise RunError(
                f"{opened.folders[step]} and {opened.folders[first]} contain models of two sizes; open them as two runs"
            )
    table = configs[first].max_position_embeddings
    beyond = [n for n in opened.lengths if task.positions(n) > table]
    if beyond and not family_of(configs[first].model_type).turned:
        raise RunError(
            f"{beyond[0]} items take {task.positions(beyond[0]):,} tokens, but {opened.folders[first]} has only "
            f"{table:,} positions; give shorter --lengths"
        )
    files = {step: hashed_files(folder) for step, folder in opened.folders.items()}
    cfg = open_where_chosen(opened.folders[first]).cfg
    config = _config(opened, task, cfg.model_dump(mode="json"), files)
    with being_written(out, config) as run:
        for step, hashes in files.items():
            if step not in run.steps:
                write_checkpoint(run, step, None, None, sha256=sha256_of_files(hashes), files=hashes)
    return run


def prompted_task(opened: Opened, tokenizer: Any, config: Any) -> Presented:
    """The task in tokens of the model, written as a prompt.

    Raises:
        TaskError: if the task cannot be written as such a prompt.
        PretrainedError: for a tokenizer that cannot be used, or belongs to another model.
    """
    alphabet = getattr(opened.task, "alphabet", ())
    folder = opened.folders[min(opened.folders)]
    with one_sentence(f"the tokenizer of {folder} cannot be used"):
        words = wording(opened.presentation, tokenizer, max(1, len(alphabet)))
    largest = max(max(ids, default=0) for ids in words.model_dump(exclude={"names"}).values())
    if largest >= config.vocab_size:
        raise PretrainedError(
            f"the tokenizer of {folder} gives a token the id {largest:,}, but the model has {config.vocab_size:,} "
            "tokens; replace the one that belongs to another model"
        )
    prompted = present(opened.task, {
        "presentation": opened.presentation, "wording": words, "vocabulary_size": config.vocab_size,
        "window": opened.window or config.max_position_embeddings, "asked_lengths": opened.lengths,
    })  # fmt: skip
    assert isinstance(prompted, Presented)
    return prompted


def _shape(config: Any) -> Sequence[Any]:
    return [getattr(config, name) for name in ("model_type", "vocab_size", "num_hidden_layers", "hidden_size")]


def _config(opened: Opened, task: Presented, model: dict[str, Any], files: Mapping[int, Any]) -> dict[str, Any]:
    """The content of ``run.json``. The paths of the folders are not part of the run's id."""
    fitting = task.fitting
    parts: dict[str, Any] = {
        "task": stored_task(task),
        "model": model,
        "training": {
            "steps": max(opened.folders),
            "trained_length": fitting,
            "curriculum": {"low": 1, "high": fitting},
            "pretrained": {"window": task.window, "revisions": {str(step): hashes for step, hashes in files.items()}},
        },
        "seeds": {"evaluation": 0, "probe": 0},
    }
    inner = opened.task
    question = f"{inner.question.rstrip('?')}, asked in the prompt ({opened.presentation.title})?"
    return {
        "format": FORMAT,
        "id": run_id(parts),
        **parts,
        "folders": {str(step): str(folder.absolute()) for step, folder in opened.folders.items()},
        "facts": {"question": question, "kind": inner.kind, "summary": inner.summary},
        "versions": {name: version(name) for name in ("lengthlens", "torch", "transformers")},
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
    }


def relink(run: Run, folders: Mapping[int, Path]) -> Run:
    """Store the new paths of a run's folders. Their files must be the ones with which the run was opened.

    Raises:
        RunError: for a run with its own weights, a step without a folder, or a file that differs.
    """
    if not run.referenced:
        raise RunError(f"run {run.name} contains its own weights; leave out --relink")
    if missing := sorted({*run.steps} - {*folders}):
        raise RunError(f"run {run.name} has a checkpoint of step {missing[0]}, but no folder for it was given; add it")
    for step in run.steps:
        verify_folder(folders[step], run.meta(step), run.name)
    kept = {str(step): str(folders[step].absolute()) for step in run.steps}
    with writer_lock(run.path):
        held = {name: value for name, value in run.config.items() if name not in ("rows_only", "seal")}
        write_config(run.path, {**held, "folders": kept})
    return Run.open(run.path)
