"""A task written as a prompt for a model with another vocabulary, with the positions of its items."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, NamedTuple

import torch
from jaxtyping import Bool, Float, Int
from pydantic import SerializeAsAny
from torch import Tensor

from workbench.tasks.base import Law, Task, TaskError
from workbench.tasks.batch import Batch
from workbench.tasks.presented.presentation import Presentation, Slot
from workbench.tasks.presented.single_tokens import Wording
from workbench.tasks.rejection import by_rejection
from workbench.tasks.sequences.sequence_task import numbered_names

LENGTHS = (8, 16, 32, 64, 128, 256, 512, 1024)
"""Default numbers of items at which to evaluate a model."""
TOKENS = 40_000
"""Tokens to evaluate per length: fewer sequences of long prompts are evaluated."""
FEWEST = 40
"""Fewest sequences to evaluate at a length. If all of them are answered right, skill is shown to be above 0.9."""


@dataclass(frozen=True)
class PresentedBatch(Batch):
    """Sequences written by a presentation. ``length`` counts items of the last question; positions are tokens.

    Entries of ``meta`` that name positions are token positions, counted from 1.

    Attributes:
        numbers: for each index of the position axis, the item of the last question that stands there or is answered
            there, from 1 on. Other indices repeat the number before them; it is 0 before the first item.
        item_places: index of each item of the last question's context, in their order.
    """

    numbers: tuple[int, ...] = ()
    item_places: tuple[int, ...] = ()

    def index(self, length: int) -> int:
        """Return the index on the position axis of the last query about the item with this number."""
        if not 1 <= length <= self.length:
            raise TaskError(f"item {length} is not in this batch, whose questions have {self.length} items")
        return len(self.numbers) - 1 - self.numbers[::-1].index(length)

    @property
    def led(self) -> bool:
        return self.numbers[0] == 0

    def prefix_lengths(self) -> Int[Tensor, " pos"]:
        """Return :attr:`numbers` as a tensor."""
        return torch.tensor(self.numbers, device=self.tokens.device)

    def prefix(self, length: int) -> Batch:
        """Raise TaskError: the query comes after all items, so that a question cannot be cut."""
        raise TaskError("a prompt cannot be shortened to a prefix, as its query comes after all items")

    @property
    def supervised_positions(self) -> Int[Tensor, " asked"]:
        """Supervised indices on the position axis, which are the same in all sequences."""
        return self.mask.any(0).nonzero()[:, 0]


class Question(NamedTuple):
    """The symbols of some questions, counted from 0.

    ``meta`` gives positions of items, counted from 1.
    """

    items: Int[Tensor, "batch items"]
    query: Int[Tensor, "batch one"] | None
    answers: Int[Tensor, "batch answers"]
    meta: Mapping[str, Tensor]


class Presented(Task):
    """A task of symbols, written as a prompt for a model with another vocabulary.

    Its lengths count items of the question. At one length all sequences have the same tokens at the same positions,
    except the symbols, so nothing is padded. Answers are tokens of the model. Chance is that of a random symbol.

    Attributes:
        inner: the task: one that rewrites its whole input, or one with a single queried item.
        presentation: the format of the prompt.
        wording: the format in tokens of the model.
        vocabulary_size: tokens of the model.
        window: positions that the model was trained on.
        asked_lengths: numbers of items at which the model is evaluated.
        tokens_per_length: see :meth:`affordable`.
    """

    name: ClassVar[str] = "presented"
    question: ClassVar[str] = "What does the task ask, told in tokens of the model?"
    kind: ClassVar[Literal["state", "average", "counter", "pointer"]] = "pointer"
    summary: ClassVar[str] = "the answer of the task"
    presented: ClassVar[bool] = True

    inner: SerializeAsAny[Task]
    presentation: Presentation
    wording: Wording
    vocabulary_size: int
    window: int
    asked_lengths: tuple[int, ...] = LENGTHS
    tokens_per_length: int = TOKENS

    def model_post_init(self, context: Any) -> None:
        """Raise TaskError for a task that cannot be written so, before anything is measured."""
        alphabet = getattr(self.inner, "alphabet", None)
        if alphabet is None or not {*self._answer_names} <= {*alphabet}:
            raise TaskError(
                f"{self.inner.name} cannot be presented in words, because its answers are not symbols of its input; "
                f"choose a task such as copy, ub, ur, ul or nr_last"
            )
        if len(alphabet) != len(self.wording.symbols):
            raise TaskError(
                f"{self.inner.name} has {len(alphabet)} symbols, but the wording has {len(self.wording.symbols)}"
            )
        for length in self.asked_lengths:
            if not self.admissible(length):
                raise TaskError(f"{self._title} has no sequences of {length} items{self._said_of_window(length)}")
        if self.presentation.pairs:
            self._question(1, min(self.asked_lengths), torch.Generator().manual_seed(0), "matched")

    def _said_of_window(self, length: int) -> str:
        """Return a clause with the largest number of items that the window takes, if ``length`` exceeds it."""
        try:
            fits = self.fitting
        except TaskError:  # even the shortest question does not fit, which another message reports
            return ""
        return f"; the window of {self.window:,} tokens holds {fits:,}" if length > fits else ""

    @property
    def _title(self) -> str:
        return f"{self.inner.name}, presented as {self.presentation.title},"

    @property
    def _answer_names(self) -> tuple[str, ...]:
        """Names of the answers that are symbols, without the end of a sequence."""
        names = self.inner.output_names or ("a number",)
        return names[:-1] if self._writes else names

    @property
    def _writes(self) -> bool:
        """Whether the answer is a sequence after the input, not one symbol."""
        return self.inner.answer_tokens is not None

    # ---- lengths -----------------------------------------------------------------------------
    @property
    def fixed_lengths(self) -> tuple[int, ...]:
        return self.asked_lengths

    def admissible(self, length: int) -> bool:
        even = not self.presentation.pairs or length % 2 == 0
        return even and self.inner.admissible(self._inner_length(length))

    def _inner_length(self, items: int) -> int:
        """Return the length of the task's own sequences with this many items."""
        if not self._writes:
            return items + 2
        length = self.inner.answer_length(items) + items + 1  # type: ignore[attr-defined]  # what writes has one
        return int(length)

    def positions(self, length: int) -> int:
        """Return the number of tokens of a question with this many items, including worked examples."""
        return len(self._shape(length).numbers)

    def beyond_window(self, length: int) -> bool:
        return self.positions(length) > self.window

    @property
    def fitting(self) -> int:
        """Return the largest number of items with which a prompt fits into the context window.

        Raises:
            TaskError: if even the question of the shortest length does not fit.
        """
        # Two more items always add the same number of tokens.
        two, four = self.positions(2), self.positions(4)
        pairs, spare = divmod(self.window - two, four - two)
        low = 2 + 2 * pairs
        low += self.positions(3) - two <= spare if low > 0 else 0
        if low < min(self.asked_lengths):
            shortest = min(self.asked_lengths)
            raise TaskError(
                f"a question of {shortest} items takes {self.positions(shortest):,} tokens, but the window has "
                f"{self.window:,}"
            )
        return low

    def affordable(self, length: int, wanted: int) -> int:
        """Return how many of the requested prompts to evaluate: fewer if they are long, but at least FEWEST."""
        return min(wanted, max(FEWEST, self.tokens_per_length // self.positions(length)))

    # ---- sequences ---------------------------------------------------------------------------
    def sample(
        self, batch: int, length: int, generator: torch.Generator, law: Law = "training", window: int | None = None
    ) -> Batch:
        self._refuse(length, law)
        shots = [self._question(batch, n, generator, law) for n in self._shots(length)]
        return self.prompt_batch(self._question(batch, length, generator, law), shots, law)

    def sample_blocks(
        self,
        size: int,
        length: int,
        generators: Sequence[torch.Generator],
        law: Law = "training",
        window: int | None = None,
    ) -> Batch:
        """Draw blocks as :meth:`sample` does, one per generator; the shots are drawn block by block."""
        return Batch.join([self.sample(size, length, stream, law, window) for stream in generators])

    def _shots(self, length: int) -> list[int]:
        return [self.presentation.shot_items or length] * self.presentation.shots

    def _question(self, batch: int, items: int, generator: torch.Generator, law: Law) -> Question:
        """Draw sequences of the task. For pairs, keep those whose query is the first item of a pair."""
        inner = self.inner
        length = self._inner_length(items)

        def draw(rows: int) -> Batch:
            return inner.sample(rows, length, generator, law)

        if not self.presentation.pairs:
            return self._of(draw(batch))

        def of_pairs(candidates: Batch) -> Bool[Tensor, " batch"]:
            key, answer = (candidates.meta.get(f"{name}_position") for name in ("key", "answer"))
            if key is None or answer is None:
                return torch.zeros(len(candidates), dtype=torch.bool)
            first = int(candidates.bos)
            once = (candidates.tokens[:, first : first + items] == candidates.tokens[:, -1:]).sum(1) == 1
            queries_first: Tensor = once & (key % 2 == 1) & (answer == key + 1)
            return queries_first

        sequences = by_rejection(draw, of_pairs, batch, length)
        if sequences is None:
            raise TaskError(
                f"{inner.name} cannot be presented as pairs, since its query is not one item; use ur, or bare"
            )
        return self._of(sequences)

    def _of(self, batch: Batch) -> Question:
        first = int(batch.bos)
        if self._writes:
            assert batch.prompt is not None
            items, answers = batch.tokens[:, first : batch.prompt - 1], batch.tokens[:, batch.prompt :]
            return Question(items - first, None, answers - first, {})
        alphabet = {name: i for i, name in enumerate(self.inner.alphabet)}  # type: ignore[attr-defined]
        classes = torch.tensor([alphabet[name] for name in self._answer_names])
        answers = classes[batch.targets[:, -1:]]
        return Question(batch.tokens[:, first:-2] - first, batch.tokens[:, -1:] - first, answers, batch.meta)

    def prompt_batch(self, question: Question, shots: Sequence[Question] = (), law: Law = "given") -> PresentedBatch:
        """Return questions as tokens of the model, each after its worked examples."""
        shape = self._shape(question.items.shape[1], [shot.items.shape[1] for shot in shots])
        symbols = torch.tensor(self.wording.symbols)
        rows = len(question.items)
        columns = [torch.tensor(self.wording.prefix, dtype=torch.long).expand(rows, -1)]
        for shot, slots in zip([*shots, question], shape.slots, strict=True):
            columns += [self._column(shot, slot, symbols, rows) for slot in slots]
        tokens = torch.cat(columns, 1)
        targets, mask = torch.zeros_like(tokens), torch.zeros_like(tokens, dtype=torch.bool)
        for number, place in enumerate(shape.asked):
            if place is not None:
                targets[:, place], mask[:, place] = symbols[question.answers[:, number]], True
        places = torch.tensor([0, *(place + 1 for place in shape.places)])
        named = {name: places[at] for name, at in question.meta.items() if name.endswith("_position")}
        return PresentedBatch(
            tokens=tokens, targets=targets, mask=mask, output_summary=targets.where(mask, self.vocabulary_size),
            update_summary=None, length=question.items.shape[1], bos=False, law=law, meta=named,
            numbers=tuple(shape.numbers), item_places=tuple(shape.places),
        )  # fmt: skip

    def _column(self, question: Question, slot: Slot, symbols: Tensor, rows: int) -> Tensor:
        """Return the tokens of one slot, ``[batch, tokens]``."""
        if slot.part == "item":
            return symbols[question.items[:, slot.number - 1 : slot.number]]
        if slot.part == "answer":
            return symbols[question.answers[:, slot.number - 1 : slot.number]]
        if slot.part == "query":
            assert question.query is not None
            return symbols[question.query]
        return torch.tensor(self.wording.part(slot.part), dtype=torch.long).expand(rows, -1)

    def _shape(self, items: int, shots: Sequence[int] | None = None) -> Shape:
        examples = self._shots(items) if shots is None else list(shots)
        slots = [self.slots(n, example=True) for n in examples]
        return shape_of([*slots, self.slots(items)], self.wording, self._answers(items))

    def slots(self, items: int, example: bool = False) -> list[Slot]:
        """Return a question with this many items; see :meth:`Presentation.slots`."""
        answers = self._answers(items) if example else self._answers(items) - 1
        return self.presentation.slots(items, not self._writes, answers, example)

    def _answers(self, items: int) -> int:
        return int(self.inner.answer_length(items)) if self._writes else 1  # type: ignore[attr-defined]

    # ---- methods that every task has ---------------------------------------------------------
    @property
    def tokens_names(self) -> tuple[str, ...]:
        return numbered_names("", self.vocabulary_size)

    @property
    def output_names(self) -> tuple[str, ...]:
        return self.tokens_names

    @property
    def bos(self) -> bool:
        return False

    def chance(self, law: Law, length: int) -> float:
        """Return one over the number of symbols."""
        return 1 / len(self.wording.symbols)

    def draw_strings(
        self, batch: int, length: int, generator: torch.Generator, law: Law, window: int | None
    ) -> tuple[Int[Tensor, "batch length"], dict[str, Tensor]]:
        raise TaskError(
            "a prompted task does not draw token sequences; draw its prompts with the option --presentation"
        )

    def label_strings(
        self, strings: Int[Tensor, "batch length"], meta: dict[str, Tensor]
    ) -> tuple[Tensor, Bool[Tensor, "batch length"], Tensor, Tensor | None]:
        raise TaskError(
            "a prompted task cannot label typed sequences; use its attribute inner, the task without a prompt"
        )

    def reference(self, tokens: Sequence[int]) -> list[Any]:
        raise TaskError(
            "a prompted task has no function for correct answers; use its attribute inner, the task without a prompt"
        )

    def answer(self, tokens: Int[Tensor, "batch window"]) -> Float[Tensor, "batch out"]:
        raise TaskError("a prompted task has no shortcut models; use its attribute inner, the task without a prompt")


class Shape(NamedTuple):
    """The layout that all prompts with one number of items share.

    Attributes:
        slots: the slots of each worked example, and of the question.
        numbers: see :class:`PresentedBatch`.
        places: index of each item of the question's context.
        asked: index after which each answer belongs; None if that answer is not supervised.
    """

    slots: list[list[Slot]]
    numbers: list[int]
    places: list[int]
    asked: list[int | None]


def shape_of(slots: list[list[Slot]], wording: Wording, answers: int) -> Shape:
    """Return the layout of prompts made of these slots; the last list of slots is the question."""
    numbers = [0] * len(wording.prefix)
    for example in slots[:-1]:
        numbers += [0] * sum(_width(slot, wording) for slot in example)
    places: list[int] = []
    asked: list[int | None] = []
    items = sum(slot.part == "item" for slot in slots[-1])
    begun = False
    for slot in slots[-1]:
        width = _width(slot, wording)
        if slot.part == "item":
            places.append(len(numbers))
            numbers.append(slot.number)
        else:
            numbers += [numbers[-1] if numbers else 0] * width
        begun = begun or (slot.part in ("ask", "query", "answer mark") and width > 0)
        if slot.part == "answer mark":
            asked.append(len(numbers) - 1 if begun else None)
            if begun and answers > 1:
                numbers[-1] = 1
        if slot.part == "answer":
            # Without a mark only the answers themselves show that they have begun. Their first half shows it.
            asked.append(len(numbers) - 1 if begun or 2 * slot.number >= answers else None)
            numbers[-1] = min(items, slot.number + 1)
    if answers == 1:
        numbers[-1] = items
    return Shape(slots, numbers, places, asked[:answers])


def _width(slot: Slot, wording: Wording) -> int:
    return 1 if slot.part in ("item", "query", "answer") else len(wording.part(slot.part))
