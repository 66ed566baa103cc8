"""A mixture of tasks over one vocabulary: which of them a string is of, its first token says."""

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
"""Components of a mixture."""


class Mixture(Task):
    """What do several tasks answer, each string being of one of them?

    Each of ``components`` is the name of a task with its parameters, ``majority`` or ``ur symbols=8``. Its tokens and
    answers are those of all components, by name, in the order in which they first come. Every string is of a component
    that is drawn by ``weights``, by itself; so the strings of a batch are independent, and shares of right ones have
    the intervals of independent strings. Where strings of a length are of some components only, it is one of these.

    Where there are several components, one token stands before each string and says which it is of, ``<1>`` for the
    first; the string is one longer, and nothing is asked at this token. The same string may have another answer under
    another component, so a mixture is always marked. A mixture of one component is that task: its strings, labels,
    vocabulary and laws, and no mark.

    Laws: those of the component. Chance and shortcuts are those of a guess that knows the component.

    Each component is a stratum, so that behaviour tells accuracy on each, beside the verdict on all. ``only`` draws one
    component alone under all laws, its mark and the vocabulary as they are.

    A component answers with classes, one at a time, and its answers follow from the string: not numbers (a mixture has
    no common loss), not an answer of several tokens that are shown (prompts of one batch end together), not text
    whose next symbol is not in the string.

    The output summary is the class of the answer, or the number of classes where nothing is asked.

    Example: ``<1> a b <sep> a`` asks ur, and the answer is ``b``; ``<2> a b <sep> b`` asks ul.

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
    """How often each is drawn, in proportion; none = all equally often."""
    only: int = Field(0, ge=0, le=MOST)
    """The component that is drawn alone, from 1 on; 0 = all."""

    @model_validator(mode="after")
    def _fit(self) -> Mixture:
        if not 1 <= len(self.components) <= MOST:
            raise ValueError(f"components name 1 to {MOST} tasks, not {len(self.components)}")
        parts = _parts(self.components)
        if self.weights and (len(self.weights) != len(parts) or min(self.weights) <= 0):
            raise ValueError(f"weights takes {len(parts)} numbers above 0, one for each component")
        if self.only > len(parts):
            raise ValueError(f"only names one of {len(parts)} components, from 1 on, or 0 for all, not {self.only}")
        return self

    # ---- components --------------------------------------------------------------------------
    @property
    def _parts(self) -> tuple[_Part, ...]:
        return _parts(self.components)

    @property
    def marked(self) -> bool:
        """Whether a token stands before each string that says which component it is of."""
        return len(self.components) > 1

    def component(self, index: int) -> Task:
        """The task of a component, from 0 on."""
        return self._parts[index].task

    def _drawn(self, length: int) -> list[tuple[int, float]]:
        """The components that strings of a length are of, each with its share."""
        weights = self.weights or (1.0,) * len(self.components)
        wanted = range(len(weights)) if not self.only else (self.only - 1,)
        own = length - self.marked
        found = [(k, weights[k]) for k in wanted if own >= 1 and self.component(k).admissible(own)]
        total = sum(weight for _, weight in found)
        return [(k, weight / total) for k, weight in found]

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
        drawn = self._drawn(length)
        if not self.marked:
            return self.component(0).draw_strings(batch, length, generator, law, window)
        which = torch.zeros(batch, dtype=torch.long, device=generator.device)
        if len(drawn) > 1:
            shares = torch.tensor([share for _, share in drawn], device=generator.device)
            which = torch.multinomial(shares, batch, replacement=True, generator=generator)
        strings = torch.zeros(batch, length, dtype=torch.long, device=generator.device)
        for place, (k, _) in enumerate(drawn):
            rows = which == place
            if count := int(rows.sum()):
                own, _ = self.component(k).draw_strings(count, length - 1, generator, law, window)
                strings[rows] = torch.cat([own.new_full((count, 1), self._mark(k)), self._parts[k].tokens[own]], 1)
        return strings, {}

    def _mark(self, index: int) -> int:
        return self.d_vocab - len(self.components) + index

    def _groups(
        self, strings: Int[Tensor, "batch length"]
    ) -> Iterator[tuple[int, Bool[Tensor, " batch"], Int[Tensor, "own rest"]]]:
        """Each component that has strings, which they are, and they as its own token ids, without the mark."""
        if not bool((strings[:, 0] >= self._mark(0)).all()):
            raise TaskError(f"a sequence of a mixture begins with {self.tokens_names[self._mark(0)]} or another mark")
        for k, part in enumerate(self._parts):
            rows = strings[:, 0] == self._mark(k)
            if not bool(rows.any()):
                continue
            own = part.ids(self.d_vocab)[strings[rows, 1:]]
            if bool((own < 0).any()):
                raise TaskError(
                    f"a sequence with the mark of {self.components[k]} contains a token of another component"
                )
            yield k, rows, own

    def label_strings(
        self, strings: Int[Tensor, "batch length"], meta: dict[str, Tensor]
    ) -> tuple[Tensor, Bool[Tensor, "batch length"], Tensor, Tensor | None]:
        if not self.marked:
            return self.component(0).label_strings(strings, meta)
        targets, mask = torch.zeros_like(strings), torch.zeros_like(strings, dtype=torch.bool)
        for k, rows, own in self._groups(strings):
            if own.shape[1]:
                found, asked, _, _ = self.component(k).label_strings(own, {})
                targets[rows, 1:] = self._parts[k].answers[found].where(asked, 0)
                mask[rows, 1:] = asked
        return targets, mask, targets.where(mask, self.d_vocab_out), None

    def reference(self, tokens: Sequence[int]) -> list[Any]:
        if not self.marked:
            return self.component(0).reference(tokens)
        k = tokens[0] - self._mark(0)
        names, task = [self.tokens_names[token] for token in tokens[1:]], self.component(k)
        found = task.reference([task.tokens_names.index(name) for name in names]) if names else []
        outputs = task.output_names or ()
        return [None, *(None if one is None else self.output_names.index(outputs[one]) for one in found)]

    # ---- floors ------------------------------------------------------------------------------
    def chance(self, law: Law, length: int) -> float:
        """What the best constant answer to each component scores."""
        return sum(share * self.component(k).chance(law, length - self.marked) for k, share in self._drawn(length))

    def answer(self, tokens: Int[Tensor, "batch window"]) -> Float[Tensor, "batch out"]:
        """The component's best guess where the window shows the mark; elsewhere a plain guess."""
        if not self.marked:
            return self.component(0).answer(tokens)
        weights = torch.ones(len(tokens), self.d_vocab_out, dtype=torch.float64, device=tokens.device)
        seen = tokens[:, 0] >= self._mark(0)
        if bool(seen.any()) and tokens.shape[1] > 1:
            guesses = weights[seen].zero_()
            for k, rows, own in self._groups(tokens[seen]):
                guess = self.component(k).answer(own).double()
                guesses[rows] = guesses[rows].index_copy(1, self._parts[k].answers, guess)
            weights[seen] = guesses
        return weights

    def shortcuts(self, batch: Batch, window: int) -> dict[str, Float[Tensor, " batch"]]:
        """Those that all components here have, each asked of the strings of the component, which it knows."""
        if not self.marked:
            return self.component(0).shortcuts(batch, window)
        found: dict[str, Tensor] = {}
        kept: set[str] | None = None
        for k, rows, own in self._groups(batch.tokens[:, int(self.bos) :]):
            hits = self.component(k).shortcuts(self.component(k).label(own, batch.law), window)
            kept = set(hits) if kept is None else kept & set(hits)
            for name, right in hits.items():
                found.setdefault(name, torch.zeros(len(batch), dtype=torch.float64, device=right.device))
                found[name][rows] = right.double()
        return {name: hits for name, hits in found.items() if name in (kept or ())}

    # ---- each component by itself ------------------------------------------------------------
    @property
    def strata_names(self) -> tuple[str, ...]:  # type: ignore[override]
        """The components, each by its mark and setting: behaviour tells accuracy on each, beside the verdict on all."""
        if not self.marked:
            return self.component(0).strata_names
        shown = range(len(self.components)) if not self.only else (self.only - 1,)
        return tuple(f"{self.tokens_names[self._mark(k)]} {self.components[k]}" for k in shown)

    @property
    def strata_kind(self) -> str:  # type: ignore[override]
        """Strata are the components; those of a mixture of one are what its task calls them."""
        return "components" if self.marked else self.component(0).strata_kind

    def composition(self, length: int) -> Mapping[str, float]:
        """The share of each component: at some lengths strings are of some components only."""
        if not self.marked:
            return self.component(0).composition(length)
        shares = {f"{self.tokens_names[self._mark(k)]} {self.components[k]}": share for k, share in self._drawn(length)}
        return {name: shares.get(name, 0.0) for name in self.strata_names}

    def _of_stratum(self, name: str) -> int:
        """Which component a stratum is of, from 0 on."""
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
        alone = self.model_copy(update={"only": self._of_stratum(name) + 1})
        return alone.sample(batch, length, generator, law, window) if alone.admissible(length) else None

    def stratum_chance(self, name: str, law: Law, length: int) -> float:
        if not self.marked:
            return self.component(0).stratum_chance(name, law, length)
        own = self.component(self._of_stratum(name))
        return own.chance(law, length - 1) if own.admissible(length - 1) else self.chance(law, length)

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
        """The sequences of all components drawn at this length; None where one of them lists none, or too many."""
        if not self.marked:
            return self.component(0).support(law, length, window)
        self._refuse(length, law)
        strings, probabilities = list[Tensor](), list[Tensor]()
        for k, share in self._drawn(length):
            listed = self.component(k).support(law, length - 1, window) if length > 1 else None
            if listed is None:
                return None
            own = self._parts[k].tokens[listed.batch.tokens[:, int(listed.batch.bos) :]]
            strings.append(torch.cat([own.new_full((len(own), 1), self._mark(k)), own], 1))
            probabilities.append(share * listed.probabilities)
        found = Support.of(self._batch(torch.cat(strings), law, {}), torch.cat(probabilities))
        return found if len(found.batch) <= MOST_LISTED else None

    def best_accuracy(self, law: Law, length: int) -> float | None:
        """That of the components that strings of this length are of; None where one of theirs is not known."""
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

    def answered(self, right: Bool[Tensor, "batch pos"], batch: Batch) -> Bool[Tensor, " batch"]:
        return super().answered(right, batch) if self.marked else self.component(0).answered(right, batch)

    def answer_index(self, batch: Batch) -> Int[Tensor, " batch"] | None:
        return super().answer_index(batch) if self.marked else self.component(0).answer_index(batch)

    @property
    def outside_floor(self) -> frozenset[str]:  # type: ignore[override]
        """The shortcut oracles that are told but never count as a floor; none where there are marks."""
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
    """A component, and where its tokens and answers stand in the mixture.

    Attributes:
        task: it.
        tokens: ``[token]`` id in the mixture of each of its token ids.
        answers: ``[answer]`` class in the mixture of each of its classes.
    """

    task: Task
    tokens: Int[Tensor, " token"]
    answers: Int[Tensor, " answer"]

    def ids(self, size: int) -> Int[Tensor, " mixture"]:
        """Its token id for each of the mixture's; -1 where that is none of its own."""
        found = torch.full((size,), -1)
        found[self.tokens[int(self.task.bos) :]] = torch.arange(int(self.task.bos), len(self.tokens))
        return found


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
    """Names of the tokens, marks last, and of the answers."""
    tasks = [_component(one) for one in components]
    tokens = dict.fromkeys(name for task in tasks for name in task.tokens_names)
    answers = dict.fromkeys(name for task in tasks for name in task.output_names or ())
    if len(tasks) == 1:
        return tuple(tokens), tuple(answers)
    marks = [f"<{k}>" for k in range(1, len(tasks) + 1)]
    if taken := [mark for mark in marks if mark in tokens]:
        raise ValueError(
            f"a component has a token {taken[0]}, which the mixture uses as a mark; leave the component out"
        )
    if len({task.bos for task in tasks}) > 1:
        raise ValueError(f"some components begin with {BOS} and some do not; mix only one kind")
    return (*tokens, *marks), tuple(answers)


@lru_cache(maxsize=256)
def _component(setting: str) -> Task:
    """The task that a setting names, which a mixture can have.

    Raises:
        ValueError: for what is no task by name, no parameter, or a task that cannot be mixed.
    """
    name, *pairs = setting.split() or [""]
    if name == Mixture.name:
        raise ValueError("a mixture cannot be a component of a mixture; name its components instead")
    TASKS.find(name)  # which knows no files: a component comes from data too, and data run no code
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
