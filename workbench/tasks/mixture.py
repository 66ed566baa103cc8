"""A mixture of tasks over one vocabulary. The first token of each sequence names its task."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, ClassVar, Literal

import torch
from jaxtyping import Bool, Float, Int
from pydantic import Field, model_validator
from torch import Tensor

from workbench.tasks.automata.dfa import Automaton
from workbench.tasks.base import BOS, Batch, Law, Support, Task, TaskError
from workbench.tasks.batch import MOST_LISTED
from workbench.tasks.known_tasks import TASKS
from workbench.tasks.random_generator import generator as stream
from workbench.tasks.registry import make_task

__all__ = ["Mixture"]

MOST = 16
"""Largest number of components of a mixture."""


class Mixture(Task):
    """Each sequence is of one of several component tasks, and its answers are those of that task.

    Each of ``components`` is the name of a task with its parameters, ``majority`` or ``ur symbols=8``. The tokens and
    answers of the mixture are those of all components, merged by name in the order of their first occurrence. The
    component of each sequence is drawn independently with probabilities in proportion to ``weights``. So the sequences
    of a batch are independent, and the usual intervals of accuracy hold. At lengths that only some components have,
    only these are drawn.

    With several components, a mark token comes before each sequence and names its component: ``<1>`` for the first. The
    mark adds one token to the length, and its position is not supervised. The mark is always there, because components
    may answer the same sequence differently. A mixture of one component equals that task: it has the same sequences,
    labels, vocabulary and distributions, and no mark.

    Distributions are those of the component. Chance and shortcuts are those of a guess that knows the component.

    Each component is a stratum, so that behaviour reports accuracy on each component, next to the verdict on all.
    ``only`` restricts every distribution to one component. The mark and the vocabulary do not change.

    A component must answer with one class at a time, and its answers must follow from the sequence. These tasks are
    refused:

    - tasks that answer with numbers, because a mixture has no common loss;
    - tasks that write an answer of several tokens, because all prompts of a batch must end at the same position;
    - text, because its next symbol is not in the sequence.

    The task state (``output_summary``) is the class of the answer, or the number of classes at positions without
    supervision.

    Example: ``<1> a b <sep> a`` queries ``ur``, and the answer is ``b``; ``<2> a b <sep> b`` queries ``ul``.

        >>> Mixture(components=("ur symbols=2", "ul symbols=2")).reference([4, 1, 2, 3, 1])
        [None, None, None, None, 1]
    """

    name: ClassVar[str] = "mixture"
    question: ClassVar[str] = "What does the task answer that the first token names?"
    kind: ClassVar[Literal["state", "average", "counter", "pointer"]] = "pointer"
    summary: ClassVar[str] = "the answer of the component"
    vocabulary: ClassVar[tuple[str, ...]] = (BOS,)
    family: ClassVar[str] = "mixtures"

    components: tuple[str, ...] = ("ur", "ul")
    """Names of tasks with their parameters, e.g. ``ur symbols=8``."""
    weights: tuple[float, ...] = ()
    """Relative frequency of each component; () = all are equally frequent."""
    only: int = Field(0, ge=0, le=MOST)
    """The only component to draw, counted from 1; 0 = all."""

    @model_validator(mode="after")
    def _fit(self) -> Mixture:
        if not 1 <= len(self.components) <= MOST:
            raise ValueError(f"components takes 1 to {MOST} tasks, not {len(self.components)}")
        parts = _parts(self.components)
        if self.weights and (len(self.weights) != len(parts) or min(self.weights) <= 0):
            raise ValueError(f"weights takes {len(parts)} numbers above 0, one for each component")
        if self.only > len(parts):
            raise ValueError(
                f"the parameter 'only' takes the number of a component, 1 to {len(parts)}, or 0 for all, not "
                f"{self.only}"
            )
        return self

    # ---- components --------------------------------------------------------------------------
    @property
    def _parts(self) -> tuple[_Part, ...]:
        return _parts(self.components)

    @property
    def marked(self) -> bool:
        """Whether a mark token before each sequence names its component."""
        return len(self.components) > 1

    def component(self, index: int) -> Task:
        """Return the task of a component, counted from 0."""
        return self._parts[index].task

    def _drawn(self, length: int) -> list[tuple[int, float]]:
        """Return the components that are drawn at a length, each with its share."""
        weights = self.weights or (1.0,) * len(self.components)
        candidates = range(len(weights)) if not self.only else (self.only - 1,)
        inner_length = length - self.marked
        drawable = [k for k in candidates if inner_length >= 1 and self.component(k).admissible(inner_length)]
        total = sum(weights[k] for k in drawable)
        return [(k, weights[k] / total) for k in drawable]

    # ---- what a model must look like ---------------------------------------------------------
    @property
    def tokens_names(self) -> tuple[str, ...]:
        return _names(self.components)[0]

    @property
    def output_names(self) -> tuple[str, ...]:
        return _names(self.components)[1]

    def admissible(self, length: int) -> bool:
        return bool(self._drawn(length))

    # ---- drawing and labelling ---------------------------------------------------------------
    def draw_strings(
        self, batch: int, length: int, generator: torch.Generator, law: Law, window: int | None
    ) -> tuple[Int[Tensor, "batch length"], dict[str, Tensor]]:
        components = self._drawn(length)
        if not self.marked:
            return self.component(0).draw_strings(batch, length, generator, law, window)
        which = torch.zeros(batch, dtype=torch.long, device=generator.device)
        if len(components) > 1:
            shares = torch.tensor([share for _, share in components], device=generator.device)
            which = torch.multinomial(shares, batch, replacement=True, generator=generator)
        strings = torch.zeros(batch, length, dtype=torch.long, device=generator.device)
        for index, (k, _) in enumerate(components):
            rows = which == index
            if count := int(rows.sum()):
                inner, _ = self.component(k).draw_strings(count, length - 1, generator, law, window)
                strings[rows] = torch.cat([inner.new_full((count, 1), self._mark(k)), self._parts[k].tokens[inner]], 1)
        return strings, {}

    def _mark(self, index: int) -> int:
        return self.d_vocab - len(self.components) + index

    def _groups(
        self, strings: Int[Tensor, "batch length"]
    ) -> Iterator[tuple[int, Bool[Tensor, " batch"], Int[Tensor, "own rest"]]]:
        """Yield each component that occurs: its index, its rows, and their tokens as its own ids without the mark."""
        if not bool((strings[:, 0] >= self._mark(0)).all()):
            raise TaskError(f"a sequence of a mixture begins with {self.tokens_names[self._mark(0)]} or another mark")
        for k, part in enumerate(self._parts):
            rows = strings[:, 0] == self._mark(k)
            if not bool(rows.any()):
                continue
            inner = part.ids(self.d_vocab)[strings[rows, 1:]]
            if bool((inner < 0).any()):
                raise TaskError(
                    f"a sequence with the mark of {self.components[k]} contains a token of another component"
                )
            yield k, rows, inner

    def label_strings(
        self, strings: Int[Tensor, "batch length"], meta: dict[str, Tensor]
    ) -> tuple[Tensor, Bool[Tensor, "batch length"], Tensor, Tensor | None]:
        if not self.marked:
            return self.component(0).label_strings(strings, meta)
        targets, mask = torch.zeros_like(strings), torch.zeros_like(strings, dtype=torch.bool)
        for k, rows, inner in self._groups(strings):
            if inner.shape[1]:
                answers, supervised, _, _ = self.component(k).label_strings(inner, {})
                targets[rows, 1:] = self._parts[k].answers[answers].where(supervised, 0)
                mask[rows, 1:] = supervised
        return targets, mask, targets.where(mask, self.d_vocab_out), None

    def reference(self, tokens: Sequence[int]) -> list[Any]:
        if not self.marked:
            return self.component(0).reference(tokens)
        k = tokens[0] - self._mark(0)
        names, task = [self.tokens_names[token] for token in tokens[1:]], self.component(k)
        answers = task.reference([task.tokens_names.index(name) for name in names]) if names else []
        outputs = task.output_names or ()
        return [None, *(None if answer is None else self.output_names.index(outputs[answer]) for answer in answers)]

    # ---- baselines ---------------------------------------------------------------------------
    def chance(self, law: Law, length: int) -> float:
        """Return the score of the best constant answer to each component, averaged over components."""
        return sum(share * self.component(k).chance(law, length - self.marked) for k, share in self._drawn(length))

    def answer(self, tokens: Int[Tensor, "batch window"]) -> Float[Tensor, "batch out"]:
        """Return the component's best guess if the window contains the mark; else a plain guess."""
        if not self.marked:
            return self.component(0).answer(tokens)
        weights = torch.ones(len(tokens), self.d_vocab_out, dtype=torch.float64, device=tokens.device)
        has_mark = tokens[:, 0] >= self._mark(0)
        if bool(has_mark.any()) and tokens.shape[1] > 1:
            guesses = weights[has_mark].zero_()
            for k, rows, inner in self._groups(tokens[has_mark]):
                guess = self.component(k).answer(inner).double()
                guesses[rows] = guesses[rows].index_copy(1, self._parts[k].answers, guess)
            weights[has_mark] = guesses
        return weights

    def shortcuts(self, batch: Batch, window: int) -> dict[str, Float[Tensor, " batch"]]:
        """Return the shortcut oracles that all components of the batch have. Each knows the component of a sequence."""
        if not self.marked:
            return self.component(0).shortcuts(batch, window)
        merged: dict[str, Tensor] = {}
        shared: set[str] | None = None
        for k, rows, inner in self._groups(batch.tokens[:, int(self.bos) :]):
            hits = self.component(k).shortcuts(self.component(k).label(inner, batch.law), window)
            shared = set(hits) if shared is None else shared & set(hits)
            for name, right in hits.items():
                merged.setdefault(name, torch.zeros(len(batch), dtype=torch.float64, device=right.device))
                merged[name][rows] = right.double()
        return {name: hits for name, hits in merged.items() if name in (shared or ())}

    # ---- each component by itself ------------------------------------------------------------
    @property
    def strata_names(self) -> tuple[str, ...]:  # type: ignore[override]
        """The components, each as its mark and setting. Behaviour reports accuracy on each of them."""
        if not self.marked:
            return self.component(0).strata_names
        drawable = range(len(self.components)) if not self.only else (self.only - 1,)
        return tuple(f"{self.tokens_names[self._mark(k)]} {self.components[k]}" for k in drawable)

    @property
    def strata_kind(self) -> str:  # type: ignore[override]
        """``components``; for a mixture of one component, the word of its task."""
        return "components" if self.marked else self.component(0).strata_kind

    def composition(self, length: int) -> Mapping[str, float]:
        """Return the share of each component at this length. At some lengths a component has no sequences."""
        if not self.marked:
            return self.component(0).composition(length)
        shares = {f"{self.tokens_names[self._mark(k)]} {self.components[k]}": share for k, share in self._drawn(length)}
        return {name: shares.get(name, 0.0) for name in self.strata_names}

    def _of_stratum(self, name: str) -> int:
        """Return the component of a stratum, counted from 0."""
        return next(k for k in range(len(self.components)) if name.startswith(self.tokens_names[self._mark(k)]))

    def strata(self, batch: Batch) -> dict[str, Bool[Tensor, " batch"]]:
        if not self.marked:
            return self.component(0).strata(batch)
        marks = batch.tokens[:, int(self.bos)]
        return {name: marks == self._mark(self._of_stratum(name)) for name in self.strata_names}

    def draw_stratum(
        self, name: str, batch: int, length: int, generator: torch.Generator, law: Law, window: int | None
    ) -> Batch | None:
        if not self.marked:
            return self.component(0).draw_stratum(name, batch, length, generator, law, window)
        isolated = self.model_copy(update={"only": self._of_stratum(name) + 1})
        return isolated.sample(batch, length, generator, law, window) if isolated.admissible(length) else None

    def stratum_chance(self, name: str, law: Law, length: int) -> float:
        if not self.marked:
            return self.component(0).stratum_chance(name, law, length)
        task = self.component(self._of_stratum(name))
        return task.chance(law, length - 1) if task.admissible(length - 1) else self.chance(law, length)

    # ---- a mixture of one is that task -------------------------------------------------------
    def prefix_closed(self, law: Law) -> bool:
        return not self.marked and self.component(0).prefix_closed(law)

    @property
    def challenge_is_matched(self) -> str:
        reasons = [self.component(k).challenge_is_matched for k in range(len(self.components))]
        return reasons[0] if all(reasons) else ""

    @property
    def one_string_per_length(self) -> bool:
        return not self.marked and self.component(0).one_string_per_length

    def support(self, law: Law, length: int, window: int | None = None) -> Support | None:
        """Return the sequences of all components at this length; None if one component lists none, or too many."""
        if not self.marked:
            return self.component(0).support(law, length, window)
        self._refuse(length, law)
        strings, probabilities = list[Tensor](), list[Tensor]()
        for k, share in self._drawn(length):
            listed = self.component(k).support(law, length - 1, window) if length > 1 else None
            if listed is None:
                return None
            inner = self._parts[k].tokens[listed.batch.tokens[:, int(listed.batch.bos) :]]
            strings.append(torch.cat([inner.new_full((len(inner), 1), self._mark(k)), inner], 1))
            probabilities.append(share * listed.probabilities)
        support = Support.of(self._batch(torch.cat(strings), law, {}), torch.cat(probabilities))
        return support if len(support.batch) <= MOST_LISTED else None

    def best_accuracy(self, law: Law, length: int) -> float | None:
        """Return the average over the components that have this length; None if it is unknown for one of them."""
        shares = [
            (share, self.component(index).best_accuracy(law, length - self.marked))
            for index, share in self._drawn(length)
        ]
        known = [share * best for share, best in shares if best is not None]
        return sum(known) if len(known) == len(shares) else None

    def automaton(self) -> Automaton | None:
        return None if self.marked else self.component(0).automaton()

    @property
    def period(self) -> int:
        return 1 if self.marked else self.component(0).period

    def sequence_correct(self, right: Bool[Tensor, "batch pos"], batch: Batch) -> Bool[Tensor, " batch"]:
        return (
            super().sequence_correct(right, batch) if self.marked else self.component(0).sequence_correct(right, batch)
        )

    def answer_index(self, batch: Batch) -> Int[Tensor, " batch"] | None:
        return super().answer_index(batch) if self.marked else self.component(0).answer_index(batch)

    @property
    def outside_floor(self) -> frozenset[str]:  # type: ignore[override]
        """Names of shortcut oracles that are reported but never count in the baseline; empty for a marked mixture."""
        return frozenset() if self.marked else self.component(0).outside_floor

    @property
    def crasp_program(self) -> str | None:
        return None if self.marked else self.component(0).crasp_program

    @property
    def neutral_tokens(self) -> tuple[int, ...]:
        return () if self.marked else self.component(0).neutral_tokens

    def neutral_gaps(self, strings: Int[Tensor, "batch length"]) -> Bool[Tensor, "batch length"]:
        return super().neutral_gaps(strings) if self.marked else self.component(0).neutral_gaps(strings)


