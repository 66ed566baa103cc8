"""Models behind an API: prompts as JSON lines, and the model's answers as rows of a run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from workbench.core.canonical import canonical
from workbench.core.errors import LensError, quoted_value
from workbench.core.failures import clause, log_failure
from workbench.core.seeds import seed_of
from workbench.measure.grid import make_grid
from workbench.measure.in_context.answer_files import LARGEST, read_answers, read_lines
from workbench.measure.in_context.measurement import InContext, in_context_rows
from workbench.measure.running.engine import measurement_job, write_rows
from workbench.runs.adoption.being_written import being_written
from workbench.runs.checkpoints import sha256, write_checkpoint
from workbench.runs.errors import RunError
from workbench.runs.run import FORMAT, Run, run_id
from workbench.table.shards import compact
from workbench.tasks.base import Task
from workbench.tasks.presented.presentation import Presentation
from workbench.tasks.presented.presented_task import Presented
from workbench.tasks.presented.single_tokens import Wording
from workbench.tasks.random_generator import generator
from workbench.tasks.registry import find_task, present, stored_task, task_of

ONSETS, VOWELS = "bdfgklmnprstvz", "aeiou"
MOST_PROMPTS = 200_000
"""Maximum number of prompts in one file."""
LARGEST_WINDOW = 10_000_000
"""Maximum window in words. A run's lengths may not be larger."""
MOST_SHOTS = 100
STEP = 1


def spoken_words(count: int | None) -> tuple[str, ...]:
    """Return made-up words of four letters, all different. A word may be several tokens, as the tokenizer is unknown.

    Args:
        count: number of words; None = all.
    """
    every = [a + b + c + d for c in ONSETS for d in VOWELS for a in ONSETS for b in VOWELS if (a, b) != (c, d)]
    return tuple(every[:count])


def task_in_words(inner: Task, told: Presentation, lengths: tuple[int, ...], window: int) -> Presented:
    """Return a task in words, for a model with an unknown tokenizer: each word counts as one token.

    Args:
        inner: the task.
        told: the presentation of the task.
        lengths: numbers of items at which the model is evaluated.
        window: the model's window, in words.

    Raises:
        TaskError: if the task cannot be presented in words.
    """
    count = len(getattr(inner, "alphabet", ()))
    texts = {"answer" if part == "answer mark" else part: text for part, text in told.texts.items()}
    # Each part of the presentation is one token, whatever its text; its id follows those of the symbols.
    parts = {name: (count + at,) for at, (name, text) in enumerate(texts.items()) if text}
    words = Wording(symbols=tuple(range(count)), names=spoken_words(count), **parts)
    task = present(inner, {
        "presentation": told, "wording": words, "vocabulary_size": count + len(texts), "window": window,
        "asked_lengths": lengths,
    })  # fmt: skip
    assert isinstance(task, Presented)
    return task


def prompts(task: Presented, strings: int, seed: int = 0) -> Iterator[dict[str, Any]]:
    """Yield one prompt per sequence: ``id``, ``n``, ``prompt`` and the right ``answer``.

    A prompt ends with the query of the sequence's last item, after the right answers to earlier items.

    Args:
        task: see :func:`task_in_words`.
        strings: number of sequences per length.
        seed: seed of the sequences.
    """
    presentation = task.presentation
    words = {task.wording.part(name)[0]: text for name, text in presentation.texts.items() if text}
    names = task.wording.names
    for n in task.asked_lengths:
        batch = task.sample(strings, n, generator("prompts", seed, n), "matched")
        last_query = int(batch.mask.any(0).nonzero()[-1])
        for i, row in enumerate(batch.tokens.tolist()):
            text = ""
            for token in row[: last_query + 1]:
                space = " " if text and not text.endswith("\n") else ""
                text += words.get(token) or f"{space}{names[token]}"
            answer = names[int(batch.targets[i, last_query])]
            yield {"id": f"{n}-{i}", "n": n, "prompt": text, "answer": answer}


