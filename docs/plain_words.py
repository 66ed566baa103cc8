"""Private words and long sentences in every text that a reader sees: ``python docs/plain_words.py`` lists them.

``docs/words.toml`` has the words, what to write instead, and how many findings each surface may still have.
``--counts`` prints a line a surface, ``--sample 50`` a random sample, ``--write`` lowers the numbers in the file.
"""

from __future__ import annotations

import argparse
import ast
import random
import re
import tomllib
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parent.parent
LIST = ROOT / "docs" / "words.toml"
PACKAGES = ("lengthlens", "workbench", "probes", "circuits")
SCREEN = ("workbench/dashboard", "workbench/figures")
COMMANDS = "workbench/cli"

CODE = re.compile(r"``[^`]+``|`[^`\n]+`")
ROLE = re.compile(r":\w+:`[^`]+`")
# What is no prose without code font either: options, dotted and assigned names, addresses, quoted words.
NAME = re.compile(r"--[\w-]+|https?://\S+|\b[A-Za-z]\w*(?:[._/=:@]\w+)+|(?<!\w)'[^'\s]+'|\b\w+_\w+\b")
ABBREVIATION = re.compile(r"\b(?:e\.g|i\.e|vs|cf|resp|approx|Eq|Fig|Sec|al|etc)\.")
PROGRAM = re.compile(r"\s*(?:<(?:svg|!DOCTYPE)|data:image|\(function|\[\.\.\.|from workbench)")
"""How strings begin that a browser or Python runs: pictures, pages, scripts and snippets."""
DOT = "\u00b7"
"""Stands for the full stops of abbreviations, which end no sentence."""
SENTENCE_END = re.compile(r"(?<=[.!?])[\"')\]]*\s+(?=[A-Z(\"'`\d*_\[{])|\n\s*\n|\x1e")
WORD = re.compile(rf"[^\W_](?:[\w'’{DOT}-]*\w)?")


class Word(NamedTuple):
    """A word to avoid: the pattern that finds it, phrases where it is right, and what to write instead."""

    word: str
    pattern: re.Pattern[str]
    exception: re.Pattern[str] | None
    allowed: tuple[str, ...]
    replace: str
    bad: str
    good: str


class Passage(NamedTuple):
    """A text with the file and the line of its beginning."""

    file: str
    line: int
    text: str


class Finding(NamedTuple):
    """A private word or a long sentence, and what to do about it."""

    file: str
    line: int
    word: str
    replace: str
    sentence: str

    @property
    def long(self) -> bool:
        return not self.word

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.word or 'long sentence'} -> {self.replace}: {self.sentence}"


class Count(NamedTuple):
    """Findings of a surface: private words and sentences that are too long."""

    words: int
    long_sentences: int


def listed() -> dict[str, Any]:
    """The content of words.toml."""
    return tomllib.loads(LIST.read_text())


def words() -> list[Word]:
    """The words to avoid, in the order of the file."""
    return [
        Word(
            entry["word"],
            re.compile(entry["pattern"], re.IGNORECASE),
            re.compile(entry["except"], re.IGNORECASE) if "except" in entry else None,
            tuple(entry.get("allowed", ())),
            entry["replace"],
            entry["bad"],
            entry["good"],
        )
        for entry in listed()["word"]
    ]


def limits() -> dict[str, Count]:
    """How many findings each surface may have."""
    return {name: Count(**numbers) for name, numbers in listed()["surfaces"].items()}


def prose(text: str) -> str:
    """A text without code: each piece of code becomes one word, and every line stays where it is."""

    def blank(match: re.Match[str]) -> str:
        return "X" + "\n" * match[0].count("\n")

    text = CODE.sub(blank, ROLE.sub(blank, text))
    text = ABBREVIATION.sub(lambda match: match[0].replace(".", DOT), text)
    return NAME.sub(blank, text)


def sentences(text: str) -> Iterator[tuple[int, str]]:
    """The sentences of a text, each with its offset."""
    start = 0
    for end in SENTENCE_END.finditer(text):
        yield start, text[start : end.start()]
        start = end.end()
    yield start, text[start:]


def findings(passage: Passage, avoid: list[Word], longest: int) -> Iterator[Finding]:
    """The private words and the long sentences of a passage."""
    text = prose(passage.text)
    avoid = [word for word in avoid if word.pattern.search(text) and not passage.file.startswith(word.allowed)]
    for start, sentence in sentences(text):
        line = passage.line + text[:start].count("\n")
        shown = " ".join(sentence.split()).replace(DOT, ".")
        for word in avoid:
            spans = [match.span() for match in word.exception.finditer(sentence)] if word.exception else []
            for match in word.pattern.finditer(sentence):
                if not any(first <= match.start() < last for first, last in spans):
                    at = line + sentence[: match.start()].count("\n")
                    yield Finding(passage.file, at, match[0].strip(), word.replace, shown)
        if (count := len(WORD.findall(sentence))) > longest:
            yield Finding(passage.file, line, "", f"{count} words, at most {longest}: split it", shown)


