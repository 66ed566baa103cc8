"""Input-to-output tasks: ``<bos> x <sep> y``, the answer shown token by token as it is asked for."""

from __future__ import annotations

import string
from abc import abstractmethod
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any, ClassVar

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor
from torch.nn import functional as F

from workbench.tasks.base import BOS, Batch, Law, Task, TaskError

__all__ = ["EOS", "SEP", "SequenceTask", "ids_of_all", "numbered", "symbol_names"]

SEP = "<sep>"
EOS = "<eos>"


class SequenceTask(Task):
    """Base of tasks that answer an input x with several tokens y = f(x).

    A sequence is ``<bos> x_1 .. x_n <sep> y_1 .. y_m``: ``y_1`` is asked for at ``<sep>``, each further
    token at the one before it, and ``<eos>``, which is an answer but never a token, at ``y_m``. So the
    length is n + 1 + m, and the first n + 2 indices are the prompt. A sequence counts as answered when
    every one of these m + 1 answers is right.

    A subclass states :attr:`alphabet`, :meth:`answer_length`, how inputs are drawn (:meth:`_inputs`), f
    for a whole batch (:meth:`_outputs`), f once more in plain Python (:meth:`solve`, the oracle), and
    :meth:`chance`. Token ids are BOS, the alphabet in its order, then the separator; the answer classes are
    :attr:`answer_alphabet` in its order, then ``<eos>``.

    The output summary is the class of the next answer, or the number of classes where none is asked.
    """

    separator: ClassVar[str] = SEP
    """Token name of the separator."""

    # ---- what a subclass states --------------------------------------------------------------
    @property
    @abstractmethod
    def alphabet(self) -> tuple[str, ...]:
        """Names of the tokens beside BOS and the separator, in the order of their ids from 1 on."""

    @property
    def answer_alphabet(self) -> tuple[str, ...]:
        """Names of the tokens that answers consist of."""
        return self.alphabet

    def answer_length(self, inputs: int) -> int:
        """Number m of answer tokens (without ``<eos>``) to an input of n = ``inputs`` tokens; grows with n."""
        return inputs

    def drawable(self, inputs: int) -> bool:
        """Whether the laws have inputs of exactly so many tokens."""
        return inputs >= 1

    @abstractmethod
    def _inputs(
        self, batch: int, inputs: int, generator: torch.Generator, law: Law, window: int | None
    ) -> tuple[Int[Tensor, "batch inputs"], dict[str, Tensor]]:
        """Draw inputs x of exactly so many tokens, and meta."""

    @abstractmethod
    def _outputs(self, x: Int[Tensor, "batch inputs"]) -> Int[Tensor, "batch outputs"]:
        """y = f(x), as token ids; 0 for an answer that does not exist."""

    @abstractmethod
    def solve(self, x: Sequence[str]) -> list[str]:
        """y = f(x) on token names, in plain Python and sharing no code with the sampler: the oracle."""

    # ---- what follows ------------------------------------------------------------------------
    @property
    def tokens_names(self) -> tuple[str, ...]:
        return (BOS, *self.alphabet, self.separator)

    @property
    def output_names(self) -> tuple[str, ...]:
        return (*self.answer_alphabet, EOS)

    @property
    def answer_tokens(self) -> tuple[int, ...]:
        """Token id of each answer class; 0 for ``<eos>``, which is never fed back."""
        return _tokens_of(self.tokens_names, self.output_names)

    def input_length(self, length: int) -> int | None:
        """The number n of input tokens in a sequence of ``length``, or None where no n gives that length."""

        def total(inputs: int) -> int:
            return inputs + 1 + self.answer_length(inputs)

        found = bisect_left(range(length), length, key=total)
        return found if found < length and total(found) == length and self.drawable(found) else None

    def admissible(self, length: int) -> bool:
        return length >= 1 and self.input_length(length) is not None

    def prompt_of(self, length: int) -> int | None:
        inputs = self.input_length(length)
        return None if inputs is None else inputs + 2

    def draw_strings(
        self, batch: int, length: int, generator: torch.Generator, law: Law, window: int | None
    ) -> tuple[Int[Tensor, "batch length"], dict[str, Tensor]]:
        inputs = self.input_length(length)
        assert inputs is not None, "sample() has refused lengths that are not admissible"
        x, meta = self._inputs(batch, inputs, generator, law, window)
        return self._sequence(x), meta

    def _sequence(self, x: Int[Tensor, "batch inputs"]) -> Int[Tensor, "batch length"]:
        """``x <sep> y``, without BOS."""
        return torch.cat([x, x.new_full((len(x), 1), self.d_vocab - 1), self._outputs(x)], 1)

    def _separator_place(self, strings: Int[Tensor, "batch length"]) -> int:
        """Place (from 0) of the separator, which must be one and the same in every row."""
        rows = len(strings)
        counts = (strings == self.d_vocab - 1).sum(0).tolist()
        if sum(counts) != rows or rows not in counts:
            raise TaskError(f"{self.name} needs one {self.separator!r} in every sequence, at the same position in all")
        return counts.index(rows)

    def _batch(self, strings: Int[Tensor, "batch length"], law: str, meta: dict[str, Tensor]) -> Batch:
        return replace(super()._batch(strings, law, meta), prompt=self._separator_place(strings) + 2)

    def label_strings(
        self, strings: Int[Tensor, "batch length"], meta: dict[str, Tensor]
    ) -> tuple[Tensor, Bool[Tensor, "batch length"], Tensor, Tensor | None]:
        position = self._separator_place(strings)
        classes = torch.tensor(_classes_of(self.tokens_names, self.output_names), device=strings.device)
        answers = classes[self._outputs(strings[:, :position])]
        if bool((answers < 0).any()):
            raise TaskError(f"{self.name} has no answer to one of these inputs")
        answers = F.pad(answers, (0, 1), value=self.d_vocab_out - 1)[:, : strings.shape[1] - position]
        asked = slice(position, position + answers.shape[1])
        targets, mask = torch.zeros_like(strings), torch.zeros_like(strings, dtype=torch.bool)
        targets[:, asked] = answers
        mask[:, asked] = True
        return targets, mask, targets.where(mask, self.d_vocab_out), None

    def reference(self, tokens: Sequence[int]) -> list[Any]:
        """None up to the separator, then the answers of :meth:`solve` and ``<eos>``, as far as tokens go."""
        names = [self.tokens_names[token] for token in tokens]
        position = names.index(self.separator)
        answers = [self.output_names.index(name) for name in [*self.solve(names[:position]), EOS]]
        silent: list[int | None] = [None] * len(tokens)
        return (silent[:position] + answers + silent)[: len(tokens)]

    # ---- floors ------------------------------------------------------------------------------
    @abstractmethod
    def chance(self, law: Law, length: int) -> float:
        """Share of sequences that the best constant *whole* answer gets right."""

    def answer(self, tokens: Int[Tensor, "batch window"]) -> Float[Tensor, "batch out"]:
        """The last answer is always ``<eos>``; whole answers are judged by :meth:`shortcuts`."""
        weights = torch.zeros(len(tokens), self.d_vocab_out, dtype=torch.float64, device=tokens.device)
        weights[:, -1] = 1.0
        return weights

    def shortcuts(self, batch: Batch, window: int) -> dict[str, Float[Tensor, " batch"]]:
        """Expected correctness of the *whole* answer, per sequence, of the stated shortcut oracles.

        ``position_only`` gives the most frequent whole answer, ``last_token`` the most frequent one to each
        last input token; both learn it on the other half of the batch, for whole answers seen but once
        would otherwise count as known. ``first_window`` and ``last_window`` see as many input tokens as the
        longest input in training has (the one in sequences of length ``window``), take every hidden token
        to be like the visible one next to it, and answer that; they are left out where nothing is hidden.
        """
        assert batch.prompt is not None
        x, answers = batch.tokens[:, 1 : batch.prompt - 1], batch.targets[:, batch.prompt - 1 :]
        whole = answers.unique(dim=0, return_inverse=True)[1]
        found = {
            "position_only": _learnt_elsewhere(whole, torch.zeros_like(whole)),
            "last_token": _learnt_elsewhere(whole, x[:, -1]),
        }
        seen = self._longest_input(window)
        if batch.length > window and 0 < seen < x.shape[1]:
            right = self._outputs(x)
            for name in ("last_window", "first_window"):
                guess = self._guess(x, seen, first=name == "first_window")
                found[name] = (guess == right).all(1).double()
        return found

    def _longest_input(self, window: int) -> int:
        """Input tokens in the longest sequences of length up to ``window``; 0 if there are none."""
        return next((n for n in map(self.input_length, range(window, 0, -1)) if n is not None), 0)

    def _guess(self, x: Int[Tensor, "batch inputs"], seen: int, first: bool) -> Int[Tensor, "batch outputs"]:
        """The answer as it looks through a window on the first or last ``seen`` tokens of the input."""
        return self._outputs(self._as_seen(x, seen, first))

    def _as_seen(self, x: Int[Tensor, "batch inputs"], seen: int, first: bool) -> Int[Tensor, "batch inputs"]:
        """The input as it looks through a window on its first or last ``seen`` tokens."""
        position = torch.arange(x.shape[1], device=x.device)
        return x[:, position.clamp(max=seen - 1) if first else position.clamp(min=x.shape[1] - seen)]


