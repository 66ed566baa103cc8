"""Resolves the name of a map: to a task of LengthLens, a key, and the claims about it."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from workbench.core.errors import quoted_value
from workbench.core.suggest import nearest
from workbench.tasks.base import Task
from workbench.tasks.registry import make_task, task_names
from workbench.theory.crasp.parser import parse
from workbench.theory.crasp.program import Program
from workbench.theory.crasp.syntax import CraspError
from workbench.theory.crasp.zoo import ZOO
from workbench.theory.errors import TheoryError
from workbench.theory.prediction.known_maps import ENTRIES, KnownMap, average, kgram, kgram_average

PARAMETER = {"tomita": "n", "bounded_dyck": "n", "alternating_blocks": "k", "mod_count": "m"}
"""Tasks whose key ends in a parameter, e.g. ``tomita_4``."""
ALIASES = {
    "bin_majority": "majority",
    "binary_majority": "majority",
    "bin_majority_interleave": "interleaved_majority",
    "unique_copy": "uf",
    "copy_unique": "uf",
    "repeat_copy": "nf",
    "copy_repeat": "nf",
    "simple_task": "simple_average",
    "mod_p": "mod_p_mean",
}
"""Names in the literature -> keys."""
HOUSE: Mapping[str, Callable[[Mapping[str, Any]], str]] = {
    "a_n_b_n": lambda given: {2: "anbn", 3: "anbncn", 4: "anbncndn"}.get(given["letters"], "a_n_b_n"),
    "boolean": lambda given: f"boolean_{given['n']}",
    "letter_majority": lambda given: "most_frequent",
    "shuffle_dyck": lambda given: f"shuffle_dyck_{given['k']}",
    "simple": lambda given: "simple_average",
}
"""Tasks that have other names in the literature and the zoo: their key from their parameters."""


def resolve(subject: str | Task, parameters: Mapping[str, Any]) -> tuple[str, Task | None]:
    """Return the key of a map, and its task if LengthLens has one.

    Args:
        subject: a task, or a name of LengthLens, of the literature or of the zoo of programs.
        parameters: the parameters of the task.

    Raises:
        TheoryError: for an unknown name, with the nearest ones.
        TaskError: for a parameter that the task does not have.
    """
    if isinstance(subject, Task):
        return key_of(subject), subject
    if ".py" in subject:
        task = make_task(subject, **parameters)
        return key_of(task), task
    name = re.sub(r"[\s-]+", "_", subject.strip()).lower()
    name = re.sub(r"^t(?:omita_?)?(\d{1,9})$", r"tomita_\1", name)
    name = re.sub(r"^d_?(\d{1,9})$", r"bounded_dyck_\1", name)
    name = ALIASES.get(name, name)
    base = base_of(name)
    fixed = {} if base == name else {PARAMETER[base]: int(name.removeprefix(f"{base}_"))}
    if base in task_names():
        task = make_task(base, **{**fixed, **parameters})
        return key_of(task), task
    if name in ENTRIES or name in ZOO or name == "simple_average":
        return name, None
    known = {*task_names(), *ENTRIES, *ZOO, *ALIASES, "tomita_4", "bounded_dyck_2"}
    raise TheoryError(f"nothing is known about {quoted_value(subject)}; {nearest(name, known)}")


def key_of(task: Task) -> str:
    """Return the key of a task: its name, with its parameter if that makes another map."""
    if task.name in HOUSE:
        return HOUSE[task.name](task.parameters)
    return f"{task.name}_{getattr(task, PARAMETER[task.name])}" if task.name in PARAMETER else task.name


def base_of(key: str) -> str:
    """Return the task's name in a key."""
    match = re.fullmatch(r"(.+?)_(\d{1,9})", key)
    return match[1] if match and match[1] in PARAMETER else key


def entry_of(key: str, task: Task | None) -> KnownMap | None:
    """Return the claims about a map that is not a regular language; None if there are none."""
    if key == "simple_average":
        return average(1)
    if task is not None and key == "mod_p_mean":
        return average(task.parameters["p"])
    if task is not None and key == "kgram_retrieval":
        return kgram(task.parameters["k"])
    if task is not None and key == "in_context_kgram":
        return kgram_average(task.parameters["k"])
    return ENTRIES.get(key)


@dataclass(frozen=True)
class Witness:
    """A program that computes a map.

    Attributes:
        name: its key in the zoo, or another name.
        program: the program.
        fragment: the smallest class known to contain the map.
    """

    name: str
    program: Program
    fragment: str


def program_of(key: str, task: Task | None) -> Witness | None:
    """Return the program for a map: the one its task states, else the zoo's, else None.

    Acceptors of the zoo stand only for tasks whose query is membership.

    Raises:
        TheoryError: for a task whose program is not readable or reads other symbols.
    """
    if task is not None and task.crasp_program is not None:
        return _stated_program(task, task.crasp_program)
    if getattr(task, "ask", "member") != "member" or key not in ZOO:
        return None
    case = ZOO[key]
    return Witness(case.name, case.program, case.fragment)


def _stated_program(task: Task, stated: str) -> Witness:
    if stated in ZOO:
        witness = Witness(stated, ZOO[stated].program, ZOO[stated].fragment)
    else:
        try:
            program = parse(stated)
        except CraspError as error:
            raise TheoryError(f"the C-RASP program that the task {task.name} states is not readable: {error}") from None
        witness = Witness(f"stated by the task {task.name}", program, program.fragment)
    symbols = task.tokens_names[1:] if task.bos else task.tokens_names
    if witness.program.alphabet != symbols:
        raise TheoryError(
            f"the C-RASP program that the task {task.name} states reads {' '.join(witness.program.alphabet)}; "
            f"give it the task's own tokens, {' '.join(symbols)}"
        )
    return witness