# Markdown


def markdown(path: Path) -> Iterator[Passage]:
    """Paragraphs, items, headings and cells of a page; no code, no comments, and nothing that a script writes."""
    name = path.relative_to(ROOT).as_posix()
    yield from markdown_text(path.read_text(), name, 1)


def markdown_text(text: str, name: str, first: int) -> Iterator[Passage]:
    """See :func:`markdown`; ``first`` is the line of the text's beginning in its file."""

    def hidden(match: re.Match[str]) -> str:
        return "\n" * match[0].count("\n")

    # Between `<!-- name -->` and `<!-- end of name -->` or `<!-- name: end -->` a script writes.
    text = re.sub(r"<!-- (.+?)(?:: begin)? -->.*?<!-- (?:end of \1|\1: end) -->", hidden, text, flags=re.DOTALL)
    text = re.sub(r"<!--.*?-->", hidden, text, flags=re.DOTALL)
    text = re.sub(r"^( *)(```|~~~).*?^\1\2[^\S\n]*$", hidden, text, flags=re.DOTALL | re.MULTILINE)
    text = re.sub(r"\A---\n.*?\n---\n", hidden, text, flags=re.DOTALL)
    text = re.sub(r"\$\$.*?\$\$|\$[^$\n]+\$", lambda match: "X" + hidden(match), text, flags=re.DOTALL)
    text = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", text)
    block: list[str] = []
    begun = first
    for number, line in enumerate([*text.splitlines(), ""], start=first):
        table = line.lstrip().startswith("|")
        opens = re.match(r"\s*(?:[-*+]|\d+\.|>|#+)\s", line) or table or not line.strip()
        if opens and block:
            yield Passage(name, begun, "\n".join(block))
            block = []
        if table:
            yield from (Passage(name, number, cell.strip()) for cell in line.strip().strip("|").split("|"))
        elif line.strip() and not line.startswith("    "):
            begun = begun if block else number
            block.append(re.sub(r"^\s*(?:[-*+]|\d+\.|>|#+)\s+", "", line).replace("**", ""))


def readme() -> Iterator[Passage]:
    """README.md."""
    yield from markdown(ROOT / "README.md")


def documents() -> Iterator[Passage]:
    """The pages of docs/ and the tutorials, except records of decisions and pages of claims, which code writes."""
    for path in sorted((ROOT / "docs").rglob("*.md")):
        if path.parent.name not in ("decisions", "claims"):
            yield from markdown(path)
    yield from markdown(ROOT / "CONTRIBUTING.md")
    for path in sorted((ROOT / "notebooks").glob("*.py")):
        name, text = path.relative_to(ROOT).as_posix(), path.read_text()
        for cell in re.finditer(r"^# %% \[markdown\].*\n((?:#.*\n?)*)", text, re.MULTILINE):
            content = re.sub(r"^# ?", "", cell[1], flags=re.MULTILINE)
            yield from markdown_text(content, name, text[: cell.start(1)].count("\n") + 1)


def decisions() -> Iterator[Passage]:
    """The records of decisions."""
    for path in sorted((ROOT / "docs" / "decisions").glob("*.md")):
        yield from markdown(path)


# Python


class Source(NamedTuple):
    """A module: its path below the root, and its tree, whose nodes know their parents."""

    name: str
    tree: ast.Module
    parents: Mapping[ast.AST, ast.AST]

    def above(self, node: ast.AST) -> Iterator[ast.AST]:
        """A node's parents, the nearest first."""
        while node in self.parents:
            node = self.parents[node]
            yield node


_SOURCES: dict[Path, Source] = {}


def sources(*folders: str) -> Iterator[Source]:
    """The modules in folders, in the order of their names; a folder may be a single module."""
    for folder in folders:
        for path in sorted((ROOT / folder).rglob("*.py")) or [ROOT / folder]:
            if path not in _SOURCES:
                tree = ast.parse(path.read_text())
                parents = {child: node for node in ast.walk(tree) for child in ast.iter_child_nodes(node)}
                _SOURCES[path] = Source(path.relative_to(ROOT).as_posix(), tree, parents)
            yield _SOURCES[path]