@dataclass(frozen=True)
class _Part:
    """A component, with the ids of its tokens and answers in the mixture.

    Attributes:
        task: the component's task.
        tokens: ``[token]`` id in the mixture of each of the component's token ids.
        answers: ``[answer]`` class in the mixture of each of the component's classes.
    """

    task: Task
    tokens: Int[Tensor, " token"]
    answers: Int[Tensor, " answer"]

    def ids(self, size: int) -> Int[Tensor, " mixture"]:
        """Return the component's token id for each token id of the mixture; -1 for tokens that it does not have."""
        inner_ids = torch.full((size,), -1)
        inner_ids[self.tokens[int(self.task.bos) :]] = torch.arange(int(self.task.bos), len(self.tokens))
        return inner_ids


@lru_cache(maxsize=64)
def _parts(components: tuple[str, ...]) -> tuple[_Part, ...]:
    tokens, outputs = _names(components)
    return tuple(
        _Part(
            task,
            torch.tensor([tokens.index(name) for name in task.tokens_names]),
            torch.tensor([outputs.index(name) for name in task.output_names or ()]),
        )
        for task in map(_component, components)
    )


@lru_cache(maxsize=64)
def _names(components: tuple[str, ...]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the names of the tokens, with marks last, and of the answers."""
    tasks = [_component(setting) for setting in components]
    tokens = dict.fromkeys(name for task in tasks for name in task.tokens_names)
    answers = dict.fromkeys(name for task in tasks for name in task.output_names or ())
    if len(tasks) == 1:
        return tuple(tokens), tuple(answers)
    marks = [f"<{k}>" for k in range(1, len(tasks) + 1)]
    if clashing := [mark for mark in marks if mark in tokens]:
        raise ValueError(
            f"a component has a token {clashing[0]}, which the mixture uses as a mark; leave the component out"
        )
    if len({task.bos for task in tasks}) > 1:
        raise ValueError(f"some components begin with {BOS} and some do not; mix only one kind")
    return (*tokens, *marks), tuple(answers)


@lru_cache(maxsize=256)
def _component(setting: str) -> Task:
    """Return the task that a setting names, if it can be mixed.

    Raises:
        ValueError: for an unknown task or parameter, or a task that cannot be mixed.
    """
    name, *pairs = setting.split() or [""]
    if name == Mixture.name:
        raise ValueError("a mixture cannot be a component of a mixture; name its components instead")
    TASKS.find(name)  # never a file: settings also come from stored data, which must not run code
    task = make_task(name, **dict(map(_parameter, pairs)))
    if task.real or task.answer_tokens is not None:
        what = "answers with numbers" if task.real else "writes its answer token by token"
        raise ValueError(f"{name} {what} and cannot be mixed; name tasks that answer with one class at a time")
    length = task.next_length(8)
    strings = task.draw_strings(2, length, stream("mixture"), "matched", None)[0]
    if not bool(task.label_strings(strings, {})[1][:, -1].all()):
        raise ValueError(f"{name} cannot be mixed, as it queries a symbol that is not in its sequences; leave it out")
    return task


def _parameter(pair: str) -> tuple[str, Any]:
    name, equals, value = pair.partition("=")
    if not equals:
        raise ValueError(f"{pair!r} is not a parameter of a component; write NAME=VALUE, as in 'ur symbols=8'")
    try:
        return name, json.loads(value)
    except json.JSONDecodeError:
        return name, value
