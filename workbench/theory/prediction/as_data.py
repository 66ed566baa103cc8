"""Predictions for one task as plain data for a page: prediction, program, and the program traced on a string."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any

import numpy as np
import torch

from workbench.core.failures import isolate_errors
from workbench.core.names import WITHOUT_POSITIONS
from workbench.core.stored_model import component_name, component_settings
from workbench.models.positions.registry import NONE
from workbench.tasks.base import Task
from workbench.tasks.errors import UntrustedCode
from workbench.tasks.registry import task_of
from workbench.tasks.source_code import NOT_RUN
from workbench.theory.crasp.evaluator import trace
from workbench.theory.crasp.printer import expression_text
from workbench.theory.crasp.program import Program
from workbench.theory.crasp.zoo import ZOO
from workbench.theory.errors import TheoryError
from workbench.theory.prediction.predict import Positions, predict
from workbench.theory.prediction.task_names import key_of, program_of

TRACED = 16
"""Most symbols of the string that a program is traced on."""


def describe(
    task: str,
    parameters: Mapping[str, Any],
    positions: Mapping[str, Any] | str,
    ids: str = "arange",
    seed: int = 0,
    source: Mapping[str, str] | None = None,
    architecture: str = "transformer",
) -> dict[str, Any]:
    """Return the prediction for a run's task and positions, and a program for the task if one is known.

    Args:
        task: the task's name, as the run stores it; a name of a file runs nothing.
        parameters: the parameters of the task.
        positions: the encoding, by its name or with its settings, as a run's configuration stores it.
        ids: the id sampler of training.
        seed: draws the string that the program is traced on.
        source: the file of the task, if the run's configuration has one.
        architecture: ``transformer``, or a name of :data:`workbench.core.names.WITHOUT_POSITIONS`, which reads no
            positions.

    Returns:
        JSON: the plain fields of :class:`workbench.theory.prediction.predict.Prediction`, ``programs`` (see
        :func:`program_data`), and ``unknown``. If nothing is known of the task, ``unknown`` is a sentence and the
        other fields are missing.

    Raises:
        UntrustedCode: for a task of a file that nobody has trusted here.
        TaskError: for a task that does not exist.
    """
    subject = task_of({"name": task, "parameters": parameters, "source": source})
    model: Positions | str = architecture
    if architecture not in WITHOUT_POSITIONS:
        model = Positions(str(component_name(positions) or NONE), ids, component_settings(positions))
    try:
        prediction = predict(subject, model)
    except TheoryError as error:
        return {"unknown": str(error), "programs": []}
    plain = asdict(replace(prediction, languages=(), witness=None))
    del plain["languages"], plain["witness"]
    plain["model"] = prediction.model
    for row, result in zip(plain["reported"], prediction.reported, strict=True):
        row["where"] = result.where
    case = program_of(key_of(subject), subject)
    of_task = [case.program] if case is not None and architecture not in WITHOUT_POSITIONS else []
    programs = prediction.programs() or of_task
    return plain | {"unknown": "", "programs": [program_data(program, subject, seed) for program in programs]}


def describe_all(subjects: Sequence[Mapping[str, Any]]) -> list[dict[str, str]]:
    """Return the predictions for several tasks and positions, in brief.

    Args:
        subjects: the arguments of :func:`describe`, one mapping each.

    Returns:
        for each: ``verdict``, ``theorem`` and ``reason``. They are empty if nothing is known of the task, or this
        version does not have it. If its code was not run, only ``reason`` is given.
    """
    brief = []
    for arguments in subjects:
        described: dict[str, Any] = {}
        # This version may lack a task, its parameters or its positions: then nothing is known of them.
        with isolate_errors(lambda _: None, "a run's task"):
            try:
                described = describe(**arguments)
            except UntrustedCode:
                described = {"reason": NOT_RUN}
        brief.append({name: str(described.get(name, "")) for name in ("verdict", "theorem", "reason")})
    return brief


def program_data(program: Program, task: Task, seed: int = 0) -> dict[str, Any]:
    """Return a program's lines as text, and each line's value at every prefix of one string.

    Returns:
        JSON: ``alphabet``, ``outputs``, ``string`` (symbols), ``string_source`` (see :func:`traced_string`) and
        ``lines``. Each line has ``name``, ``text``, ``values`` (integers) and ``boolean``: whether the values 1 and 0
        mean true and false.
    """
    ids, source = traced_string(program, task, seed)
    values = trace(program, [ids])
    names: dict[Any, str] = {}
    lines = []
    for name, node in program.lines:
        text = expression_text(node, names)
        names.setdefault(node, name)
        line = values[name][0]
        lines.append({"name": name, "text": text, "values": line.astype(int).tolist(), "boolean": line.dtype == bool})
    string = [program.alphabet[i - 1] for i in ids]
    plain = {"alphabet": list(program.alphabet), "outputs": list(program.outputs), "lines": lines}
    return plain | {"string": string, "string_source": source}


def traced_string(program: Program, task: Task, seed: int) -> tuple[list[int], str]:
    """Return token ids of a string to trace a program on, and the origin of the string, in words.

    The string is drawn from the task's training distribution, at the largest length up to :data:`TRACED`. For a task
    with many symbols, the zoo writes the program over a few of them. The string then comes from the task with as many
    symbols. Without such a task the symbols are drawn uniformly, which the words report.
    """
    case = ZOO.get(key_of(task))
    small = None if case is None or case.task is None else {"name": case.task[0], "parameters": dict(case.task[1])}
    few = task if small is None else task_of(small)
    for source in (task, few):
        first = int(source.bos)
        length = next((n for n in range(TRACED, 0, -1) if source.admissible(n)), None)
        if source.tokens_names[first:] != program.alphabet or length is None:
            continue
        tokens = source.sample(1, length, torch.Generator().manual_seed(seed)).tokens[0, first:]
        settings = ", ".join(
            f"{name} = {value}" for name, value in source.parameters.items() if task.parameters.get(name) != value
        )
        return (tokens + 1 - first).tolist(), f"one string of the task{f' with {settings}' if settings else ''}"
    ids = np.random.default_rng(seed).integers(1, len(program.alphabet) + 1, TRACED)
    return ids.tolist(), "one random string, which is not of the task"