def text_of(node: ast.AST) -> str | None:
    """The text of a string, with X for what is filled in; None for anything else."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if isinstance(node, ast.JoinedStr):
        return "".join(str(part.value) if isinstance(part, ast.Constant) else "X" for part in node.values)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        left, right = text_of(node.left), text_of(node.right)
        return None if left is None and right is None else f"{left or 'X'}{right or 'X'}"
    return None


def strings(source: Source, chosen: Callable[[Source, ast.AST], bool]) -> Iterator[Passage]:
    """The strings of a module that are chosen, whole ones and no parts of them."""
    for node in ast.walk(source.tree):
        if text_of(node) is None or not chosen(source, node):
            continue
        if text_of(source.parents[node]) is None and not isinstance(source.parents[node], ast.FormattedValue):
            yield Passage(source.name, node.lineno, text_of(node) or "")


def is_docstring(source: Source, node: ast.AST) -> bool:
    """Whether a string is an expression of its own: a docstring, or what stands below a constant."""
    return isinstance(source.parents.get(node), ast.Expr)


def is_raised(source: Source, node: ast.AST) -> bool:
    """Whether a string is part of what a ``raise`` raises."""
    return any(isinstance(parent, ast.Raise) for parent in source.above(node))


def is_help(source: Source, node: ast.AST) -> bool:
    """Whether a string is the value of ``help=`` or ``description=``."""
    nodes = [node, *source.above(node)]
    return any(isinstance(parent, ast.keyword) and parent.arg in ("help", "description") for parent in nodes)


def is_annotation(source: Source, node: ast.AST) -> bool:
    """Whether a string is part of a type."""
    nodes = [node, *source.above(node)]
    types = [parent.annotation for parent in nodes if isinstance(parent, ast.arg | ast.AnnAssign) and parent.annotation]
    types += [parent.returns for parent in nodes if isinstance(parent, ast.FunctionDef) and parent.returns]
    return any(kind in nodes for kind in types)


def is_sentence(source: Source, node: ast.AST) -> bool:
    """Whether a string is read as words: at least two words, and not a docstring, type, error, program or CSS class."""
    if is_docstring(source, node) or is_raised(source, node) or is_annotation(source, node):
        return False
    text = text_of(node) or ""
    if PROGRAM.match(text) or any(isinstance(n, ast.keyword) and n.arg == "className" for n in source.above(node)):
        return False
    is_query = re.match(r"\s*(?:select|with|create) ", text)
    return len(re.findall("[A-Za-z]+", text)) > 1 and " " in text.strip() and not is_query


def helps() -> Iterator[Passage]:
    """What ``--help`` prints: the docstrings of commands, and what describes their arguments and options."""
    from workbench.cli.main import COMMANDS as BY_NAME

    functions = {tuple(place.split(":")) for place in BY_NAME.values()}
    for source in sources(COMMANDS, "app.py"):
        yield from strings(source, is_help)
        module = source.name.removesuffix(".py").replace("/", ".")
        for node in ast.walk(source.tree):
            if isinstance(node, ast.FunctionDef) and (module, node.name) in functions:
                yield docstring(source, node, indented_code=True)


def printed() -> Iterator[Passage]:
    """What commands print: their other strings."""
    for source in sources(COMMANDS):
        yield from strings(source, lambda s, n: is_sentence(s, n) and not is_help(s, n))


def screen() -> Iterator[Passage]:
    """What the dashboard and the figures show: titles, texts of panels, tooltips, sentences."""
    for source in sources(*SCREEN):
        yield from strings(source, is_sentence)


def glossary() -> Iterator[Passage]:
    """What measurements state of their quantities, which the Glossary shows."""

    def defines(source: Source, node: ast.AST) -> bool:
        calls = [parent.func for parent in source.above(node) if isinstance(parent, ast.Call)]
        return is_sentence(source, node) and any(isinstance(f, ast.Name) and f.id == "Quantity" for f in calls)

    for source in sources("workbench/measure", "workbench/diagnosis", "probes", "circuits"):
        yield from strings(source, defines)


def docstring(source: Source, node: Any, indented_code: bool = False) -> Passage:
    """A docstring; its examples and titles of sections are left out, and a list becomes sentences of its own."""
    text = node.body[0].value.value
    text = re.sub(
        r"^ *(?:Args|Raises|Returns|Yields|Attributes|Source|Example|Examples):$", "", text, flags=re.MULTILINE
    )
    text = re.sub(r"^ *(?:>>>|\.\.\.).*$", "", text, flags=re.MULTILINE)
    if indented_code:
        text = re.sub(r"^ {8,}\S.*$", "", text, flags=re.MULTILINE)
    # Names of arguments are code.
    text = re.sub(r"^( +)\*{0,2}\w+(?:, \*{0,2}\w+)*: ", r"\1X: ", text, flags=re.MULTILINE)
    # Each argument, error or item begins a paragraph.
    text = re.sub(r"\n( *)(?=(?:[-*] |[\w, *]+: ))", "\n\x1e\\1", text)
    return Passage(source.name, node.body[0].value.lineno, text)


def docstrings() -> Iterator[Passage]:
    """The docstrings of modules, and of public classes, functions and methods."""
    from workbench.cli.main import COMMANDS as BY_NAME

    functions = {tuple(place.split(":")) for place in BY_NAME.values()}
    for source in sources(*PACKAGES):
        module = source.name.removesuffix(".py").replace("/", ".")
        for node in ast.walk(source.tree):
            if not isinstance(node, ast.FunctionDef | ast.ClassDef | ast.Module) or ast.get_docstring(node) is None:
                continue
            chain = [node, *source.above(node)]
            names = [parent.name for parent in chain if isinstance(parent, ast.FunctionDef | ast.ClassDef)]
            inner = any(isinstance(parent, ast.FunctionDef) for parent in source.above(node))
            if not inner and not any(name.startswith("_") for name in names) and (module, *names) not in functions:
                yield docstring(source, node)


def errors() -> Iterator[Passage]:
    """What errors state, except the errors that rows store as notes."""
    stored = {*listed()["stored"]["messages"]}
    for source in sources(*PACKAGES):
        texts = strings(source, lambda s, n: " " in (text_of(n) or "") and is_raised(s, n))
        yield from (passage for passage in texts if passage.text not in stored)


SURFACES: Mapping[str, Callable[[], Iterator[Passage]]] = {
    "readme": readme,
    "docs": documents,
    "decisions": decisions,
    "help": helps,
    "terminal": printed,
    "errors": errors,
    "dashboard": screen,
    "glossary": glossary,
    "docstrings": docstrings,
}


@cache
def passages(name: str) -> tuple[Passage, ...]:
    """The texts of a surface."""
    return tuple(SURFACES[name]())


def of_surface(name: str) -> list[Finding]:
    """All findings of a surface, in the order of files and lines."""
    avoid, longest = words(), listed()["limits"]["words_a_sentence"]
    return sorted(finding for passage in passages(name) for finding in findings(passage, avoid, longest))


def count(found: list[Finding]) -> Count:
    """How many of findings are words, and how many are long sentences."""
    return Count(sum(not finding.long for finding in found), sum(finding.long for finding in found))


def problem(limit: Count, real: Count) -> str:
    """What is wrong with the numbers of a surface in words.toml; "" where nothing is."""
    for name, most, number in zip(Count._fields, limit, real, strict=True):
        if number > most:
            return (
                f"{number} {name.replace('_', ' ')}, at most {most} are allowed: write {number - most} of them plainly"
            )
        if number < 0.9 * most:
            return f"{number} {name.replace('_', ' ')} are left of {most}: run python docs/plain_words.py --write"
    return ""


def write(real: Mapping[str, Count]) -> None:
    """Lower the numbers in words.toml to the real ones.

    Raises:
        SystemExit: where a number would rise.
    """
    text, allowed = LIST.read_text(), limits()
    for name, now in real.items():
        line = f"{name} = {{ words = {now.words}, long_sentences = {now.long_sentences} }}"
        before = allowed.get(name)
        if before is None:
            text = text.replace("[surfaces]\n", f"[surfaces]\n{line}\n")
        elif now.words > before.words or now.long_sentences > before.long_sentences:
            raise SystemExit(f"{name}: {problem(before, now)}")
        else:
            text = re.sub(rf"^{name} = .*$", line, text, flags=re.MULTILINE)
    LIST.write_text(text)


def main() -> None:
    parser = argparse.ArgumentParser(description="List private words and long sentences.")
    parser.add_argument("surfaces", nargs="*", metavar="SURFACE", help=f"one of {', '.join(SURFACES)}; default all")
    parser.add_argument("--counts", action="store_true", help="print a line for each surface")
    parser.add_argument("--sample", type=int, default=0, metavar="K", help="print K findings, drawn with seed 0")
    parser.add_argument("--write", action="store_true", help="lower the numbers in words.toml to what is found")
    given = parser.parse_args()
    chosen = {name: of_surface(name) for name in given.surfaces or SURFACES}
    if given.write:
        write({name: count(found) for name, found in chosen.items()})
    if given.counts or given.write:
        for name, found in chosen.items():
            print(name, *count(found))
        return
    every = [finding for found in chosen.values() for finding in found]
    for finding in random.Random(0).sample(every, min(given.sample, len(every))) if given.sample else every:
        print(finding)


if __name__ == "__main__":
    main()
