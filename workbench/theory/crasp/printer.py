"""C-RASP expressions as text that the parser reads back to the same expression."""

from __future__ import annotations

from collections.abc import Mapping

from workbench.theory.crasp import syntax as ast
from workbench.theory.crasp.syntax import CraspError, Node

# How tightly a form binds; an operand that binds less tightly than its place asks for gets parentheses.
OR, AND, NOT, COMPARE, SUM, PRODUCT, ATOM = range(7)

_BINDING: Mapping[type[Node], int] = {
    ast.Or: OR,
    ast.And: AND,
    ast.Not: NOT,
    ast.Compare: COMPARE,
    ast.Add: SUM,
    ast.Subtract: SUM,
    ast.Scale: PRODUCT,
}


def expression_text(node: Node, names: Mapping[Node, str] | None = None) -> str:
    """Return one expression as text. Subterms in ``names`` are written by their name."""
    return _text(node, names or {}, OR)


def _text(node: Node, names: Mapping[Node, str], place: int) -> str:
    if node in names:
        return names[node]
    text = _form(node, names)
    return f"({text})" if _BINDING.get(type(node), ATOM) < place else text


def _form(node: Node, names: Mapping[Node, str]) -> str:
    def operand(child: Node, place: int = OR) -> str:
        return _text(child, names, place)

    match node:
        case ast.Symbol(name):
            return f"Q({word(name)})"
        case ast.Residue(remainder, modulus):
            return f"MOD({remainder}, {modulus})"
        case ast.Truth():
            return "true"
        case ast.Not(inner):
            return f"not {operand(inner, NOT)}"
        case ast.And(terms):
            return " and ".join(operand(t, NOT) for t in terms)
        case ast.Or(terms):
            return " or ".join(operand(t, AND) for t in terms)
        case ast.Compare(left, op, right):
            return f"{operand(left, SUM)} {op} {operand(right, SUM)}"
        case ast.Constant(value):
            return str(value)
        case ast.Counting(inner, None):
            return f"count({operand(inner)})"
        case ast.Counting(inner, offsets):
            return f"count[{', '.join(map(str, offsets or ()))}]({operand(inner)})"
        case ast.Conditional(condition, then, otherwise):
            return f"where({operand(condition)}, {operand(then)}, {operand(otherwise)})"
        case ast.Add(left, right):
            return f"{operand(left, SUM)} + {operand(right, PRODUCT)}"
        case ast.Subtract(left, right):
            return f"{operand(left, SUM)} - {operand(right, PRODUCT)}"
        case ast.Scale(factor, inner):
            return f"{factor} * {operand(inner, PRODUCT)}"
    raise CraspError(f"{type(node).__name__} is not a C-RASP expression")


def word(symbol: str) -> str:
    """Return a symbol as the parser reads it: without quotes if it is a word, otherwise in double quotes."""
    return symbol if symbol.replace("_", "a").isalnum() and symbol.isascii() else f'"{symbol}"'
