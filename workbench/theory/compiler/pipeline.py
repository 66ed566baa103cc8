"""Compiles programs to transformers: weights that compute a C-RASP program exactly at every prefix.

    >>> from workbench.theory.compiler.pipeline import compile
    >>> from workbench.theory.crasp.programs import dyck_1
    >>> compiled = compile(dyck_1(), n_max=100)
    >>> compiled.sizes
    Sizes(layers=4, d_model=15, mlp=(6, 2, 2, 2), heads=(('uniform',), (), ('uniform',), ()))

The construction is in :mod:`workbench.theory.compiler.placement`, its rounding errors in
:mod:`workbench.theory.compiler.error_budget`. Three options make broken variants of a program, which agree with it on
short prefixes and not on all long ones:

- *small gain*: a program compiled for ``n_max`` and run beyond it. A comparison errs exactly if 0 <= d and (d + 1/2) *
  4 (n_max + 1) / (n + 1) <= 1/2, on small-margin inputs;
- *first keys*: ``first_keys=N`` hides all keys after position N from every head;
- *weak score*: with a small ``score`` offset heads disperse as soon as log K is near it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from torch import Tensor

from workbench.core.suggest import nearest
from workbench.models import HookedTransformer, ModelConfig
from workbench.models.handmade.blank import without_weights
from workbench.theory.compiler.error_budget import ErrorBudget, error_budget
from workbench.theory.compiler.placement import BOS, ONE, Affine, Wiring
from workbench.theory.crasp.parser import LARGEST_REACH
from workbench.theory.crasp.program import Program
from workbench.theory.crasp.syntax import CraspError, Node, written_out

__all__ = ["Compiled", "Sizes", "compile"]

SCORE, LOG_SCALED_SCORE = 60.0, 40.0
"""Scores of the lag that an offset head attends to, the second where scores are multiplied by log K.

