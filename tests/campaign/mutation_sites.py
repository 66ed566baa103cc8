"""Where a small edit makes a plausible other program: operators, boundaries, signs, constants, calls, arguments."""

from __future__ import annotations

import ast
import random
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

ROOMS: Mapping[str, str] = {
    "core": "workbench/core",
    "storage": "workbench/storage",
    "tasks": "workbench/tasks",
    "models": "workbench/models",
    "training": "workbench/training",
    "measure": "workbench/measure",
    "theory": "workbench/theory",
    "table": "workbench/table",
    "runs": "workbench/runs",
    "figures": "workbench/figures",
    "diagnosis": "workbench/diagnosis",
    "claims": "workbench/claims",
    "probes": "probes",
    "circuits": "circuits",
}
"""Rooms whose bugs would be wrong numbers, and their folders."""
OPERATORS: Mapping[type[ast.AST], tuple[str, str, str]] = {
    ast.Add: ("+", "-", "arithmetic"),
    ast.Sub: ("-", "+", "arithmetic"),
    ast.Mult: ("*", "/", "arithmetic"),
    ast.Div: ("/", "*", "arithmetic"),
    ast.FloorDiv: ("//", "/", "arithmetic"),
    ast.Pow: ("**", "*", "arithmetic"),
    ast.Mod: ("%", "//", "arithmetic"),
    ast.BitAnd: ("&", "|", "logic"),
    ast.BitOr: ("|", "&", "logic"),
    ast.And: ("and", "or", "logic"),
    ast.Or: ("or", "and", "logic"),
    ast.Lt: ("<", "<=", "boundary"),
    ast.LtE: ("<=", "<", "boundary"),
    ast.Gt: (">", ">=", "boundary"),
    ast.GtE: (">=", ">", "boundary"),
    ast.Eq: ("==", "!=", "equality"),
    ast.NotEq: ("!=", "==", "equality"),
}
"""An operator as it is written, what takes its place, and the kind of bug."""
PAIRS = (
    ("mean", "sum"), ("min", "max"), ("argmax", "argmin"), ("tril", "triu"), ("any", "all"), ("floor", "ceil"),
    ("minimum", "maximum"), ("amax", "amin"), ("std", "var"),
)  # fmt: skip
CALLS: Mapping[str, str] = {
    **{one: other for pair in PAIRS for one, other in (pair, pair[::-1])},
    "cumsum": "cumprod", "softmax": "log_softmax", "median": "mean", "log": "log2", "argsort": "sort",
}  # fmt: skip
"""Functions, and others that take the same arguments."""
OBJECTS = frozenset(
    [
        "self",
        "cls",
        "figure",
        "cursor",
        "batch",
        "study",
        "model",
        "task",
        "cfg",
        "cache",
        "run",
        "rows",
        "path",
        "folder",
        "name",
        "names",
        "key",
        "text",
    ]
)
"""Names of objects that no swap of arguments moves: it would fail at once, and flatter the tests."""
GUARDS = frozenset(["strict", "repr"])
"""Arguments that compute nothing: one asserts that lengths are equal, one is for printing."""
LOOKED_AT = frozenset(("flag", "constant", "swapped arguments"))
"""Kinds that a figure shows rather than computes."""
STYLES = frozenset(["width", "size", "opacity", "dash", "font", "margin", "pad", "thickness", "arrowwidth"])
"""Properties of a figure that say how it looks; tests of figures hold none of them."""
INDEX = 10
"""Whole numbers of a figure from here on are pixels and font sizes; below, they are places and counts."""


@dataclass(frozen=True)
class Site:
    """One edit of one file.

    Attributes:
        file: relative to the root.
        room: of :data:`ROOMS`.
        line: of the edit.
        begin, end: the bytes that are replaced.
        kind: of the bug.
        old, new: what stands there, and what is put in its place.
    """

    file: str
    room: str
    line: int
    begin: int
    end: int
    kind: str
    old: str
    new: str

    @property
    def id(self) -> str:
        """What tells it from all others."""
        return f"{self.file}:{self.line}:{self.begin}:{self.new}"

    def planted(self, source: bytes) -> bytes:
        """The file with the edit."""
        assert source[self.begin : self.end].decode() == self.old, f"{self.file} has changed"
        return source[: self.begin] + self.new.encode() + source[self.end :]


