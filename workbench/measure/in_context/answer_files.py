"""Answers of a model from a file: lines of our own, a log of Inspect, or samples of lm-eval."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from workbench.core.errors import quoted_value
from workbench.runs.errors import RunError
from workbench.storage.bounded import open_regular

LARGEST = 256 << 20
"""Maximum size in bytes of a file of prompts or answers."""
ATTACHMENT = "attachment://"
"""Inspect replaces a long text by this and the key of the text in ``attachments``."""


def read_lines(path: Path) -> Iterator[dict[str, Any]]:
    """Yield the JSON objects of a file, one per line.

    Raises:
        RunError: for a file that cannot be read, or a line that is not a JSON object; the message names the line.
    """
    try:
        with open_regular(path, LARGEST) as file:
            for number, line in enumerate(file, start=1):
                content = _json_object(line)
                if content is None:
                    raise RunError(f"{path}, line {number}: it is not a JSON object")
                yield content
    except OSError as error:
        raise RunError(f"{path} cannot be read: {error.strerror or error}") from None


def read_answers(path: Path) -> Iterator[tuple[str, str, str]]:
    """Yield each answer of a file: the line or sample that contains it, the id of its prompt, and its text.

    The file contains one of:

    - lines ``{"id": "8-0", "answer": "word"}``;
    - a log of Inspect in its format ``json``, whose samples have the ids of the prompts;
    - lines of lm-eval (``--log_samples``), whose documents have the ids of the prompts.

    Raises:
        RunError: for any other file; the message names the line or the sample.
    """
    if path.suffix == ".eval":
        raise RunError(f"{path} is an archive; write it as JSON: inspect log convert --to json --output-dir DIR {path}")
    log = _inspect_log(path) if path.suffix == ".json" else None
    if log is not None:
        yield from _inspect_answers(path, log)
        return
    for number, line in enumerate(read_lines(path), start=1):
        name, text = _lm_eval_answer(line) if "doc" in line else (line.get("id"), line.get("answer"))
        if not isinstance(name, str) or not isinstance(text, str):
            raise RunError(
                f'{path}, line {number}: an answer is an object like {{"id": "8-0", "answer": "word"}}, or a line of '
                "lm-eval (--log_samples) whose doc contains the id of the prompt"
            )
        yield f"line {number}", name, text


def _json_object(text: bytes | str) -> dict[str, Any] | None:
    try:
        content = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return content if isinstance(content, dict) else None


def _inspect_log(path: Path) -> dict[str, Any] | None:
    """The content of a log of Inspect; None for a file of another kind."""
    try:
        with open_regular(path, LARGEST) as file:
            content = _json_object(file.read())
    except OSError as error:
        raise RunError(f"{path} cannot be read: {error.strerror or error}") from None
    return content if content is not None and "eval" in content else None


def _inspect_answers(path: Path, log: Mapping[str, Any]) -> Iterator[tuple[str, str, str]]:
    samples = log.get("samples")
    if not isinstance(samples, list) or not samples:
        raise RunError(
            f"{path} is a log of Inspect without samples; run it with log_samples=True and log_format='json'"
        )
    for number, sample in enumerate(samples, start=1):
        place = f"sample {number}"
        fields = sample if isinstance(sample, dict) else {}
        name, output = fields.get("id"), fields.get("output")
        if fields.get("error"):
            raise RunError(
                f"{path}, {place}: prompt {quoted_value(name)} ended with an error; run inspect eval-retry {path}"
            )
        text = output.get("completion") if isinstance(output, dict) else None
        if isinstance(text, str) and text.startswith(ATTACHMENT):
            attachments = fields.get("attachments")
            known = attachments if isinstance(attachments, dict) else {}
            text = known.get(text.removeprefix(ATTACHMENT))
        if not isinstance(name, str) or not isinstance(text, str):
            raise RunError(
                f"{path}, {place}: it needs an id of a prompt, like '8-0', and output.completion; give each Sample of "
                "the task the id of its prompt"
            )
        yield place, name, text


def _lm_eval_answer(line: Mapping[str, Any]) -> tuple[Any, Any]:
    """The id of the prompt and the first answer to it, after the filters of the task."""
    document, answers = line["doc"], line.get("filtered_resps")
    answer = answers[0] if isinstance(answers, list) and answers else None
    return document.get("id") if isinstance(document, dict) else None, answer