def heading(task: Presented, strings: int, seed: int) -> dict[str, Any]:
    """Return the first line of a file of prompts, which determines all other lines."""
    return {"lengthlens": "prompts", "task": stored_task(task), "strings": strings, "seed": seed}


def read_prompts(path: Path) -> tuple[Presented, int, int]:
    """Return the task of a file of prompts, the number of prompts per length, and the seed of the sequences.

    The first line states how the prompts are drawn. It is compared with the prompts before anything is drawn. Refused
    are a task that differs from the one that :func:`task_in_words` makes, and a statement of more or longer prompts
    than the file contains.

    Raises:
        RunError: for any other file.
        LensError: for an unknown task, or one whose code is not trusted.
    """
    lines = read_lines(path)
    first = next(lines, {})
    spec = first.get("task")
    if first.get("lengthlens") != "prompts" or not isinstance(spec, Mapping):
        raise RunError(f"{path} is not a file of prompts; write one with `lengthlens prompts`")
    strings: Any = first.get("strings")
    seed: Any = first.get("seed")
    if not (_whole(strings, 2, MOST_PROMPTS) and _whole(seed, 0, 2**63 - 1)):
        raise RunError(f"{path} needs whole numbers 'strings' and 'seed' in its first line; restore that line")
    try:
        _compare_prompts(path, lines, spec, strings)
        _refuse_large(path, spec)
        task: Any = task_of(spec)  # otherwise refused before
        expected = task_in_words(task.inner, task.presentation, task.asked_lengths, task.window)
    except LensError:
        raise
    except Exception as error:  # a field of a wrong type, anywhere in the description of a task
        log_failure(error, f"reading {path}", foreign=True)
        raise RunError(f"{path} describes no task in its first line: {clause(error)}") from error
    if canonical(stored_task(task)) != canonical(stored_task(expected)):
        raise RunError(
            f"{path} contains a task in its first line that lengthlens prompts does not write; write the prompts again"
        )
    return task, strings, seed


