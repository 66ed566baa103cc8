"""State-space models compiled from cascades of latches, counters and tests, exact at every length in use.

Every layer reads whole numbers from the residual stream, the token among them, and adds whole numbers to it. A channel
is on (value :data:`ON`) if an affine expression is at least 1, and off if it is at most 0. This works because silu of a
large number is that number, and silu of a large negative number is 0. Channels that are on change states by exactly 1,
as long as sums stay below 2^24.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import torch

from workbench.models.handmade.blank import without_weights
from workbench.models.ssm.config import SSMConfig
from workbench.models.ssm.model import HookedSSM

Affine = Mapping[str, int]
"""Coefficients of features by name, those of tokens among them; :data:`CONSTANT` is 1."""
ON, STEP = 64.0, 128.0
"""The value of a channel that is on, and a step size after which exp(-step) is 0 in float32. Both are powers of two, so
that products are exact.
"""
NEVER = -1e4
"""Log of a rate that is 0 in float32: the gate is 1 whatever the step."""
CONSTANT = "always"


@dataclass(frozen=True)
class Latch:
    """A bit that is set when one expression is 1 and cleared when another is 1. Both are at most 1, and never both
    1.
    """

    name: str
    set: Affine
    clear: Affine


@dataclass(frozen=True)
class Counter:
    """The sum over the tokens so far of coefficients times expressions; each expression is at most 1."""

    name: str
    counted: Sequence[tuple[int, Affine]]


@dataclass(frozen=True)
class Test:
    """A stateless bit: whether an expression of the current token and earlier layers is at least 1."""

    __test__ = False  # no test of ours, whatever the collector of tests takes it for

    name: str
    value: Affine


@dataclass(frozen=True)
class Before:
    """The value of a bit of an earlier layer at the previous token; 0 at the first token."""

    name: str
    of: str


Part = Latch | Counter | Test | Before
Layer = Sequence[Part]


@dataclass(frozen=True)
class Cascade:
    """A machine: layers whose parts read tokens and earlier layers, and answers that are features.

    Attributes:
        tokens: names of the tokens in the order of their ids.
        layers: the parts of each layer.
        answers: names of the features that are the answers; 1 means yes.
    """

    tokens: tuple[str, ...]
    layers: tuple[tuple[Part, ...], ...]
    answers: tuple[str, ...] = ("answer",)

    @property
    def stateful(self) -> int:
        """Number of layers that have a state."""
        return sum(any(isinstance(part, Latch | Counter) for part in layer) for layer in self.layers)

    @property
    def latches(self) -> int:
        """Number of bits in latches."""
        return sum(isinstance(part, Latch) for layer in self.layers for part in layer)


def compile_cascade(cascade: Cascade) -> HookedSSM:
    """The state-space model of a cascade: gates in {0, 1}, one state per channel, one layer for each of its layers.

    Its outputs ``[batch, pos, answer]`` are positive exactly if an answer is yes.
    """
    features = [CONSTANT, *cascade.tokens, *(part.name for layer in cascade.layers for part in layer)]
    at = {name: place for place, name in enumerate(features)}
    assert len(at) == len(features), "a feature has two meanings"
    inner = max(sum(_channels(part) for part in layer) for layer in cascade.layers)
    cfg = SSMConfig(
        d_vocab=len(cascade.tokens), d_vocab_out=len(cascade.answers), n_layers=len(cascade.layers),
        d_model=len(features), d_inner=inner, d_state=1, d_conv=2, dt_rank=inner, n_ctx=1, normalization_type=None,
        gates="nonnegative",
    )  # fmt: skip
    model = without_weights(HookedSSM(cfg))
    with torch.no_grad():
        model.embed.W_E[:, 0] = 1.0
        model.embed.W_E[:, 1 : 1 + len(cascade.tokens)] = torch.eye(len(cascade.tokens))
        for answer, name in enumerate(cascade.answers):
            model.unembed.W_U[at[name], answer] = 1.0
            model.unembed.W_U[0, answer] = -0.5
        for block, layer in zip(model.blocks, cascade.layers, strict=True):
            writer = _Mixer(block.mixer, at)  # type: ignore[union-attr]
            for part in layer:
                writer.add(part)
    model.eval()
    return model


def _channels(part: Part) -> int:
    return len(part.counted) if isinstance(part, Counter) else 1 if isinstance(part, Before) else 2


class _Mixer:
    """Writes parts into the weights of one layer, channel by channel."""

    def __init__(self, mixer: Any, at: Mapping[str, int]) -> None:
        self.mixer, self.at, self.channel = mixer, at, 0
        inner = mixer.cfg.d_inner
        mixer.W_in[0, inner:] = ON  # the output gate of every channel is open
        mixer.W_dt_in[:] = torch.eye(inner)
        mixer.b_dt[:] = -STEP
        mixer.b_B[:] = 1 / (STEP * ON)  # what an open channel writes is 1
        mixer.b_C[:] = 1.0

    def add(self, part: Part) -> None:
        mixer = self.mixer
        if isinstance(part, Latch):
            held, cleared = self._on(part.set), self._on(part.clear)
            mixer.W_dt[[held, cleared], held] = 2 * STEP / ON
            self._out(held, part.name, 1)
        elif isinstance(part, Counter):
            for factor, counted in part.counted:
                channel = self._on(counted)
                mixer.A_log[channel] = NEVER
                mixer.b_dt[channel] = STEP
                self._out(channel, part.name, factor)
        elif isinstance(part, Test):
            # relu(2 e - 1) - relu(2 e - 2) is 1 where e >= 1 and 0 where e <= 0.
            for offset, sign in ((1, 1), (2, -1)):
                channel = self._on(part.value, offset)
                mixer.D[channel] = 1 / ON
                self._out(channel, part.name, sign)
        else:
            channel = self._on({part.of: 1}, before=True)
            mixer.D[channel] = 1 / ON
            self._out(channel, part.name, 1)

    def _on(self, expression: Affine, offset: int = 1, before: bool = False) -> int:
        """The index of a new channel with the value ON * relu(2 expression - offset)."""
        channel, self.channel = self.channel, self.channel + 1
        for name, factor in expression.items():
            self.mixer.W_in[self.at[name], channel] += 2 * ON * factor
        self.mixer.W_conv[channel, 0 if before else 1] = 1.0
        self.mixer.b_conv[channel] = -offset * ON
        return channel

    def _out(self, channel: int, name: str, factor: int) -> None:
        self.mixer.W_out[channel, self.at[name]] += factor / ON


# ---- machines ------------------------------------------------------------------------------------
def counted_brackets(pairs: Sequence[tuple[str, str]], tokens: Sequence[str]) -> Cascade:
    """Return a cascade for Dyck-1 and its shuffles, with one counter for each pair of brackets.

    No counter may fall below 0, and all must be 0 at the end of a word.
    """
    depths = tuple(Counter(f"depth {o}", ((1, {o: 1}), (-1, {c: 1}))) for o, c in pairs)
    signs = tuple(
        Test(f"{kind} {o}", {f"depth {o}": sign}) for o, _ in pairs for kind, sign in (("open", 1), ("below", -1))
    )
    below: Affine = {f"below {o}": 1 for o, _ in pairs}
    # Set and never cleared, so that it may be set twice at once; 2 is as good as 1.
    violated = Latch("violated", below, {})
    answer = Test("answer", {CONSTANT: 1, "violated": -1, **{f"open {o}": -1 for o, _ in pairs}})
    return Cascade(tuple(tokens), (depths, signs, (violated,), (answer,)))


def equal_blocks(letters: Sequence[str], tokens: Sequence[str]) -> Cascade:
    """a^n b^n c^n ..: counts of neighbouring letters are compared, and no letter may come after a later one."""
    pairs = list(pairwise(letters))
    latches = tuple(Latch(f"seen {letter}", {letter: 1}, {}) for letter in letters[1:])
    counts = tuple(Counter(f"{a} - {b}", ((1, {a: 1}), (-1, {b: 1}))) for a, b in pairs)
    late = [(a, b) for i, a in enumerate(letters) for b in letters[i + 1 :]]
    disorder = tuple(Test(f"{a} behind {b}", {a: 1, f"seen {b}": 1, CONSTANT: -1}) for a, b in late)
    more = tuple(Test(f"more {a}", {f"{a} - {b}": 1}) for a, b in pairs)
    fewer = tuple(Test(f"fewer {a}", {f"{a} - {b}": -1}) for a, b in pairs)
    violated = Latch("violated", {f"{a} behind {b}": 1 for a, b in late}, {})
    unequal = {f"{word} {a}": -1 for a, _ in pairs for word in ("more", "fewer")}
    answer = Test("answer", {CONSTANT: 1, "violated": -1, **unequal})
    return Cascade(tuple(tokens), ((*latches, *counts), (*disorder, *more, *fewer), (violated,), (answer,)))


def prefix_expressions(arities: Mapping[str, int], tokens: Sequence[str]) -> Cascade:
    """Expressions in prefix notation. One operand is missing at first, and the word ends when no operand is missing."""
    wanted = Counter("more wanted", tuple((arity - 1, {name: 1}) for name, arity in arities.items()))
    done = Test("done", {"more wanted": -1})
    dead = Latch("dead", {"was done": 1}, {})
    answer = Test("answer", {"done": 1, "dead": -1})
    return Cascade(tuple(tokens), ((wanted,), (done,), (Before("was done", "done"),), (dead,), (answer,)))


def contains_twice(letter: str, others: Sequence[str], tokens: Sequence[str]) -> Cascade:
    """Some letter twice in a row: has the letter come again directly after itself?"""
    last = Latch("last", {letter: 1}, dict.fromkeys(others, 1))
    found = Latch("answer", {letter: 1, "was last": 1, CONSTANT: -1}, {})
    return Cascade(tuple(tokens), ((last,), (Before("was last", "last"),), (found,)))


def never_three(letter: str, others: Sequence[str], tokens: Sequence[str]) -> Cascade:
    """Tomita 4: a letter never three times in a row."""
    one = Latch("one", {letter: 1}, dict.fromkeys(others, 1))
    two = Latch("two", {letter: 1, "was one": 1, CONSTANT: -1}, dict.fromkeys(others, 1))
    dead = Latch("dead", {letter: 1, "was two": 1, CONSTANT: -1}, {})
    answer = Test("answer", {CONSTANT: 1, "dead": -1})
    layers = ((one,), (Before("was one", "one"),), (two,), (Before("was two", "two"),), (dead,), (answer,))
    return Cascade(tuple(tokens), layers)


def last_of_two(letter: str, other: str, tokens: Sequence[str]) -> Cascade:
    """{0,1,2}*02*: of two letters this one came last."""
    return Cascade(tuple(tokens), ((Latch("answer", {letter: 1}, {other: 1}),),))


def depth_two(opening: str, closing: str, tokens: Sequence[str]) -> Cascade:
    """D_2, balanced words of depth up to 2, without a counter.

    Brackets alternate, except when the depth goes from 0 to 2 by two opening ones, or from 2 to 0 by two closing ones.
    The latest of these double steps and the last bracket determine the depth. The start counts as two closing brackets.
    """
    opened = Latch("opened", {opening: 1}, {closing: 1})
    high = Latch("high", {opening: 1, "was opened": 1, CONSTANT: -1}, {closing: 1, "was opened": -1})
    over = Test("over", {opening: 1, "was opened": 1, "was high": 1, CONSTANT: -2})
    under = Test("under", {closing: 1, "was opened": -1, "was high": -1})
    dead = Latch("dead", {"over": 1, "under": 1}, {})
    answer = Test("answer", {CONSTANT: 1, "opened": -1, "high": -1, "dead": -1})
    first = ((opened,), (Before("was opened", "opened"),), (high,), (Before("was high", "high"),))
    return Cascade(tuple(tokens), (*first, (over, under), (dead,), (answer,)))


def bounded_stack(kinds: int, height: int) -> Cascade:
    """Return a cascade that computes which bracket may close next, for Dyck words of several brackets with bounded
    depth.

    The first layer counts the depth. The third layer stores the kind of bracket at each depth in log2 K bits, which the
    next bracket that opens at that depth overwrites. The other layers compare and have no state.

    Tokens: BOS, then the opening brackets ``(0`` .., then the closing ones. The answers are the bits of the kind on
    top, lowest first, then whether the stack is empty and whether it is full.
    """
    opening, closing = [f"({kind}" for kind in range(kinds)], [f"){kind}" for kind in range(kinds)]
    bits = range(max(1, (kinds - 1).bit_length()))
    depth = Counter("depth", (*((1, {name: 1}) for name in opening), *((-1, {name: 1}) for name in closing)))
    levels = tuple(Test(f"at least {level}", {"depth": 1, CONSTANT: 1 - level}) for level in range(1, height + 2))

    def here(level: int, names: Sequence[str]) -> dict[str, int]:
        """1 where one of these opens and this is the depth behind it."""
        return {**dict.fromkeys(names, 1), f"at least {level}": 1, f"at least {level + 1}": -1, CONSTANT: -1}

    slots = tuple(
        Latch(
            f"slot {level} bit {bit}",
            here(level, [name for kind, name in enumerate(opening) if kind >> bit & 1]),
            here(level, [name for kind, name in enumerate(opening) if not kind >> bit & 1]),
        )
        for level in range(1, height + 1)
        for bit in bits
    )
    tops = tuple(
        Test(
            f"top {level} bit {bit}",
            {f"slot {level} bit {bit}": 1, f"at least {level}": 1, f"at least {level + 1}": -1, CONSTANT: -1},
        )
        for level in range(1, height + 1)
        for bit in bits
    )
    ends = tuple(Test(f"bit {bit}", {f"top {level} bit {bit}": 1 for level in range(1, height + 1)}) for bit in bits)
    edges = (Test("empty", {CONSTANT: 1, "at least 1": -1}), Test("full", {f"at least {height}": 1}))
    answers = (*(f"bit {bit}" for bit in bits), "empty", "full")
    return Cascade(("<bos>", *opening, *closing), ((depth,), levels, slots, tops, (*ends, *edges)), answers)
