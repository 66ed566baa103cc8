"""All that a task states and draws, as few values that are held; and its parameters one by one off their defaults."""

from __future__ import annotations

import itertools
import json
import zlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal, get_args, get_origin

import torch

from tests.support.held import digest
from workbench.core.errors import LensError
from workbench.tasks.base import Batch, Task, TaskError
from workbench.tasks.random_generator import generator
from workbench.tasks.registry import find_task, make_task

LAWS = ("training", "matched", "challenge")
ROWS = 5
LISTED = 24
"""Lengths up to which it is held whether strings of them exist."""
NEXT, STATE, REPLACED = {"ask": "next"}, {"ask": "state"}, {"misses": "replaced"}
ONE_BY_ONE: Mapping[str, Sequence[Mapping[str, Any]]] = {
    "tomita": (NEXT, {**NEXT, "n": 7}),
    "bounded_dyck": (NEXT, STATE, REPLACED),
    "abab_star": (NEXT, REPLACED),
    "alternating_blocks": (NEXT,),
    "aa_star_b_star": (NEXT, STATE),
    "mod_count": ({"increments": (0, 1, 2, 4), "m": 5}, {"increments": (3, 1), "m": 4}),
    "regular": (
        {"regex": "(ab|c)*a?", "ask": "next"},
        {"regex": "a*b", "alphabet": "abc", "ask": "state"},
        {"dfa": {"start": "p", "accepting": ["q"], "transitions": {"p": {"x": "q"}, "q": {"x": "p", "y": "q"}}}},
    ),
    "mixture": (
        {"components": ("ur", "ul", "nl_last"), "weights": (1.0, 2.0, 0.5)},
        {"components": ("ur", "ul"), "weights": (0.25, 0.75), "only": 2},
    ),
    "planted": ({"k": 2, "span": 4, "gap": 3, "fillers": 3}, {"modulus": 3, "k": 4, "span": 12}),
    "sparse_parity": ({"k": 2, "least": 4, "values": 12}, {"k": 3, "k_at": 12}),
    "kgram_retrieval": ({"k": 2, "symbols": 4},),
    "needle": (
        {"distractors": 4, "keys": 4},
        {"distractors": 3, "keys": 4},
        {"distractors": 0},
        {"distractors": 1, "keys": 2, "values": 3, "fillers": 2},
    ),
    "copied_text": ({"copied": 1.0, "backward": 0.5, "near": 1.0, "symbols": 5},),
}
"""Values that no bound of a field suggests, and pairs that go together."""


def variants(name: str, **always: Any) -> Iterator[tuple[str, dict[str, Any]]]:
    """A task's parameters: none given, each of its own off its default (other choices, its least, one more), the
    last of these and of inherited ones all together, and :data:`ONE_BY_ONE`; with what to call them."""
    yield "default", dict(always)
    together, own = dict[str, Any](), vars(find_task(name)).get("__annotations__", ())
    for field, info in find_task(name).model_fields.items():
        if field in always:
            continue
        for value in _others(info):
            together[field] = value
            if field in own:
                yield f"{field}={value}", {**always, field: value}
    if len(together) > 1 or {*together} - {*own}:
        yield "together", {**always, **together}
    for parameters in ONE_BY_ONE.get(name, ()):
        yield json.dumps(parameters), {**always, **parameters}


def _others(info: Any) -> list[Any]:
    """Values of a field that its kind and its bounds suggest, without its default."""
    if get_origin(info.annotation) is Literal:
        return [one for one in get_args(info.annotation) if one != info.default]
    if info.annotation is bool:
        return [not info.default]
    bounds = {key: getattr(rule, key) for rule in info.metadata for key in ("ge", "gt", "le") if hasattr(rule, key)}
    if info.annotation is int:
        found = [bounds.get("ge", 0), min(bounds.get("le", info.default + 1), info.default + 1)]
    elif info.annotation is float:
        low = bounds.get("ge", bounds.get("gt", 0.0))
        found = [*([low] if "ge" in bounds else []), (low + info.default) / 2 or 0.5]
    else:
        found = []
    return [one for one in dict.fromkeys(found) if one != info.default]


def code(values: Any) -> int:
    """What stands for whole numbers, truth values and text: no one of them can change without it."""
    if isinstance(values, torch.Tensor):
        values = [list(values.shape), values.long().tolist()]
    return zlib.crc32(json.dumps(values, default=_plain, sort_keys=True).encode())


def _plain(value: Any) -> Any:
    return sorted(value) if isinstance(value, frozenset) else dict(value)