def _whole(value: Any, least: int, most: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and least <= value <= most


def _compare_prompts(path: Path, lines: Iterator[dict[str, Any]], spec: Mapping[str, Any], strings: int) -> None:
    """Refuse prompts that differ in number from the first line, have other ids, or are too short for their items."""
    told = spec["presented"]["presentation"]
    lengths, shots, shot_items = spec["presented"]["asked_lengths"], told["shots"], told["shot_items"]
    for name, value, least, most in (("shots", shots, 0, MOST_SHOTS), ("shot_items", shot_items, 0, LARGEST)):
        if not _whole(value, least, most):
            raise RunError(
                f"{path} has {name} = {quoted_value(value)} in its first line; it takes {least:,} to {most:,}"
            )
    if not lengths or not all(_whole(n, 1, LARGEST) for n in lengths) or lengths != sorted({*lengths}):
        raise RunError(f"{path} has asked_lengths = {quoted_value(lengths)} in its first line; they must ascend from 1")
    refuse_many(strings, lengths)
    number = 1
    for n in lengths:
        for i in range(strings):
            line, number = next(lines, {}), number + 1
            prompt: Any = line.get("prompt")
            # Each item is a word, so that a prompt has more characters than items.
            if line.get("id") != f"{n}-{i}" or len(prompt) < n + shots * (shot_items or n):
                raise RunError(f"{path}, line {number}: it is not the prompt {n}-{i} of the first line")
    if next(lines, None) is not None:
        raise RunError(f"{path} contains more prompts than the {strings * len(lengths):,} of its first line")


def refuse_many(strings: int, lengths: Sequence[int]) -> None:
    """Refuse more prompts than one file may contain.

    Raises:
        RunError: naming both numbers.
    """
    if (count := strings * len(lengths)) > MOST_PROMPTS:
        raise RunError(
            f"{strings:,} prompts of {len(lengths):,} lengths are {count:,} prompts in total, but a file takes at most "
            f"{MOST_PROMPTS:,}; choose fewer prompts or lengths"
        )


def _refuse_large(path: Path, spec: Mapping[str, Any]) -> None:
    """Refuse a task with more symbols than there are words, or with too large a window."""
    if "source" not in spec and not hasattr(find_task(spec["name"]), "alphabet"):
        raise RunError(f"{path} names the task {quoted_value(spec['name'])}, which has no wording for prompts")
    symbols, window = spec["parameters"].get("symbols", 1), spec["presented"]["window"]
    for name, value, most in (("symbols", symbols, len(spoken_words(None))), ("window", window, LARGEST_WINDOW)):
        if not _whole(value, 1, most):
            raise RunError(
                f"{path} has {name} = {quoted_value(value)} in its first line; the value must be from 1 to {most:,}"
            )


def score_answers(asked: Path, answered: Path) -> tuple[Presented, dict[int, list[float]], bytes]:
    """Return the task, the scores of answers by length (1 = right, 0 = wrong), and the answers as canonical JSON.

    An answer is right if its first word is the right one, ignoring case and surrounding punctuation.

    Raises:
        RunError: for files that do not contain prompts and their answers, or a prompt without an answer.
    """
    task, strings, seed = read_prompts(asked)
    ids = dict.fromkeys(f"{n}-{i}" for n in task.asked_lengths for i in range(strings))
    answers: dict[str, str] = {}
    for place, name, text in read_answers(answered):
        if name not in ids:
            raise RunError(f"{answered}, {place}: {asked} has no prompt {quoted_value(name)}")
        if answers.setdefault(name, text) != text:
            raise RunError(f"{answered}, {place}: {name} is answered twice, with different texts; keep one")
    if missing := next((name for name in ids if name not in answers), ""):
        raise RunError(
            f"{answered} has no answer to prompt {missing} of {asked}, which has {len(ids):,}; add the answer"
        )
    right: dict[int, list[float]] = {}
    for prompt in prompts(task, strings, seed):  # drawn again: right answers in a file are not trusted
        right.setdefault(prompt["n"], []).append(float(_first_word(answers[prompt["id"]]) == prompt["answer"]))
    return task, right, canonical(answers).encode()


def _first_word(text: str) -> str:
    words = text.split()
    return words[0].strip(".,;:!?\"'`*()[]").lower() if words else ""


class AnswersStudy:
    """The parts of a study that rows of answers need: the task, and random streams."""

    def __init__(self, task: Presented) -> None:
        self.task = task

    def reads_unseen(self, length: int) -> bool:
        """Return whether a question with this many items exceeds the window."""
        return self.task.beyond_window(length)

    def rng(self, *parts: object) -> np.random.Generator:
        """Return the random stream of a study whose probe seed is 0."""
        return np.random.default_rng(seed_of("probe", 0, *parts))


def take_in(asked: Path, answered: Path, model: str, out: Path) -> Run:
    """Write a run with the answers of a model behind an API, its rows and its verdict.

    Args:
        asked: file of prompts, as :func:`prompts` makes them.
        answered: file of answers, see :mod:`workbench.measure.in_context.answer_files`.
        model: name of the model.
        out: folder of the run.

    Raises:
        RunError: for other files, a missing answer, or an existing run in the folder.
    """
    task, right, answers = score_answers(asked, answered)
    run = answered_run(task, answers, model, out)
    measurement = InContext()
    shares = {n: {"answer_accuracy": np.array(values)} for n, values in right.items()}
    study: Any = AnswersStudy(task)
    rows = in_context_rows(study, shares)
    strings = len(next(iter(right.values())))
    grid = make_grid(task, run.trained_length)
    job = measurement_job(measurement, run, STEP, grid, strings)
    write_rows(run, STEP, job, measurement.spec, rows, 0, 0.0)
    if problems := compact(run.path):
        raise RunError(problems[0])
    return run


def answered_run(task: Presented, answers: bytes, model: str, out: Path) -> Run:
    """Write a run without weights for the answers of a model behind an API.

    Raises:
        RunError: if the folder contains another run.
    """
    parts: dict[str, Any] = {
        "task": stored_task(task),
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
