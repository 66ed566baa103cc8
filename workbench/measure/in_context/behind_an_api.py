"""Models behind an API: prompts of a presentation as lines of JSON, and their answers taken in as a run's rows."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from workbench.core.canonical import canonical
from workbench.core.seeds import seed_of
from workbench.measure.grid import make_grid
from workbench.measure.in_context.in_context import InContext, in_context_rows
from workbench.measure.running.engine import want, write_rows
from workbench.runs.adoption.being_written import being_written
from workbench.runs.checkpoints import sha256, write_checkpoint
from workbench.runs.errors import RunError
from workbench.runs.run import FORMAT, Run, run_id
from workbench.storage.bounded import read_bytes
from workbench.table.shards import compact
from workbench.tasks.base import Task
from workbench.tasks.presented.presentation import Presentation
from workbench.tasks.presented.presented_task import Presented
from workbench.tasks.presented.single_tokens import Wording
from workbench.tasks.random_generator import generator
from workbench.tasks.registry import present, stored, task_of

ONSETS, VOWELS = "bdfgklmnprstvz", "aeiou"
LARGEST = 256 << 20
"""Bytes of a file of answers."""
STEP = 1


def spoken_words(count: int) -> tuple[str, ...]:
    """Made-up words of four letters, all different: no tokenizer is known, so they may be of several tokens each."""
    every = [a + b + c + d for c in ONSETS for d in VOWELS for a in ONSETS for b in VOWELS if (a, b) != (c, d)]
    return tuple(every[:count])


def spoken(inner: Task, told: Presentation, lengths: tuple[int, ...], window: int) -> Presented:
    """A task in words, for a model whose tokens nobody knows: a word counts as one.

    Args:
        inner: the task.
        told: how it is put.
        lengths: items at which it is asked.
        window: the model's, in words.

    Raises:
        TaskError: if it cannot be told so.
    """
    count = len(getattr(inner, "alphabet", ()))
    texts = {"answer" if part == "answer mark" else part: text for part, text in told.texts.items()}
    # A part of the words is one token, whatever it says: its text stands behind the symbols.
    parts = {name: (count + at,) for at, (name, text) in enumerate(texts.items()) if text}
    words = Wording(symbols=tuple(range(count)), names=spoken_words(count), **parts)
    found = present(inner, {
        "presentation": told, "wording": words, "vocabulary_size": count + len(texts), "window": window,
        "asked_lengths": lengths,
    })  # fmt: skip
    assert isinstance(found, Presented)
    return found


def prompts(task: Presented, strings: int, seed: int = 0) -> Iterator[dict[str, Any]]:
    """A prompt for each answer that is asked last, with the answer: ``id``, ``n``, ``prompt`` and ``answer``.

    A sequence is asked for its last item, behind the right ones before it.

    Args:
        task: see :func:`spoken`.
        strings: of each length.
        seed: of the strings.
    """
    told = task.presentation
    words = {task.wording.part(name)[0]: text for name, text in told.texts.items() if text}
    names = task.wording.names
    for n in task.asked_lengths:
        batch = task.sample(strings, n, generator("prompts", seed, n), "matched")
        asked = int(batch.mask.any(0).nonzero()[-1])
        for i, row in enumerate(batch.tokens.tolist()):
            text = ""
            for token in row[: asked + 1]:
                space = " " if text and not text.endswith("\n") else ""
                text += words.get(token) or f"{space}{names[token]}"
            answer = names[int(batch.targets[i, asked])]
            yield {"id": f"{n}-{i}", "n": n, "prompt": text, "answer": answer}


def heading(task: Presented, strings: int, seed: int) -> dict[str, Any]:
    """The first line of a file of prompts: all that makes them."""
    return {"lengthlens": "prompts", "task": stored(task), "strings": strings, "seed": seed}


def read_lines(path: Path) -> list[dict[str, Any]]:
    """The objects of a file, a line each.

    Raises:
        RunError: for a file that cannot be read, or a line that is no JSON object, naming it.
    """
    try:
        text = read_bytes(path, LARGEST).decode()
    except (OSError, UnicodeDecodeError) as error:
        raise RunError(f"{path} cannot be read: {error}") from None
    found = []
    for number, line in enumerate(text.splitlines(), start=1):
        try:
            one = json.loads(line)
        except (ValueError, RecursionError):
            one = None
        if not isinstance(one, dict):
            raise RunError(f"{path}, line {number}: it is no JSON object")
        found.append(one)
    return found


def judged(asked: Path, answered: Path) -> tuple[Presented, dict[int, list[float]], bytes]:
    """The task, by length 1 for each right answer and 0 for each wrong one, and what was answered.

    An answer is right if its first word is the wanted one, whatever its case and what stands around it.

    Raises:
        RunError: for files that are none of prompts and of answers to them, or a prompt without an answer.
    """
    first, *_ = read_lines(asked) or [{}]
    if first.get("lengthlens") != "prompts" or not isinstance(first.get("task"), Mapping):
        raise RunError(f"{asked} is no file of prompts; lengthlens prompts writes one")
    task = task_of(first["task"])
    strings, seed = first.get("strings"), first.get("seed")
    if not (isinstance(task, Presented) and isinstance(strings, int) and isinstance(seed, int) and strings > 0):
        raise RunError(f"{asked} does not say in its first line what was asked")
    given: dict[str, str] = {}
    for number, line in enumerate(read_lines(answered), start=1):
        name, text = line.get("id"), line.get("answer")
        if not isinstance(name, str) or not isinstance(text, str):
            raise RunError(f'{answered}, line {number}: an answer is an object like {{"id": "8-0", "answer": "word"}}')
        if given.setdefault(name, text) != text:
            raise RunError(f"{answered}, line {number}: {name} is answered twice")
    right: dict[int, list[float]] = {}
    for one in prompts(task, strings, seed):  # drawn anew: what a file says is right is not believed
        if one["id"] not in given:
            count = strings * len(task.asked_lengths)
            raise RunError(f"{answered} holds no answer to {one['id']}, of {count:,} prompts")
        right.setdefault(one["n"], []).append(float(_first_word(given[one["id"]]) == one["answer"]))
    return task, right, canonical(given).encode()


def _first_word(text: str) -> str:
    words = text.split()
    return words[0].strip(".,;:!?\"'`*()[]").lower() if words else ""


class AnswersStudy:
    """What rows of answers are made with: the task, and the streams of random numbers."""

    def __init__(self, task: Presented) -> None:
        self.task = task

    def reads_unseen(self, length: int) -> bool:
        """Whether a question of so many items reaches beyond the window."""
        return self.task.beyond_window(length)

    def rng(self, *parts: object) -> np.random.Generator:
        """As that of a study with the probe seed 0."""
        return np.random.default_rng(seed_of("probe", 0, *parts))


def take_in(asked: Path, answered: Path, model: str, out: Path) -> Run:
    """A run of what a model behind an API answered, with its rows and verdict.

    Args:
        asked: the prompts, as :func:`prompts` gave them.
        answered: a line each with ``id`` and ``answer``.
        model: what the model is called.
        out: the run's folder.

    Raises:
        RunError: for files that are not these, an answer that is missing, or another run there.
    """
    task, right, answers = judged(asked, answered)
    run = answered_run(task, answers, model, out)
    measurement = InContext()
    shares = {n: {"answer_accuracy": np.array(values)} for n, values in right.items()}
    study: Any = AnswersStudy(task)
    rows = in_context_rows(study, shares)
    strings = len(next(iter(right.values())))
    grid = make_grid(task, run.trained_length)
    wanted = want(measurement, run, STEP, grid, {measurement.name: strings})
    write_rows(run, STEP, wanted, measurement.spec, rows, 0, 0.0)
    if problems := compact(run.path):
        raise RunError(problems[0])
    return run


def answered_run(task: Presented, answers: bytes, model: str, out: Path) -> Run:
    """A run without weights, of what a model behind an API answered.

    Raises:
        RunError: if another run is there.
    """
    parts: dict[str, Any] = {
        "task": stored(task),
        "model": {"architecture": "behind an API", "n_layers": 1, "n_heads": 0, "positions": "unknown"},
        "training": {
            "steps": STEP, "trained_length": task.fitting, "curriculum": {"low": 1, "high": task.fitting},
            "answers": {"model": model, "sha256": sha256(answers)},
        },
        "seeds": {"evaluation": 0, "probe": 0},
    }  # fmt: skip
    question = f"{task.inner.question.rstrip('?')}, asked of {model} in the prompt ({task.presentation.title})?"
    config = {
        "format": FORMAT, "id": run_id(parts), **parts,
        "facts": {"question": question, "kind": task.inner.kind, "summary": task.inner.summary},
        "versions": {name: version(name) for name in ("lengthlens", "torch")},
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
    }  # fmt: skip
    with being_written(out, config) as run:
        if STEP not in run.steps:
            write_checkpoint(run, STEP, None, None, sha256=sha256(answers))
    return run
