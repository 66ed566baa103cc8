"""A per-position interpreter of C-RASP programs: the peer of the vectorised evaluator, and its oracle.

It does as little as one can in plain Python: per string it keeps one running total per count and one
short window per local count, and computes each distinct expression once per position.
"""

from __future__ import annotations

import operator
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from workbench.theory.crasp import syntax as ast
from workbench.theory.crasp.program import Program
from workbench.theory.crasp.syntax import Node

_RELATIONS: dict[str, Callable[[Any, Any], bool]] = {
    "<=": operator.le, "<": operator.lt, ">=": operator.ge, ">": operator.gt, "=": operator.eq, "!=": operator.ne,
}  # fmt: skip


def interpret(program: Program, string: Sequence[int]) -> Iterator[dict[str, Any]]:
    """The value of every line at each position of one string of token ids, position by position."""
    order = program.subterms()
    place = {node: k for k, node in enumerate(order)}
    steps = [_step(program, node, [place[child] for child in node.children]) for node in order]
    lines = [(name, place[node]) for name, node in program.lines]
    values: list[Any] = [None] * len(order)
    for position, token in enumerate(string, start=1):
        for k, step in enumerate(steps):
            values[k] = step(token, position, values)
        yield {name: values[k] for name, k in lines}


def _step(program: Program, node: Node, below: list[int]) -> Callable[[int, int, list[Any]], Any]:
    """What computes one node from the values of those below it; counts remember what they have seen."""
    match node:
        case ast.Symbol(name):
            own = program.token(name)
            return lambda token, position, values: token == own
        case ast.Residue(remainder, modulus):
            return lambda token, position, values: position % modulus == remainder
        case ast.Truth():
            return lambda token, position, values: True
        case ast.Not():
            return lambda token, position, values: not values[below[0]]
        case ast.And():
            return lambda token, position, values: all(values[k] for k in below)
        case ast.Or():
            return lambda token, position, values: any(values[k] for k in below)
        case ast.Compare(_, op, _):
            relation, (left, right) = _RELATIONS[op], below
            return lambda token, position, values: relation(values[left], values[right])
        case ast.Constant(value):
            return lambda token, position, values: value
        case ast.Counting(_, None):
            return _running_total(below[0])
        case ast.Counting(_, offsets):
            return _window(below[0], offsets or ())
        case ast.Conditional():
            condition, then, otherwise = below
            return lambda token, position, values: values[then] if values[condition] else values[otherwise]
        case ast.Add():
            return lambda token, position, values: values[below[0]] + values[below[1]]
        case ast.Subtract():
            return lambda token, position, values: values[below[0]] - values[below[1]]
        case ast.Scale(factor, _):
            return lambda token, position, values: factor * values[below[0]]
    raise TypeError(f"{type(node).__name__} is not a C-RASP expression")


def _running_total(operand: int) -> Callable[[int, int, list[Any]], int]:
    total = 0

    def step(token: int, position: int, values: list[Any]) -> int:
        nonlocal total
        total += values[operand]
        return total

    return step


def _window(operand: int, offsets: tuple[int, ...]) -> Callable[[int, int, list[Any]], int]:
    recent: deque[bool] = deque([False] * (offsets[-1] + 1), maxlen=offsets[-1] + 1)

    def step(token: int, position: int, values: list[Any]) -> int:
        recent.appendleft(values[operand])
        return sum(recent[offset] for offset in offsets)

    return step