class Facts:
    """Gathers whole numbers and real ones, which are held in two ways."""

    def __init__(self) -> None:
        self.whole: list[Any] = []
        self.real: list[float] = []

    def add(self, *values: Any) -> None:
        for value in values:
            if isinstance(value, torch.Tensor) and value.is_floating_point():
                self.whole.append(list(value.shape))
                self.real += value.double().flatten().tolist()
            elif isinstance(value, torch.Tensor):
                self.whole.append(code(value))
            elif isinstance(value, float):
                self.real.append(value)
            elif isinstance(value, Mapping):
                self.add(*itertools.chain.from_iterable(sorted(value.items())))
            elif isinstance(value, list | tuple) and any(isinstance(one, float | torch.Tensor) for one in value):
                self.add(*value)
            else:
                self.whole.append(value)

    def held(self) -> list[Any]:
        return [code(self.whole), *(digest(self.real)["digest"][2:] if self.real else ())]


def facts(name: str, parameters: Mapping[str, Any], quick: bool) -> Any:
    """All that is held of a task, or why there is none with these parameters."""
    try:
        task = make_task(name, **parameters)
        lengths = task.lengths(1, 2 * LISTED)
    except LensError as error:
        return code(str(error))
    wanted = (1, len(lengths) // 2) if quick else (0, 1, 2, 7, len(lengths) // 2)
    some = sorted({lengths[place] for place in wanted if place < len(lengths)})
    return [stated(task).held(), *(drawn(task, law, some).held() for law in LAWS)]


def stated(task: Task) -> Facts:
    """What a task says of itself."""
    found = Facts()
    names = (task.tokens_names, task.output_names, task.component_names, task.answer_tokens, task.neutral_tokens)
    found.add(*names, task.right_within, task.period, task.one_string_per_length, task.challenge_is_matched, task.real)
    found.add(task.crasp_program, task.fixed_lengths, task.bos, task.d_vocab, task.d_vocab_out, task.tolerance_)
    found.add([task.admissible(n) for n in range(LISTED)], [task.prefix_closed(law) for law in LAWS])
    found.add([_nearest(task, n) for n in (1, 2.5, 10, 33)], task.affordable(50, 1000), task.positions(7))
    found.add([task.prompt_of(n) for n in range(1, LISTED) if task.admissible(n)])
    if (machine := task.automaton()) is not None:
        found.add(machine.table.tolist(), machine.start, machine.labels.tolist(), sorted(machine.accepting))
        found.add(machine.alphabet, machine.names)
    return found


def _nearest(task: Task, length: float) -> int | None:
    try:
        return task.next_length(length)
    except TaskError:
        return None


def drawn(task: Task, law: str, lengths: Sequence[int]) -> Facts:
    """What a task draws on a law, and says of what it has drawn."""
    found = Facts()
    for place, length in enumerate(lengths):
        window = (None, 5)[place % 2]
        batch = task.sample(ROWS, length, generator("held", law, length), law, window)
        found.add(batch.tokens, batch.targets, batch.mask, batch.output_summary, batch.position_ids, batch.prompt)
        found.add(batch.update_summary, batch.meta, length, task.answer_index(batch))
        of(found, task, batch, (3, 8)[place % 2])
        found.add(task.chance(law, length))
        if (support := task.support(law, length, window)) is not None:
            found.add(support.batch.tokens, support.probabilities)
    for stratum in task.strata_names:
        some = task.sample_stratum(stratum, ROWS, lengths[-1], generator("held", stratum), law, 5)
        found.add(None if some is None else some.tokens, task.stratum_chance(stratum, law, lengths[-1]))
    return found


def of(found: Facts, task: Task, batch: Batch, window: int) -> None:
    """What a task says of a batch: oracle, guesses, losses, gaps and strata."""
    strings = batch.tokens[:, int(task.bos) :]
    found.add([_whole(answer) for row in strings[:2].tolist() for answer in task.reference(row)])
    found.add(task.neutral_gaps(strings), task.strata(batch))
    found.add(task.shortcuts(batch, window), task.answer(strings[:, -window:]).double())
    shape = (*batch.tokens.shape, task.d_vocab_out)
    outputs = torch.rand(shape, generator=generator("outputs"), dtype=torch.float64)
    if task.real:
        outputs = batch.targets.double() + 4 * task.tolerance_ * (outputs - 0.5)
    right = task.correct(outputs, batch)
    found.add(
        float(task.loss(outputs, batch)), right, task.sequence_correct(right, batch), task.shown_outputs(outputs[:1])
    )


def _whole(answer: Any) -> Any:
    return (
        answer
        if answer is None or isinstance(answer, int)
        else [float(one) for one in answer]
        if isinstance(answer, list | tuple)
        else float(answer)
    )
