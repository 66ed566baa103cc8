"""A C-RASP program as a run, to be measured and looked at like a trained one."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from workbench.cli.errors import UsageError
from workbench.cli.options import assignments
from workbench.core.errors import join_names, quoted_value
from workbench.core.suggest import nearest
from workbench.models import HookedTransformer
from workbench.runs import Run
from workbench.runs.adoption.store_foreign import Checkpoint, config_of, store
from workbench.storage.bounded import UnreadableError, read_bytes
from workbench.tasks import make_task, task_names
from workbench.tasks.base import BOS, Task, TaskError
from workbench.theory.compiler.pipeline import Compiled
from workbench.theory.compiler.pipeline import compile as compiled_of
from workbench.theory.crasp.parser import parse
from workbench.theory.crasp.program import Program
from workbench.theory.crasp.syntax import CraspError
from workbench.theory.crasp.zoo import ZOO

SUFFIX = ".crasp"
LARGEST_FILE = 1 << 16
"""Bytes of a program's file."""
LONGEST_TRAINED = 4096
"""Longest length that counts as trained: attention on strings of it takes a second."""
STEP = 1
"""Step of the compiled weights; at step 0 there is a random model of the same shape, for comparison."""


@dataclass(frozen=True)
class ProgramSource:
    """A program, and the task that it answers.

    Attributes:
        name: what its run is called by.
        program: the program.
        task: the task.
        text: of a program that is given as text, its text; "" for one known by its name.
    """

    name: str
    program: Program
    task: Task
    text: str = ""


def compiled_run(
    program: str | ProgramSource,
    lengths: tuple[int, int],
    up_to: int,
    first_keys: int | None = None,
    log_scaled: bool = False,
    out: Path | None = None,
) -> Run:
    """The run of a compiled program.

    Args:
        program: a program with its task, or the name of one of :data:`workbench.theory.crasp.zoo.ZOO` that has one.
        lengths: prefix lengths that count as training's: on these the model must be right.
        up_to: longest prefix for which the gain of its comparisons suffices.
        first_keys: hide all keys after this position.
        log_scaled: scale scores by log K.
        out: the run's folder; None = checkpoints/compiled/PROGRAM with the options.

    Raises:
        UsageError: for a program that is not known or has no task, and where the model cannot be right.
        CraspError: for a program that is too large.
    """
    source = known_source(program) if isinstance(program, str) else program
    high = lengths[1]
    if high > LONGEST_TRAINED:
        raise UsageError(
            f"--lengths of a compiled program takes lengths up to {LONGEST_TRAINED:,}, not {high:,}, because the "
            "program is checked at each of them; give shorter --lengths and a larger --up-to"
        )
    if up_to < high:
        raise UsageError(
            f"a program compiled for prefixes of up to {up_to} tokens cannot be correct at length {high}; give --up-to "
            f"{high} or more"
        )
    if first_keys is not None and first_keys < high:
        raise UsageError(
            f"a model that reads only the first {first_keys} keys cannot be correct at length {high}; give "
            f"--first-keys {high} or more"
        )
    made = compiled_of(source.program, up_to, first_keys=first_keys, log_scaled=log_scaled)
    _agree(made, source, lengths)
    cfg = made.model.cfg
    options = {"program": source.name, "up_to": up_to, "first_keys": first_keys, "log_scaled": log_scaled}
    if source.text:
        options["text"] = source.text
    config = config_of(
        source.task, cfg, lengths, {"compiled": options, "steps": STEP}, "on which the compiled weights are right"
    )
    checkpoints = [Checkpoint(0, lambda: HookedTransformer(cfg, seed=0)), Checkpoint(STEP, lambda: made.model)]
    reads = [[0, cfg.n_ctx - 1]]  # the weights are right at all of them, so that none is unseen
    return store(out or Path("checkpoints/compiled") / _name(options), config, checkpoints, reads)


def known_source(program: str, task: str | None = None) -> ProgramSource:
    """The program of that name, with its task.

    Raises:
        UsageError: for a program that is not known or has no task, and for another task.
    """
    with_task = [name for name, case in ZOO.items() if case.task]
    if program not in with_task:
        if program in ZOO:
            raise UsageError(f"{program} has no task on which it can be measured; choose one of {', '.join(with_task)}")
        if program in task_names():
            raise UsageError(
                f"there is no program {quoted_value(program)}; "
                f"choose one of {', '.join(with_task)}, or a file that ends "
                f"in {SUFFIX}. {_theory(program)}"
            )
        raise UsageError(
            f"there is no program {quoted_value(program)}; {nearest(program, with_task)}; a file ends in {SUFFIX}"
        )
    if task is not None:
        raise UsageError(f"the program {program} has its own task, so --task works only with a file; leave --task out")
    case = ZOO[program]
    assert case.task is not None
    name, parameters = case.task
    return ProgramSource(program, case.program, make_task(name, **parameters))


