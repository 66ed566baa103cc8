"""Evaluates a C-RASP program at every position of many strings at once.

Every expression is computed once per block of strings, as one array over strings and positions. Counts are cumulative
sums, and local counts are shifted copies. A block is small enough for the CPU's cache. That is several times faster
than whole arrays, and bounds the memory.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import reduce
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from workbench.theory.crasp import syntax as ast
from workbench.theory.crasp.program import Program
from workbench.theory.crasp.syntax import CraspError, Node

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["accepts", "evaluate", "every_string", "trace", "trace_table"]

BLOCK = 1 << 17
"""Positions per block of strings."""

Values = NDArray[Any]
"""Booleans or integers ``[batch, pos]``."""


def evaluate(program: Program, strings: ArrayLike) -> dict[str, Values]:
    """Return the outputs of a program at every prefix.

    Args:
        program: the program to evaluate.
        strings: token ids ``[batch, pos]`` without BOS, as from ``program.ids``: the id of a symbol is its index in the
            alphabet, counted from 1.

    Returns:
        per output name, Booleans ``[batch, pos]``: entry i is the value on the prefix of i + 1 symbols.

    Raises:
        CraspError: for strings that are not ids of the program's alphabet.
    """
    return _lines(program, strings, program.outputs)


def trace(program: Program, strings: ArrayLike) -> dict[str, Values]:
    """Return every line of a program at every prefix: Booleans or integers ``[batch, pos]`` (see :func:`evaluate`)."""
    return _lines(program, strings, tuple(name for name, _ in program.lines))


def accepts(program: Program, strings: ArrayLike) -> NDArray[np.bool_]:
    """Return whether each string is accepted: the program's only output at the last position, ``[batch]``.

    Raises:
        CraspError: for a program with several outputs, and for empty strings.
    """
    if len(program.outputs) > 1:
        raise CraspError(f"acceptance needs one output; this program has {', '.join(program.outputs)}: use evaluate")
    values = evaluate(program, strings)[program.outputs[0]]
    if values.shape[1] == 0:
        raise CraspError("acceptance of the empty string is not defined: there is no last position")
    return np.asarray(values[:, -1])


def trace_table(program: Program, string: str) -> pd.DataFrame:
    """Return every line (rows) at every position (columns, named by position and symbol) of one string."""
    import pandas as pd

    values = trace(program, [program.ids(string)])
    columns = [f"{i} {symbol}" for i, symbol in enumerate(string, start=1)]
    return pd.DataFrame([values[name][0].astype(int) for name in values], index=list(values), columns=columns)


def every_string(letters: int, length: int) -> NDArray[np.int64]:
    """Return all strings of exactly ``length`` over the ids 1..letters, ``[letters ** length, length]``, in order."""
    number = np.arange(letters**length)[:, None]
    return number // letters ** np.arange(length - 1, -1, -1) % letters + 1


def _lines(program: Program, strings: ArrayLike, names: tuple[str, ...]) -> dict[str, Values]:
    ids = _checked(program, strings)
    needed = ast.subterms(program[name] for name in names)
    kinds = {name: np.bool_ if isinstance(program[name], ast.Boolean) else np.int64 for name in names}
    lines: dict[str, Values] = {name: np.empty(ids.shape, kinds[name]) for name in names}
    for rows in _blocks(ids):
        values = _values(program, needed, ids[rows])
        for name in names:
            lines[name][rows] = values[program[name]]
    return lines


def _checked(program: Program, strings: ArrayLike) -> NDArray[np.int16]:
    ids = np.asarray(strings)
    if ids.ndim != 2 or (ids.size and not np.issubdtype(ids.dtype, np.integer)):
        raise CraspError(f"token ids need an integer array [batch, pos], not {ids.dtype} of shape {ids.shape}")
    if ids.size and not (ids.min() >= 1 and ids.max() <= len(program.alphabet)):
        wrong = ids[(ids < 1) | (ids > len(program.alphabet))][0]
        raise CraspError(f"token ids of this program are 1..{len(program.alphabet)}, without BOS, not {wrong}")
    return ids.astype(np.int16)


def _blocks(ids: NDArray[np.int16]) -> Iterator[slice]:
    step = max(1, BLOCK // max(1, ids.shape[1]))
    return (slice(start, start + step) for start in range(0, len(ids), step))


def _values(program: Program, needed: list[Node], ids: NDArray[np.int16]) -> dict[Node, Values]:
    """Return the value of each node; in ``needed`` it comes after the nodes it is made of."""
    values: dict[Node, Values] = {}
    position = np.arange(1, ids.shape[1] + 1)
    whole = _whole(needed, ids.shape[1])
    for node in needed:
        match node:
            case ast.Symbol(name):
                value = ids == program.token(name)
            case ast.Residue(remainder, modulus):
                value = np.broadcast_to(position % modulus == remainder, ids.shape)
            case ast.Truth():
                value = np.broadcast_to(np.True_, ids.shape)
            case ast.Not(inner):
                value = ~values[inner]
            case ast.And(terms):
                value = reduce(np.logical_and, (values[t] for t in terms))
            case ast.Or(terms):
                value = reduce(np.logical_or, (values[t] for t in terms))
            case ast.Compare(left, op, right):
                value = _COMPARE[op](values[left], values[right])
            case ast.Constant(constant):
                value = np.broadcast_to(whole(constant), ids.shape)
            case ast.Counting(inner, None):
                value = values[inner].cumsum(1, dtype=whole)
            case ast.Counting(inner, offsets):
                value = _local(values[inner], offsets or (), whole)
            case ast.Conditional(condition, then, otherwise):
                value = np.where(values[condition], values[then], values[otherwise])
            case ast.Add(left, right):
                value = values[left] + values[right]
            case ast.Subtract(left, right):
                value = values[left] - values[right]
            case ast.Scale(factor, inner):
                value = values[inner] * whole(factor)
            case _:
                raise CraspError(f"{type(node).__name__} is not a C-RASP expression")
        values[node] = value
    return values


_COMPARE = {
    "<=": np.less_equal,
    "<": np.less,
    ">=": np.greater_equal,
    ">": np.greater,
    "=": np.equal,
    "!=": np.not_equal,
}


def _local(inner: Values, offsets: tuple[int, ...], whole: type[np.signedinteger[Any]]) -> Values:
    total = np.zeros(inner.shape, whole)
    for offset in offsets:
        if offset < inner.shape[1]:
            total[:, offset:] += inner[:, : inner.shape[1] - offset]
    return total


def _whole(needed: list[Node], length: int) -> type[np.signedinteger[Any]]:
    """Return int32, which is twice as fast, if no count of a string of that length can overflow it; else int64."""
    largest: dict[Node, int] = {}
    for node in needed:
        below = [largest[c] for c in node.children if isinstance(c, ast.Count)]
        match node:
            case ast.Constant(value):
                largest[node] = abs(value)
            case ast.Counting():
                largest[node] = length
            case ast.Scale(factor, _):
                largest[node] = abs(factor) * below[0]
            case ast.Count():
                largest[node] = sum(below)
    return np.int32 if max(largest.values(), default=0) < 2**31 else np.int64
