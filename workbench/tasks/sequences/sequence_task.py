"""Base class of input-to-output tasks: ``<bos> x <sep> y``, where the answer y is part of the sequence."""

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

__all__ = ["EOS", "SEP", "SequenceTask", "ids_of_all", "numbered_names", "symbol_names"]

SEP = "<sep>"
EOS = "<eos>"


class SequenceTask(Task):
    """The base class of tasks that answer an input x with several tokens y = f(x).

    A sequence is ``<bos> x_1 .. x_n <sep> y_1 .. y_m``. The target at ``<sep>`` is ``y_1``, and at each answer token
    the next one. The target at ``y_m`` is ``<eos>``, which is an answer but never a token. So the length is n + 1 + m,
    and the first n + 2 indices are the prompt. A sequence counts as answered if all of these m + 1 answers are right.

    A subclass states:

    - :attr:`alphabet`, :meth:`answer_length` and :meth:`chance`;
    - how inputs are drawn (:meth:`_inputs`);
    - f for a whole batch (:meth:`_outputs`), and f in plain Python (:meth:`solve`, the oracle).

    Token ids are BOS, the alphabet in its order, then the separator. The answer classes are :attr:`answer_alphabet` in
    its order, then ``<eos>``.

    Task states: ``output_summary`` is the class of the next answer, or the number of classes at positions without
    supervision.
    """

    separator: ClassVar[str] = SEP
    """Token name of the separator."""

    # ---- what a subclass states --------------------------------------------------------------
    @property
    @abstractmethod
    def alphabet(self) -> tuple[str, ...]:
        """Names of the tokens except BOS and the separator, in the order of their ids from 1 on."""

    @property
    def answer_alphabet(self) -> tuple[str, ...]:
        """Names of the tokens that answers consist of."""
        return self.alphabet

    def answer_length(self, inputs: int) -> int:
        """Return the number m of answer tokens, without ``<eos>``, for n = ``inputs`` tokens; grows with n."""
        return inputs

    def drawable(self, inputs: int) -> bool:
        """Whether the distributions contain inputs of exactly this many tokens."""
        return inputs >= 1

    @abstractmethod
    def _inputs(
        self, batch: int, inputs: int, generator: torch.Generator, law: Law, window: int | None
    ) -> tuple[Int[Tensor, "batch inputs"], dict[str, Tensor]]:
        """Draw inputs x of exactly this many tokens, and ``meta``."""

    @abstractmethod
    def _outputs(self, x: Int[Tensor, "batch inputs"]) -> Int[Tensor, "batch outputs"]:
        """Return y = f(x), as token ids; 0 for an answer that does not exist."""

    @abstractmethod
    def solve(self, x: Sequence[str]) -> list[str]:
        """Return y = f(x) on token names, in plain Python. This oracle shares no code with the sampler."""

    # ---- shared methods ----------------------------------------------------------------------
    @property
    def tokens_names(self) -> tuple[str, ...]:
        return (BOS, *self.alphabet, self.separator)

    @property
    def output_names(self) -> tuple[str, ...]:
        return (*self.answer_alphabet, EOS)

    @property
    def answer_tokens(self) -> tuple[int, ...]:
        """The token id of each answer class; 0 for ``<eos>``, which is never part of an input."""
        return _tokens_of(self.tokens_names, self.output_names)

    def input_length(self, length: int) -> int | None:
        """Return the number n of input tokens in a sequence of ``length``, or None if no n gives that length."""

        def total(inputs: int) -> int:
            return inputs + 1 + self.answer_length(inputs)

        inputs = bisect_left(range(length), length, key=total)
        return inputs if inputs < length and total(inputs) == length and self.drawable(inputs) else None

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
        """Return ``x <sep> y``, without BOS."""
        return torch.cat([x, x.new_full((len(x), 1), self.d_vocab - 1), self._outputs(x)], 1)

    def _separator_place(self, strings: Int[Tensor, "batch length"]) -> int:
        """Return the index (from 0) of the separator, which must be the same in every row."""
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
        supervised = slice(position, position + answers.shape[1])
        targets, mask = torch.zeros_like(strings), torch.zeros_like(strings, dtype=torch.bool)
        targets[:, supervised] = answers
        mask[:, supervised] = True
        return targets, mask, targets.where(mask, self.d_vocab_out), None

    def reference(self, tokens: Sequence[int]) -> list[Any]:
        """Return None up to the separator, then the answers of :meth:`solve` and ``<eos>``, up to the last token."""
        names = [self.tokens_names[token] for token in tokens]
        position = names.index(self.separator)
        answers = [self.output_names.index(name) for name in [*self.solve(names[:position]), EOS]]
        silent: list[int | None] = [None] * len(tokens)
        return (silent[:position] + answers + silent)[: len(tokens)]

    # ---- baselines ---------------------------------------------------------------------------
    @abstractmethod
    def chance(self, law: Law, length: int) -> float:
        """Return the share of sequences for which the best constant *whole* answer is right."""

    def answer(self, tokens: Int[Tensor, "batch window"]) -> Float[Tensor, "batch out"]:
        """Return ``<eos>``, which is always the last answer. :meth:`shortcuts` scores whole answers."""
        weights = torch.zeros(len(tokens), self.d_vocab_out, dtype=torch.float64, device=tokens.device)
        weights[:, -1] = 1.0
        return weights

    def shortcuts(self, batch: Batch, window: int) -> dict[str, Float[Tensor, " batch"]]:
        """Return the expected correctness of the *whole* answer, per sequence, of each shortcut oracle.

        - ``position_only``: the most frequent whole answer;
        - ``last_token``: the most frequent whole answer for each last input token;
        - ``first_window`` and ``last_window``: the answer to an input in which every hidden token equals the nearest
          visible token. Visible are as many input tokens as the longest training input has (in sequences of length
          ``window``). These oracles are left out if nothing is hidden.

        The first two learn from the other half of the batch. Otherwise a whole answer that occurs once would count as
        known.
        """
        assert batch.prompt is not None
        x, answers = batch.tokens[:, 1 : batch.prompt - 1], batch.targets[:, batch.prompt - 1 :]
        whole = answers.unique(dim=0, return_inverse=True)[1]
        hits = {
            "position_only": _learnt_elsewhere(whole, torch.zeros_like(whole)),
            "last_token": _learnt_elsewhere(whole, x[:, -1]),
        }
        visible = self._longest_input(window)
        if batch.length > window and 0 < visible < x.shape[1]:
            right = self._outputs(x)
            for name in ("last_window", "first_window"):
                guess = self._guess(x, visible, first=name == "first_window")
                hits[name] = (guess == right).all(1).double()
        return hits

    def _longest_input(self, window: int) -> int:
        """Return the number of input tokens in the longest sequences of length up to ``window``; 0 if none."""
        return next((n for n in map(self.input_length, range(window, 0, -1)) if n is not None), 0)

    def _guess(self, x: Int[Tensor, "batch inputs"], seen: int, first: bool) -> Int[Tensor, "batch outputs"]:
        """Return the answer computed from the first or last ``seen`` tokens of the input."""
        return self._outputs(self._as_seen(x, seen, first))

    def _as_seen(self, x: Int[Tensor, "batch inputs"], seen: int, first: bool) -> Int[Tensor, "batch inputs"]:
        """Return the input with only its first or last ``seen`` tokens; hidden ones copy the nearest visible."""
        position = torch.arange(x.shape[1], device=x.device)
        return x[:, position.clamp(max=seen - 1) if first else position.clamp(min=x.shape[1] - seen)]


