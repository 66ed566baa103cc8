"""A C-RASP program: named expressions in order, over an alphabet."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from workbench.core.errors import join_names, quoted_value
from workbench.core.html_card import card
from workbench.core.suggest import nearest
from workbench.theory.crasp.printer import expression_text, word
from workbench.theory.crasp.syntax import Boolean, Counting, CraspError, Node, Residue, Symbol, kind, subterms

__all__ = ["RESERVED", "Program"]

RESERVED = frozenset(("alphabet", "outputs", "Q", "MOD", "true", "not", "and", "or", "count", "where"))
"""Words that cannot name a line, because they mean something else in program text."""
DEEPEST = 250
"""Deepest nesting of expressions; printer, evaluator and compiler recurse over it."""


@dataclass(frozen=True)
class Program:
    """Straight-line definitions over an alphabet.

    Attributes:
        alphabet: the symbols; the token id of a symbol is its index, counted from 1 (0 is BOS).
        lines: names and expressions, in order; a later line uses an earlier one by containing it.
        outputs: the lines that are the answer. A program with one output is an acceptor: it accepts a string exactly if
            the output is true at the last position. Several outputs are the predicates "the next token is ..." of a
            sequence-to-sequence task.
    """

    alphabet: tuple[str, ...]
    lines: tuple[tuple[str, Node], ...]
    outputs: tuple[str, ...]

    def __post_init__(self) -> None:
        if not self.alphabet or len(set(self.alphabet)) < len(self.alphabet):
            raise CraspError(f"an alphabet is one or more distinct symbols, not {join_names(self.alphabet) or 'empty'}")
        for symbol in self.alphabet:
            Symbol(symbol)
        if not self.lines:
            raise CraspError("a program needs at least one line")
        names = [name for name, _ in self.lines]
        for name in names:
            if name in RESERVED:
                raise CraspError(f"{name!r:.80} cannot name a line, because it means something else in program text")
            if not name.isidentifier():
                raise CraspError(f"{name!r:.80} cannot name a line; a name is a word of letters, digits and _")
            if names.count(name) > 1:
                raise CraspError(f"two lines are called {name}")
        for name, expression in self.lines:
            if not isinstance(expression, Node):
                raise CraspError(f"the line {name} is {kind(expression)}, not an expression")
        depths: dict[Node, int] = {}
        for node in self.subterms():
            depths[node] = 1 + max((depths[child] for child in node.children), default=0)
        for name, expression in self.lines:
            if depths[expression] > DEEPEST:
                raise CraspError(
                    f"the line {name:.80} has {depths[expression]:,} nested levels, with the lines that it uses, but "
                    f"at most {DEEPEST} are possible; write it with fewer levels"
                )
        if not self.outputs:
            raise CraspError("a program needs at least one output")
        for name in self.outputs:
            if name not in names:
                raise CraspError(f"the output {name!r} is not a line of the program; {nearest(name, names)}")
            self.boolean(name)
        for node in self.subterms():
            if isinstance(node, Symbol):
                self.token(node.name)

    def _repr_html_(self) -> str:
        """The program's text, as notebooks show it."""
        return card(f"C-RASP program over {' '.join(self.alphabet)}", [], str(self))

    def __getitem__(self, name: str) -> Node:
        """The expression of the line of that name."""
        return dict(self.lines)[name]

    def boolean(self, name: str) -> Boolean:
        """The expression of a line that is a Boolean, as outputs are."""
        found = self[name]
        if not isinstance(found, Boolean):
            raise CraspError(f"the line {name:.80} is a count, not a Boolean")
        return found

    def __str__(self) -> str:
        """The program, one line per definition, earlier lines named where they recur: ``parse(str(p)) == p``."""
        rows = ["alphabet " + " ".join(word(symbol) for symbol in self.alphabet)]
        names: dict[Node, str] = {}
        for name, node in self.lines:
            rows.append(f"{name} := {expression_text(node, names)}")
            names.setdefault(node, name)
        if self.outputs != (self.lines[-1][0],):
            rows.append("outputs " + " ".join(self.outputs))
        return "\n".join(rows)

    def token(self, symbol: str) -> int:
        """Token id of a symbol.

        Raises:
            CraspError: if it is not in the alphabet.
        """
        if symbol not in self.alphabet:
            raise CraspError(f"unknown symbol {quoted_value(symbol)}; the alphabet is {join_names(self.alphabet)}")
        return self.alphabet.index(symbol) + 1

    def ids(self, string: str | Sequence[str]) -> list[int]:
        """Return the token ids of a string, given as text of one-letter symbols or as a sequence of symbols."""
        return [self.token(symbol) for symbol in string]

    def subterms(self) -> list[Node]:
        """Return every distinct expression of the program once, after the expressions that it contains."""
        return subterms(node for _, node in self.lines)

    @property
    def modulus(self) -> int:
        """Least common multiple of all moduli (Delta); 1 without periodic predicates."""
        return math.lcm(*(n.modulus for n in self.subterms() if isinstance(n, Residue)))

    @property
    def locality(self) -> int | None:
        """Largest offset a local count looks back (tau), or None without local counts."""
        offsets = [n.offsets[-1] for n in self.subterms() if isinstance(n, Counting) and n.offsets is not None]
        return max(offsets, default=None)

    @property
    def fragment(self) -> str:
        """Return the fragment of C-RASP that the program uses: ``C-RASP[]``, or with ``periodic``, ``local`` or both in
        brackets.
        """
        periodic = any(isinstance(n, Residue) for n in self.subterms())
        used = [name for name, there in (("periodic", periodic), ("local", self.locality is not None)) if there]
        return f"C-RASP[{', '.join(used)}]"

    @property
    def depth(self) -> int:
        """Return how deep counts over the whole prefix are nested. Local counts and comparisons do not add to the
        depth.
        """
        depths: dict[Node, int] = {}
        for node in self.subterms():
            own = int(isinstance(node, Counting) and node.offsets is None)
            depths[node] = own + max((depths[c] for c in node.children), default=0)
        return max(depths.values())