The head reads e^s / (e^s + e^(s/2) + K - 2) of what stands there, and under log scaling
K^s / (K^s + K^(s/2) + K - 2): without it s must exceed log K, with it 1.
"""
HIDDEN_SCORE = -60.0
"""Score of keys that ``first_keys`` hides."""
LARGEST_PROGRAM = 100_000
"""Expressions of a program, written out in full: parts are ordered by their text."""
MOST_NUMBERS = 1 << 28
"""Numbers of a compiled model."""
LATE = "late"
BLOCK = 1 << 16
"""Positions per forward pass."""


@dataclass(frozen=True)
class Sizes:
    """The sizes that a program needs. A model may have more, because all its blocks have equally many heads.

    Attributes:
        layers: blocks.
        d_model: dimensions of the residual stream.
        mlp: hidden units per block.
        heads: per block the heads that are used: ``uniform``, or ``offset t``. The further heads of a model are 0.
    """

    layers: int
    d_model: int
    mlp: tuple[int, ...]
    heads: tuple[tuple[str, ...], ...]


@dataclass(frozen=True, eq=False)
class Compiled:
    """A C-RASP program and the transformer that computes it.

    Token ids are BOS 0 and the symbols from 1 on in the order of the alphabet. The model's answers are ``reject`` and
    ``accept`` for a program with one output; else one per output, in order. A logit is positive exactly if that answer
    is right.

    Attributes:
        program: the program.
        model: the transformer, in evaluation mode.
        n_max: the longest prefix for which it is exact.
        dims: names of the residual dimensions, in order (see :mod:`workbench.theory.compiler.placement`).
        meaning: for all dimensions except tokens, residues and constants, the kind and the expression.
        sizes: the sizes that the program needs.
        budget: rounding errors against margins.
    """

    program: Program = field(repr=False)
    model: HookedTransformer = field(repr=False)
    n_max: int
    dims: tuple[str, ...] = field(repr=False)
    meaning: Mapping[str, tuple[str, Node]] = field(repr=False)
    sizes: Sizes
    budget: ErrorBudget

    @cached_property
    def token_ids(self) -> dict[str, int]:
        """Ids by name, BOS included."""
        return {"<bos>": 0} | {symbol: self.program.token(symbol) for symbol in self.program.alphabet}

    @property
    def answers(self) -> tuple[str, ...]:
        """Names of the model's outputs."""
        return self.program.outputs if len(self.program.outputs) > 1 else ("reject", "accept")

    def dim(self, name: str) -> int:
        """Index of the residual dimension of that name.

        Raises:
            CraspError: if there is none.
        """
        if name not in self.dims:
            raise CraspError(f"no residual dimension is called {name!r}; {nearest(name, self.dims)}")
        return self.dims.index(name)

    def tokens(self, strings: ArrayLike) -> Tensor:
        """Token ids ``[batch, 1 + pos]`` of strings ``[batch, pos]`` (see :func:`crasp_evaluator.evaluate`).

        Raises:
            CraspError: for strings longer than ``n_max``, if the model was compiled with ``first_keys``.
        """
        ids = torch.as_tensor(np.asarray(strings), dtype=torch.long)
        if LATE in self.dims and ids.shape[1] > self.n_max:
            raise CraspError(f"with first_keys this model has {self.n_max} positions (n_max), not {ids.shape[1]}")
        return torch.cat([torch.zeros_like(ids[:, :1]), ids], 1)

    def evaluate(self, strings: ArrayLike) -> dict[str, NDArray[np.bool_]]:
        """Return the model's answer at every prefix, in the form of :func:`crasp_evaluator.evaluate`.

        Args:
            strings: token ids ``[batch, pos]`` without BOS.
        """
        tokens = self.tokens(strings).to(self.model.W_E.device)
        with torch.no_grad():
            parts = [(self.model(rows)[:, 1:] > 0).cpu().numpy() for rows in self._blocks(tokens)]
        positive = np.concatenate(parts)
        first = len(self.answers) - len(self.program.outputs)
        return {name: positive[..., first + k] for k, name in enumerate(self.program.outputs)}

    def _blocks(self, tokens: Tensor) -> Iterator[Tensor]:
        step = max(1, BLOCK // tokens.shape[1])
        return (tokens[start : start + step] for start in range(0, max(1, len(tokens)), step))


def compile(
    program: Program,
    n_max: int,
    *,
    log_scaled: bool = False,
    first_keys: int | None = None,
    score: float | None = None,
    dtype: Literal["float32", "float64"] | None = None,
) -> Compiled:
    """Return the transformer of a program, exact at every prefix of up to ``n_max`` symbols.

    Programs without periodic and local predicates need no positions; the others have limit positions.

    Args:
        program: the program.
        n_max: longest prefix; a small value makes the small-gain variant.
        log_scaled: multiply each row of scores by the log of the number of visible keys.
        first_keys: hide all keys after this position: the first-keys variant. It reads absolute positions, up to
            ``n_max`` of them.
        score: the score that offset heads give their lag; None = 60, or 40 with log scaling.
        dtype: precision of the weights; None = the precision that the error budget requires.

    Raises:
        CraspError: for impossible sizes, and a program that is too large.
    """
    try:
        return _compiled(program, n_max, log_scaled, first_keys, score, dtype)
    except RecursionError:
        raise CraspError("the program is nested too deep to be compiled: counts of counts of counts ..") from None


def _compiled(
    program: Program,
    n_max: int,
    log_scaled: bool,
    first_keys: int | None,
    score: float | None,
    dtype: Literal["float32", "float64"] | None,
) -> Compiled:
    size = written_out(program[name] for name in program.outputs)
    if size > LARGEST_PROGRAM:
        raise CraspError(
            f"the program has {size:,} expressions if each use of a line is written out, but at most "
            f"{LARGEST_PROGRAM:,} can be compiled; use fewer or shorter lines"
        )
    if program.modulus > LARGEST_REACH:
        raise CraspError(
            f"the least common multiple of its moduli is {program.modulus:,} positions, but at most {LARGEST_REACH:,} "
            "are possible; use smaller moduli, or moduli that divide each other"
        )
    budget = error_budget(program, n_max)
    if first_keys is not None and not 1 <= first_keys <= n_max:
        raise CraspError(f"first_keys is a position in 1..{n_max} (n_max), not {first_keys}")
    if dtype not in (None, "float32", "float64"):
        raise CraspError(
            f"a compiled model needs float32 or float64, not {dtype}: with K keys, 1 / K must be larger than the "
            "rounding error"
        )
    wiring = Wiring(program, n_max)
    usual = LOG_SCALED_SCORE if log_scaled else SCORE
    assembly = _Assembly(wiring, log_scaled, first_keys, usual if score is None else score)
    if (numbers := assembly.config().least_numbers) > MOST_NUMBERS:
        raise CraspError(
            f"its transformer would have at least {numbers:,} weights, and at most {MOST_NUMBERS:,} are allowed: use "
            "fewer symbols and lines, or smaller moduli and offsets"
        )
    model = assembly.model().to(torch.float64 if (dtype or budget.dtype) == "float64" else torch.float32)
    return Compiled(program, model.eval(), n_max, tuple(assembly.dims), wiring.meaning, assembly.sizes(), budget)


class _Assembly:
    """Writes a wiring into the weights of a model."""

    def __init__(self, wiring: Wiring, log_scaled: bool, first_keys: int | None, score: float) -> None:
        self.wiring = wiring
        self.log_scaled = log_scaled
        self.first_keys = first_keys
        self.score = score
        names = [*wiring.dims, *([LATE] if first_keys is not None else [])]
        self.dims = {name: position for position, name in enumerate(names)}
        self.heads: list[dict[int | None, list[Any]]] = [{} for _ in range(wiring.layers)]
        for column in sorted(wiring.columns, key=lambda c: -1 if c.offset is None else c.offset):
            self.heads[column.layer].setdefault(column.offset, []).append(column)
        self.units = [[unit for unit in wiring.units if unit.layer == layer] for layer in range(wiring.layers)]

    def sizes(self) -> Sizes:
        names = [tuple("uniform" if t is None else f"offset {t}" for t in heads) for heads in self.heads]
        return Sizes(self.wiring.layers, len(self.dims), tuple(map(len, self.units)), tuple(names))

    def config(self) -> ModelConfig:
        outputs = len(self.wiring.outputs)
        return ModelConfig(
            d_vocab=1 + len(self.wiring.program.alphabet),
            d_vocab_out=outputs if outputs > 1 else 2,
            n_layers=self.wiring.layers,
            d_model=len(self.dims),
            n_heads=max(1, *(len(heads) for heads in self.heads)),
            d_head=max((len(columns) for heads in self.heads for columns in heads.values()), default=1),
            d_mlp=tuple(len(units) for units in self.units),
            n_ctx=self.wiring.n_max + 1,
            positions=self.positions(),
            log_scaling="all" if self.log_scaled else "none",
            act_fn="relu",
            normalization_type=None,
        )

    def positions(self) -> dict[str, Any]:
        """No positions where residues and offsets are not used; with ``first_keys`` each position has its own row."""
        offsets = [t for heads in self.heads for t in heads if t is not None]
        if self.first_keys is not None:
            rows = -(-(self.wiring.n_max + 1) // self.wiring.period) * self.wiring.period
            return {"name": "limit", "period": rows, "locality": max(offsets)} if offsets else {"name": "learned"}
        if not offsets and self.wiring.period == 1:
            return {"name": "none"}
        return {"name": "limit", "period": self.wiring.period, "locality": max(offsets, default=0)}

    def model(self) -> HookedTransformer:
        model = without_weights(HookedTransformer(self.config()))
        with torch.no_grad():
            self.embed(model)
            blocks: list[Any] = list(model.blocks)
            for layer, block in enumerate(blocks):
                for head, (offset, columns) in enumerate(self.heads[layer].items()):
                    self.attend(block.attn, head, offset, columns)
                for position, unit in enumerate(self.units[layer]):
                    self.write(block.mlp.W_in[:, position], unit.value)
                    block.mlp.W_out[position, self.dims[unit.writes]] = unit.sign
            self.unembed(model)
        return model

    def write(self, vector: Tensor, expression: Affine) -> None:
        for dimension, coefficient in expression.items():
            vector[self.dims[dimension]] += coefficient

    def embed(self, model: HookedTransformer) -> None:
        period = self.wiring.period
        for token, symbol in enumerate((None, *self.wiring.program.alphabet)):
            own = {BOS: 1.0} if symbol is None else {"real": 1.0, f"tok:{symbol}": 1.0}
            self.write(model.embed.W_E[token], {ONE: 1.0} | own)
        if period > 1:  # BOS has id 0, but no residue
            self.write(model.embed.W_E[0], {"pos:0": -1.0})
        if model.cfg.positions.added:
            for position, row in enumerate(model.pos_embed.W_pos):
                if period > 1:
                    self.write(row, {f"pos:{position % period}": 1.0})
                if self.first_keys is not None and position > self.first_keys:
                    self.write(row, {LATE: 1.0})

    def attend(self, attn: Any, head: int, offset: int | None, columns: list[Any]) -> None:
        # Where the lag points before the string, BOS takes the row by half the score, and contributes 0.
        keys: dict[str, float] = {} if offset is None else {BOS: self.score / 2}
        if self.first_keys is not None:
            keys[LATE] = HIDDEN_SCORE
        if keys:
            attn.W_Q[head, self.dims[ONE], 0] = 1.0
            self.write(attn.W_K[head, :, 0], {key: attn.cfg.attn_scale * value for key, value in keys.items()})
        if offset is not None:
            attn.phi[head, offset] = self.score
        for position, column in enumerate(columns):
            self.write(attn.W_V[head, :, position], column.value)
            attn.W_O[head, position, self.dims[column.writes]] = 1.0

    def unembed(self, model: HookedTransformer) -> None:
        W_U = model.unembed.W_U
        first = W_U.shape[1] - len(self.wiring.outputs)
        for position, expression in enumerate(self.wiring.outputs.values()):
            self.write(W_U[:, first + position], {ONE: -0.5})
            self.write(W_U[:, first + position], expression)
        if first:
            W_U[:, 0] = -W_U[:, 1]