class _Finder(ast.NodeVisitor):
    """Goes through a module, and leaves out what is only said: docstrings, messages, annotations, assertions."""

    def __init__(self, source: bytes, file: str, room: str) -> None:
        self.source, self.file, self.room = source, file, room
        self.starts = [0]
        for line in source.splitlines(keepends=True):
            self.starts.append(self.starts[-1] + len(line))
        self.found: list[Site] = []

    def span(self, node: ast.expr) -> tuple[int, int]:
        assert node.end_lineno is not None
        assert node.end_col_offset is not None
        return self.starts[node.lineno - 1] + node.col_offset, self.starts[node.end_lineno - 1] + node.end_col_offset

    def add(self, begin: int, end: int, new: str, kind: str) -> None:
        line = self.source.count(b"\n", 0, begin) + 1
        self.found.append(Site(self.file, self.room, line, begin, end, kind, self.source[begin:end].decode(), new))

    def between(self, left: ast.expr, right: ast.expr, operator: ast.AST) -> None:
        if type(operator) not in OPERATORS:
            return
        old, new, kind = OPERATORS[type(operator)]
        begin, end = self.span(left)[1], self.span(right)[0]
        written = rf"\b{old}\b" if old.isalpha() else rf"(?<![*/<>=!]){re.escape(old)}(?![*/<>=])"
        place = re.search(written.encode(), self.source[begin:end])
        if place:
            self.add(begin + place.start(), begin + place.end(), new, kind)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        last = node.body[-1]
        if isinstance(last, ast.Expr) and isinstance(last.value, ast.Constant) and last.value.value is ...:
            return  # the shape of what others implement: its defaults are never read
        for part in (*node.body, *node.args.defaults, *filter(None, node.args.kw_defaults)):
            self.visit(part)

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        for part in node.body:
            self.visit(part)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        if node.value is not None:
            self.visit(node.value)

    def visit_Raise(self, node: ast.Raise) -> None:
        """Messages."""

    def visit_Assert(self, node: ast.Assert) -> None:
        """What is never false."""

    def visit_JoinedStr(self, node: ast.JoinedStr) -> None:
        """Sentences."""

    def visit_keyword(self, node: ast.keyword) -> None:
        if node.arg not in GUARDS and not (self.room == "figures" and node.arg in STYLES):
            self.visit(node.value)

    def visit_Dict(self, node: ast.Dict) -> None:
        for key, value in zip(node.keys, node.values, strict=True):
            if not (self.room == "figures" and isinstance(key, ast.Constant) and key.value in STYLES):
                self.visit(value)

    def visit_BinOp(self, node: ast.BinOp) -> None:
        if not any(isinstance(one, ast.JoinedStr) or _is_text(one) for one in (node.left, node.right)):
            self.between(node.left, node.right, node.op)
        self.generic_visit(node)

    def visit_BoolOp(self, node: ast.BoolOp) -> None:
        self.between(node.values[0], node.values[1], node.op)
        self.generic_visit(node)

    def visit_Compare(self, node: ast.Compare) -> None:
        left = node.left
        for operator, right in zip(node.ops, node.comparators, strict=True):
            self.between(left, right, operator)
            left = right
        self.generic_visit(node)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> None:
        begin = self.span(node)[0]
        # Not up to the operand: a bracket may stand between the two.
        if sign := re.match(rb"(not|-)\s*", self.source[begin:]):
            self.add(begin, begin + sign.end(), "", "negation" if isinstance(node.op, ast.Not) else "sign")
        self.generic_visit(node)

    def visit_Constant(self, node: ast.Constant) -> None:
        begin, end = self.span(node)
        if isinstance(node.value, bool):
            self.add(begin, end, str(not node.value), "flag")
        elif isinstance(node.value, int):
            self.add(begin, end, str(node.value + 1), "off by one")
        elif isinstance(node.value, float):
            self.add(begin, end, repr(node.value * 1.1 or 0.1), "constant")

    def visit_Call(self, node: ast.Call) -> None:
        name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        if name in CALLS:
            end = self.span(node.func)[1]
            self.add(end - len(name), end, CALLS[name], "call")
        first = node.args[:2]
        names = [one.id for one in first if isinstance(one, ast.Name)]
        if len(names) == 2 and len(set(names)) == 2 and not OBJECTS & set(names) and name not in ("isinstance", "zip"):
            (begin, middle), (after, end) = self.span(first[0]), self.span(first[1])
            self.add(begin, end, f"{names[1]}{self.source[middle:after].decode()}{names[0]}", "swapped arguments")
        self.generic_visit(node)


def _is_text(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str | bytes)


def sites(source: bytes, file: str = "", room: str = "") -> list[Site]:
    """All sites of a module."""
    finder = _Finder(source, file, room)
    finder.visit(ast.parse(source))
    return [site for site in finder.found if room != "figures" or not _looked_at(site)]


def _looked_at(site: Site) -> bool:
    return site.kind in LOOKED_AT or (site.kind == "off by one" and site.old.isdecimal() and int(site.old) >= INDEX)


def sample(root: Path, count: int, seed: int, rooms: Sequence[str] = tuple(ROOMS)) -> Iterator[Site]:
    """Sites drawn at random: a file by its number of lines, then a line of it that has sites, then one of these.

    Args:
        root: of the tree.
        count: how many; fewer where there are not so many lines with sites.
        seed: of the draw.
        rooms: those that are drawn from.
    """
    draw, met = random.Random(seed), set()
    files = {path: room for room in rooms for path in sorted((root / ROOMS[room]).rglob("*.py"))}
    sources = {path: path.read_bytes() for path in files}
    by_line: dict[Path, dict[int, list[Site]]] = {}
    for path, room in files.items():
        by_line[path] = defaultdict(list)
        for site in sites(sources[path], str(path.relative_to(root)), room):
            by_line[path][site.line].append(site)
    lines = sum(map(len, by_line.values()))
    while len(met) < min(count, lines):
        path = draw.choices(list(files), [source.count(b"\n") for source in sources.values()])[0]
        line = draw.choice(sorted(by_line[path])) if by_line[path] else None
        if line is not None and (path, line) not in met:
            met.add((path, line))
            yield draw.choice(by_line[path][line])
