"""Reads C-RASP programs from text.

    alphabet a b
    V := count(Q(a)) < count(Q(b))                            // some prefix closed more than it opened
    accept := count(V) = 0 and count(Q(a)) = count(Q(b))

There is one definition per line. A line continues until its parentheses are closed, and ``//`` starts a comment. The
last line is the output unless a line ``outputs NAME NAME ..`` names others. Expressions, tightest first:

- Booleans: ``Q(a)``, ``Q("(")``, ``MOD(r, m)``, ``true``, ``NAME`` (which may also be a count), ``( .. )``;
- counts: ``7``, ``-7``, ``count(P)``, ``count[1](P)``, ``count[0, 2](P)``, ``count[1..3](P)``, ``where(P, c, d)``;
- ``3 * c``, then ``c + d`` and ``c - d``, then ``< <= > >= = !=``;
- ``not P``, then ``P and Q``, then ``P or Q``.

``count[..]`` looks only at positions j with i - j among the listed offsets.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NoReturn, TypeVar

from workbench.core.errors import join_names, quoted_value
from workbench.core.suggest import nearest
from workbench.theory.crasp import syntax as ast
from workbench.theory.crasp.program import RESERVED, Program
from workbench.theory.crasp.syntax import CraspError, Node, kind

__all__ = ["parse"]

Made = TypeVar("Made")

LARGEST_CONSTANT = 1_000_000
"""Largest constant. There are no counts above the longest strings to compare with."""
LARGEST_REACH = 4096
"""Largest modulus and offset; a model has a table of that size."""

_TOKEN = re.compile(
    r'(?P<space>[ \t\r]+|//[^\n]*)|(?P<newline>\n)|(?P<word>\w+)|(?P<string>"[^"\n]*")|(?P<sign>:=|<=|>=|!=|==|\.\.|\S)'
)
_SIGNS = frozenset((":=", "<=", ">=", "!=", "==", "=", "<", ">", "..", "+", "-", "*", "(", ")", "[", "]", ","))


@dataclass(frozen=True)
class Token:
    """A piece of the text of a program, with its position; ``kind`` is word, string, sign, newline or end."""

    kind: str
    text: str
    line: int
    column: int


def parse(text: str) -> Program:
    """Return the program that ``text`` spells.

    Raises:
        CraspError: one sentence that begins with line and column and states what is wrong there.
    """
    parser = _Parser(_tokens(text))
    try:
        return parser.program()
    except RecursionError:
        _fail(parser.next, "this is nested too deep to be read; give parts of it names, on lines of their own")


def _tokens(text: str) -> list[Token]:
    tokens: list[Token] = []
    line, start, depth = 1, 0, 0
    for match in _TOKEN.finditer(text):
        what, piece = str(match.lastgroup), match.group()
        token = Token(what, piece, line, match.start() - start + 1)
        if what == "sign":
            if piece not in _SIGNS:
                _fail(token, _unreadable(piece))
            depth += (piece in "([") - (piece in ")]")
        if what == "newline":
            line, start = line + 1, match.end()
        if what in ("word", "string", "sign") or (what == "newline" and depth <= 0):
            tokens.append(token)
    tokens.append(Token("end", "", line, len(text) - start + 1))
    return tokens


def _unreadable(piece: str) -> str:
    if piece == "#":
        return "# is not read here; write count(P) for all positions, count[1](P) for the previous one"
    if piece == '"':
        return 'a symbol in quotes must end with " on the same line'
    return f"{piece!r} is not read here; a symbol that is no word goes in double quotes"


def _fail(token: Token, message: str) -> NoReturn:
    raise CraspError(f"line {token.line}, column {token.column}: {message}")


class _Parser:
    """Recursive descent over tokens; one method per level of binding."""

    def __init__(self, tokens: list[Token]) -> None:
        self.tokens = tokens
        self.position = 0
        self.alphabet: tuple[str, ...] = ()
        self.lines: dict[str, Node] = {}

    # ---- lines -------------------------------------------------------------------------------
    def program(self) -> Program:
        first = self.skip_newlines()
        if first.text != "alphabet":
            _fail(first, "a program begins with its alphabet, e.g. `alphabet a b`")
        self.alphabet = tuple(self.words(self.take(), "symbol"))
        self.end_line()
        outputs: dict[str, Token] = {}
        last: dict[str, Token] = {}
        while self.skip_newlines().kind != "end":
            head = self.take()
            if head.text == "outputs":
                outputs = self.words(head, "line")
            else:
                self.definition(head)
                last = {head.text: head}
            self.end_line()
        if not self.lines:
            _fail(self.next, "a program needs at least one line NAME := ..")
        for name, token in (outputs or last).items():
            if name not in self.lines:
                _fail(token, f"the output {name!r:.80} is no line of the program; {nearest(name, self.lines)}")
            if not isinstance(self.lines[name], ast.Boolean):
                _fail(token, f"the output {name:.80} is a count; outputs are Booleans")
        return self.build(first, Program, self.alphabet, tuple(self.lines.items()), tuple(outputs or last))

    def end_line(self) -> None:
        if self.next.kind not in ("newline", "end"):
            quoting = "; a symbol that is no word goes in double quotes" if not self.lines else ""
            _fail(self.next, f"the line should end here, but {_shown(self.next)} follows{quoting}")

    def skip_newlines(self) -> Token:
        while self.next.kind == "newline":
            self.position += 1
        return self.next

    def words(self, head: Token, what: str) -> dict[str, Token]:
        """Return the distinct words up to the end of the line, with their tokens."""
        words: dict[str, Token] = {}
        while self.next.kind in ("word", "string"):
            token = self.take()
            if token.text.strip('"') in words:
                _fail(token, f"the {what} {token.text:.80} is listed twice")
            words[token.text.strip('"')] = token
        if not words:
            _fail(self.next, f"{head.text} is followed by at least one {what}, but {_shown(self.next)} was found")
        return words

    def definition(self, head: Token) -> None:
        if head.kind != "word" or not head.text.isidentifier() or head.text in RESERVED:
            _fail(head, f"a line begins with a name and :=, and {_shown(head)} is no name")
        if head.text in self.lines:
            _fail(head, f"two lines are called {head.text:.80}")
        self.expect(":=")
        self.lines[head.text] = self.expression()

    # ---- expressions, loosest first ------------------------------------------------------------
    def expression(self) -> Node:
        return self.join_operands("or", ast.Or, lambda: self.join_operands("and", ast.And, self.negation))

    def join_operands(self, word: str, cls: type[Node], operand: Callable[[], Node]) -> Node:
        start = self.next
        terms = [operand()]
        while self.next.text == word:
            start = self.take()
            terms.append(operand())
        return terms[0] if len(terms) == 1 else self.build(start, cls, tuple(terms))

    def negation(self) -> Node:
        if self.next.text != "not":
            return self.comparison()
        return self.build(self.take(), ast.Not, self.negation())

    def comparison(self) -> Node:
        left = self.total()
        op = "=" if self.next.text == "==" else self.next.text
        if op not in ast.COMPARISONS:
            return left
        comparison = self.build(self.take(), ast.Compare, left, op, self.total())
        if self.next.text in (*ast.COMPARISONS, "=="):
            _fail(self.next, "comparisons do not chain; join two of them by `and`")
        return comparison

    def total(self) -> Node:
        left = self.product()
        while self.next.text in ("+", "-"):
            sign = self.take()
            left = self.build(sign, ast.Add if sign.text == "+" else ast.Subtract, left, self.product())
        return left

    def product(self) -> Node:
        left = self.signed_atom()
        if self.next.text != "*":
            return left
        sign, right = self.take(), self.product()
        if not isinstance(left, ast.Constant):
            left, right = right, left
        if not isinstance(left, ast.Constant):
            _fail(sign, f"* multiplies a count by an integer, but {kind(left)} and {kind(right)} were given")
        return self.build(sign, ast.Scale, left.value, right)

    def signed_atom(self) -> Node:
        if self.next.text != "-":
            return self.atom()
        sign = self.take()
        operand = self.atom()
        if isinstance(operand, ast.Constant):
            return self.build(sign, ast.Constant, -operand.value)
        return self.build(sign, ast.Scale, -1, operand)

    def atom(self) -> Node:
        token = self.take()
        if token.text == "(":
            inner = self.expression()
            self.expect(")")
            return inner
        if token.kind != "word":
            _fail(token, f"an expression is needed here, but {_shown(token)} was found")
        if token.text.isdecimal():
            return self.build(token, ast.Constant, _number(token, LARGEST_CONSTANT))
        form = {"Q": self.symbol, "MOD": self.residue, "count": self.counting, "where": self.conditional}
        if token.text in form:
            return form[token.text](token)
        if token.text == "true":
            return self.build(token, ast.Truth)
        if token.text in self.lines:
            return self.lines[token.text]
        if token.text in self.alphabet:
            _fail(token, f"{_shown(token)} is a symbol; write Q({token.text:.80}) for the positions that hold it")
        known = nearest(token.text, self.lines)
        _fail(token, f"unknown name {_shown(token)}; a line may use the lines before it, {known}")

    # ---- forms with arguments ------------------------------------------------------------------
    def symbol(self, head: Token) -> Node:
        self.expect("(")
        token = self.take()
        if token.kind not in ("word", "string"):
            _fail(token, f"Q takes one symbol of the alphabet, but {_shown(token)} was found")
        name = token.text.strip('"')
        if name not in self.alphabet:
            _fail(token, f"unknown symbol {quoted_value(name)}; the alphabet is {join_names(self.alphabet)}")
        self.expect(")")
        return self.build(token, ast.Symbol, name)

    def residue(self, head: Token) -> Node:
        self.expect("(")
        remainder = self.integer(LARGEST_REACH)
        self.expect(",")
        modulus = self.integer(LARGEST_REACH)
        self.expect(")")
        return self.build(head, ast.Residue, remainder, modulus)

    def counting(self, head: Token) -> Node:
        offsets = self.offsets() if self.next.text == "[" else None
        self.expect("(")
        operand = self.expression()
        self.expect(")")
        return self.build(head, ast.Counting, operand, offsets)

    def conditional(self, head: Token) -> Node:
        self.expect("(")
        condition = self.expression()
        self.expect(",")
        then = self.expression()
        self.expect(",")
        otherwise = self.expression()
        self.expect(")")
        return self.build(head, ast.Conditional, condition, then, otherwise)

    def offsets(self) -> tuple[int, ...]:
        offsets: list[int] = []
        while self.next.text in ("[", ","):
            self.take()
            low = high = self.integer(LARGEST_REACH)
            if self.next.text == "..":
                dots = self.take()
                if not self.next.text.isdecimal():
                    _fail(
                        dots,
                        f"the local predicate {low}.. is unbounded; give its last offset, e.g. {low}..{low + 3}, "
                        "or leave the brackets out to count over the whole prefix",
                    )
                high = self.integer(LARGEST_REACH)
                if high < low:
                    _fail(dots, f"the range {low}..{high} is empty")
            offsets += range(low, high + 1)
        self.expect("]")
        return tuple(offsets)

    # ---- tokens --------------------------------------------------------------------------------
    @property
    def next(self) -> Token:
        return self.tokens[self.position]

    def take(self) -> Token:
        token = self.next
        if token.kind != "end":
            self.position += 1
        return token

    def expect(self, text: str) -> None:
        token = self.take()
        if token.text != text:
            _fail(token, f"{text!r} is needed here, but {_shown(token)} was found")

    def integer(self, largest: int) -> int:
        sign = -1 if self.next.text == "-" else 1
        if sign < 0:
            self.take()
        token = self.take()
        if not token.text.isdecimal():
            _fail(token, f"an integer is needed here, but {_shown(token)} was found")
        return sign * _number(token, largest)

    def build(self, token: Token, cls: Callable[..., Made], *parts: Any) -> Made:
        """Make a node; an error of the node is reported at ``token``."""
        try:
            return cls(*parts)
        except CraspError as error:
            _fail(token, str(error))


def _number(token: Token, largest: int) -> int:
    if len(token.text) > len(str(largest)) or int(token.text) > largest:
        _fail(token, f"{_shown(token)} is too large; here {largest:,} is the largest number")
    return int(token.text)


def _shown(token: Token) -> str:
    return {"end": "the end", "newline": "the end of the line"}.get(token.kind, quoted_value(token.text))