def _theory(task: str) -> str:
    """Why no program for a task is known, where theory says so."""
    from workbench.theory.prediction.predict import one_line

    return f"Theory on {task}, without positions: {one_line(task).rstrip('.')}."


def file_source(file: Path, task: str | None, settings: Sequence[str] = ()) -> ProgramSource:
    """The program that a file spells (:mod:`workbench.theory.crasp.parser`), with the task that it is to answer.

    Args:
        file: the text.
        task: the task's name, or ``file.py:MyTask``, whose code is trusted thereby.
        settings: its parameters, as ``task.PARAMETER=VALUE``.

    Raises:
        UsageError: for a file that cannot be read, a program that is wrong (with line and column), no task, or one of
            other tokens or answers.
    """
    try:
        str(file).encode()
        text = read_bytes(file, LARGEST_FILE).decode()
        program = parse(text)
    except UnreadableError as error:
        raise UsageError(f"{file} is not a program file: {error}") from None
    except UnicodeEncodeError:
        raise UsageError(
            f"the name of {file} is not UTF-8 text; rename the file, as its run has the same name"
        ) from None
    except UnicodeDecodeError as error:
        raise UsageError(f"{file} is not UTF-8 text (byte {error.start}); save it as UTF-8") from None
    except CraspError as error:
        raise UsageError(f"{file}, {error}") from None
    if task is None:
        raise UsageError(f"name the task that {file} solves, e.g. --task majority; {_alike(program)}")
    made = make_task(task, **_parameters(settings))
    symbols = made.tokens_names[1:] if made.bos else ()
    if symbols != program.alphabet:
        raise UsageError(
            f"{file} is a program over {join_names(program.alphabet)}, but the tokens of {made.name} are "
            f"{join_names(made.tokens_names)}: write them as its alphabet, in this order, without {BOS}"
        )
    answers = max(2, len(program.outputs))
    if made.real or made.d_vocab_out != answers:
        held = "are numbers" if made.real else f"are {' and '.join(made.output_names or ())}"
        raise UsageError(
            f"{file} has {len(program.outputs)} output{'s' if len(program.outputs) > 1 else ''}, but the answers of "
            f"{made.name} {held}. Give one output for the answers no and yes. For other answers, give one output each, "
            "in this order"
        )
    return ProgramSource(file.stem, program, made, str(program))


def _parameters(settings: Sequence[str]) -> dict[str, Any]:
    found = {}
    for path, value in assignments(settings):
        if len(path) != 2 or path[0] != "task":
            raise UsageError(f"--set takes only task.PARAMETER for a compiled program, not {'.'.join(path)}")
        found[path[1]] = value
    return found


def _alike(program: Program) -> str:
    """The tasks whose tokens are those of a program."""
    alike = []
    for name in task_names():
        with suppress(TaskError, ValueError):  # of a task that needs a parameter
            task = make_task(name)
            if task.tokens_names[1:] == program.alphabet and not task.real:
                alike.append(name)
    return f"those over {join_names(program.alphabet)} are {', '.join(alike) or 'none'}"


def _agree(made: Compiled, source: ProgramSource, lengths: tuple[int, int]) -> None:
    """Refuse weights that do not answer the task on its own lengths: tokens or answers would be in another order."""
    task = source.task
    for length in task.lengths(*lengths):
        batch = task.sample(32, length, torch.Generator().manual_seed(0), "matched")
        with torch.no_grad():
            answers = made.model(batch.tokens)
            right = task.correct(answers, batch) | ~batch.mask
        if not bool(right.all()):
            row, place = (~right).nonzero()[0].tolist()
            string = join_names(task.tokens_names[token] for token in batch.tokens[row, int(task.bos) : place + 1])
            names = task.output_names or ()
            wanted, given = names[int(batch.targets[row, place])], names[int(answers[row, place].argmax())]
            raise UsageError(
                f"the compiled {source.name} does not solve {task.name}: after {string} the answer is {wanted}, not "
                f"{given}; correct the program, or name another task with --task"
            )


def _name(options: dict[str, Any]) -> str:
    name = f"{options['program']}_{options['up_to']}"
    if options["first_keys"] is not None:
        name += f"_first_{options['first_keys']}"
    return name + ("_log" if options["log_scaled"] else "")