def ids_of_all(ids: Sequence[int], strings: Int[Tensor, "batch length"]) -> Int[Tensor, "batch pos"]:
    """Return the same position ids for every sequence, BOS included: one per token, 0 after the given ones."""
    tokens = strings.shape[1] + 1
    padded = [*ids, *[0] * tokens][:tokens]
    return torch.tensor(padded, device=strings.device).expand(len(strings), -1)


@lru_cache(maxsize=64)
def numbered_names(prefix: str, count: int) -> tuple[str, ...]:
    """Return ``prefix`` with the numbers from 0 on."""
    return tuple(f"{prefix}{i}" for i in range(count))


def symbol_names(count: int) -> tuple[str, ...]:
    """Return names of ``count`` symbols: letters if they suffice, else ``s0``, ``s1``, ..."""
    letters = string.ascii_lowercase
    return tuple(letters[:count]) if count <= len(letters) else numbered_names("s", count)


@lru_cache(maxsize=64)
def _tokens_of(tokens: tuple[str, ...], outputs: tuple[str, ...]) -> tuple[int, ...]:
    """Return the token id of each answer class, 0 for a class that is not a token."""
    position = {name: i for i, name in enumerate(tokens)}
    return tuple(position.get(name, 0) for name in outputs)


@lru_cache(maxsize=64)
def _classes_of(tokens: tuple[str, ...], outputs: tuple[str, ...]) -> tuple[int, ...]:
    """Return the answer class of each token id, -1 for a token that is not an answer."""
    position = {name: i for i, name in enumerate(outputs)}
    return tuple(position.get(name, -1) for name in tokens)


def _learnt_elsewhere(answers: Int[Tensor, " batch"], group: Int[Tensor, " batch"]) -> Float[Tensor, " batch"]:
    """Return whether each answer is the most frequent one of its group in the other half of the batch."""
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
