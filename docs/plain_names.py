"""Names in code that do not state what a value is: ``python docs/plain_names.py`` counts bare participles and pronouns.

``docs/words.toml`` has the words. ``--list KIND`` prints file, line and name of each finding of a kind.
"""

from __future__ import annotations

import argparse
import ast
import re
import tomllib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
PACKAGES = ("lengthlens", "workbench", "probes", "circuits")
LONG_LIVED = 10
"""A local variable is long-lived if more lines than these lie between its first and its last mention."""
FUNCTIONS = ast.FunctionDef | ast.AsyncFunctionDef


class NamesToAvoid(NamedTuple):
    """The words of words.toml that are not names."""

    participles: frozenset[str]
    usual: frozenset[str]
    pronouns: frozenset[str]
    left: frozenset[str] = frozenset()

    def __contains__(self, name: object) -> bool:
        if not isinstance(name, str) or name in self.usual:
            return False
        return name in self.participles or name in self.pronouns or re.fullmatch(r"[a-z]{2,}ed", name) is not None


class Finding(NamedTuple):
    """A name to avoid: its kind (``function``, ``method``, ``class``, ``local``), file, line and the name."""

    kind: str
    file: str
    line: int
    name: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.kind} {self.name}"


def names_to_avoid() -> NamesToAvoid:
    """The words of words.toml."""
    names = tomllib.loads((ROOT / "docs" / "words.toml").read_text())["names"]
    return NamesToAvoid(**{key: frozenset(words) for key, words in names.items()})


def is_true_or_false(function: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    """Whether a function is a property with the type ``bool``."""
    decorators = {ast.unparse(decorator) for decorator in function.decorator_list}
    is_property = bool(decorators & {"property", "cached_property", "functools.cached_property"})
    return is_property and function.returns is not None and ast.unparse(function.returns) == "bool"


def public_names(tree: ast.AST, file: str, avoid: NamesToAvoid, owner: str = "") -> Iterator[Finding]:
    """Public functions, methods and classes with a name to avoid; functions inside functions are not public.

    A method is called ``Class.method``; ``owner`` is the class that ``tree`` is in.
    """
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.ClassDef):
            if node.name.lower() in avoid:
                yield Finding("class", file, node.lineno, node.name)
            yield from public_names(node, file, avoid, node.name)
        elif isinstance(node, FUNCTIONS):
            if node.name in avoid and not is_true_or_false(node):
                kind, name = ("method", f"{owner}.{node.name}") if owner else ("function", node.name)
                yield Finding(kind, file, node.lineno, name)
        else:
            yield from public_names(node, file, avoid, owner)


def long_lived_locals(tree: ast.AST, file: str, avoid: NamesToAvoid) -> Iterator[Finding]:
    """Locals and parameters with a name to avoid whose mentions lie more than ``LONG_LIVED`` lines apart."""
    inner = {
        node
        for outer in ast.walk(tree)
        if isinstance(outer, FUNCTIONS)
        for node in ast.walk(outer)
        if node is not outer and isinstance(node, FUNCTIONS)
    }
    for function in ast.walk(tree):
        if not isinstance(function, FUNCTIONS) or function in inner:
            continue
        lines: dict[str, list[int]] = {}
        bound = set()
        for node in ast.walk(function):
            if isinstance(node, ast.Name) and node.id in avoid:
                lines.setdefault(node.id, []).append(node.lineno)
                bound |= {node.id} if isinstance(node.ctx, ast.Store) else set()
            elif isinstance(node, ast.arg) and node.arg in avoid:
                lines.setdefault(node.arg, []).append(node.lineno)
                bound.add(node.arg)
        for name in sorted(bound):
            if max(lines[name]) - min(lines[name]) > LONG_LIVED:
                yield Finding("local", file, min(lines[name]), name)


def findings() -> list[Finding]:
    """All findings in the packages, in the order of files and lines."""
    avoid, every_finding = names_to_avoid(), []
    for package in PACKAGES:
        for path in sorted((ROOT / package).rglob("*.py")):
            tree, file = ast.parse(path.read_text()), path.relative_to(ROOT).as_posix()
            every_finding += public_names(tree, file, avoid)
            every_finding += long_lived_locals(tree, file, avoid)
    return every_finding


def main() -> None:
    parser = argparse.ArgumentParser(description="Count names in code that are bare participles or pronouns.")
    parser.add_argument("--list", metavar="KIND", help="print each finding of a kind: function, method, class or local")
    parser.add_argument("--under", metavar="PATH", default="", help="count only in files whose path starts with PATH")
    options = parser.parse_args()
    matches = [finding for finding in findings() if finding.file.startswith(options.under)]
    if options.list:
        print(*(finding for finding in matches if finding.kind == options.list), sep="\n")
        return
    for kind in ("function", "method", "class", "local"):
        names = Counter(finding.name for finding in matches if finding.kind == kind)
        common = ", ".join(f"{name} {count}" for name, count in names.most_common(12))
        print(f"{kind}: {names.total()} ({common})" if names else f"{kind}: 0")


if __name__ == "__main__":
    main()