def ids_of_all(ids: Sequence[int], strings: Int[Tensor, "batch length"]) -> Int[Tensor, "batch pos"]:
    """The same position ids for every string, BOS included: as many as there are tokens, 0 where none is left."""
    tokens = strings.shape[1] + 1
    shown = [*ids, *[0] * tokens][:tokens]
    return torch.tensor(shown, device=strings.device).expand(len(strings), -1)


@lru_cache(maxsize=64)
def numbered(prefix: str, count: int) -> tuple[str, ...]:
    """``prefix`` with the numbers from 0 on."""
    return tuple(f"{prefix}{i}" for i in range(count))


def symbol_names(count: int) -> tuple[str, ...]:
    """Names of ``count`` symbols: letters as far as they reach, else ``s0``, ``s1``, ..."""
    letters = string.ascii_lowercase
    return tuple(letters[:count]) if count <= len(letters) else numbered("s", count)


@lru_cache(maxsize=64)
def _tokens_of(tokens: tuple[str, ...], outputs: tuple[str, ...]) -> tuple[int, ...]:
    """Token id of each answer class, 0 where the class is no token."""
    position = {name: i for i, name in enumerate(tokens)}
    return tuple(position.get(name, 0) for name in outputs)


@lru_cache(maxsize=64)
def _classes_of(tokens: tuple[str, ...], outputs: tuple[str, ...]) -> tuple[int, ...]:
    """Answer class of each token id, -1 where the token is no answer."""
    position = {name: i for i, name in enumerate(outputs)}
    return tuple(position.get(name, -1) for name in tokens)


def _learnt_elsewhere(answers: Int[Tensor, " batch"], group: Int[Tensor, " batch"]) -> Float[Tensor, " batch"]:
    """Whether each answer is the most frequent one of its group in the other half of the batch."""
    kinds = group.unique(return_inverse=True)[1]
    half = torch.arange(len(answers), device=answers.device) < len(answers) // 2
    correct = torch.zeros(len(answers), dtype=torch.float64, device=answers.device)
    if len(answers) < 2:
        return correct
    for rows in (half, ~half):
        counts = torch.zeros(int(kinds.max()) + 1, int(answers.max()) + 1, device=answers.device)
        counts.index_put_((kinds[~rows], answers[~rows]), torch.ones(()), accumulate=True)
        most, best = counts.max(1)
        correct[rows] = ((answers == best[kinds]) & (most[kinds] > 0))[rows].double()
    return correct
