"""Sentences about one sequence; each number has the row and column that it comes from.

The rows are those of ``workbench.figures.sequence_view.data``, which readers can download as CSV; no table stores them.
"""

from __future__ import annotations

import re
from typing import Any

from workbench.figures.labels import Piece, magnitude, proportion, whole
from workbench.figures.rows.claims import READING, Cite, Claim, plain, selection_without_row
from workbench.figures.sequence.sequence_data import oracle_words, titles
from workbench.figures.sequence.sequence_marks import MOST_CLASSES, TOP, top_classes
from workbench.figures.sequence.sequence_view import row_of
from workbench.measure.edits.reading import PassName, SequenceReading
from workbench.models.base.graph import head_name

STRONG, CODE = "strong", "code"
"""Roles of pieces: a name that is set off, a token."""


def answers_sentence(found: SequenceReading, query: int) -> list[Piece]:
    """The answers of the oracle and the model at a query, and the model's answer under edits if there are any.

    Args:
        found: the sequence.
        query: index of the query on the position axis.
    """
    right = oracle_words(found, query)
    pieces: list[Piece] = [selection_without_row("prefix", prefix_of(found, query), "At prefix ", " ")]
    if right:
        told = Claim(right, "plain", [_cite(right, "true", row="outputs", position=query)])
        pieces += [plain("the oracle\u2019s answer is "), told, plain("; the model predicts ")]
    else:
        pieces.append(plain("the task has no answer; the model predicts "))
    pieces += _answer(found, "clean", query)
    if found.edited is not None:
        pieces += [plain(", edited "), *_answer(found, "edited", query)]
    return [*pieces, plain(".")]


def tally_sentence(found: SequenceReading) -> list[Piece]:
    """At how many prefixes the model is right, as it is and under edits."""
    answers = [correct for correct in found.clean.correct if correct is not None]
    if not answers:
        return [plain("The task has no answer for any prefix of this sequence.")]
    near = f", {found.within} of the oracle\u2019s" if found.within else ""
    pieces: list[Piece] = [
        _count(sum(answers), "right", "Right at "),
        _count(len(answers), "asked", " of ", " prefixes with an answer"),
    ]
    if near:
        pieces.append(Claim(near, "plain", [_cite(text, "within") for text in re.findall(r"\d[\d.]*", near)]))
    if found.edited is None:
        return [*pieces, plain(".")]
    edited = [correct for correct in found.edited.correct if correct is not None]
    changed = sum(a != b for a, b in zip(answers, edited, strict=True))
    pieces.append(_count(sum(edited), "right", ", edited at ", part="edited"))
    pieces.append(_count(changed, "changed", "; ", f" answer{' changes' if changed == 1 else 's change'}.", "change"))
    return pieces


def attention_sentence(found: SequenceReading, query: int) -> list[Piece]:
    """What a query looks at most; nothing where its weights are not at hand."""
    row = row_of(found, query)
    if row is None:
        return []
    tokens = list(found.tokens)[: len(row)]
    shares: dict[str, float] = {}
    for token, weight in zip(tokens, row, strict=True):
        shares[token] = shares.get(token, 0.0) + float(weight)
    top, share = max(shares.items(), key=lambda item: item[1])
    keys = tokens.count(top)
    place: dict[str, Any] = {"row": "pattern", "position": query}
    head = "The mean over all heads" if found.head is None else head_name(found.layer, found.head)
    numbers = [] if found.head is None else [_cite(str(found.layer), "layer"), _cite(str(found.head), "head")]
    weight_text, counted, of = proportion(share), whole(keys), whole(len(tokens))
    part = proportion(keys / len(tokens))
    return [
        Claim(head, STRONG, numbers),
        plain(" gives "),
        Claim(weight_text, "plain", [_cite(weight_text, "sum", **place, key_token=top)]),
        plain(" of the query\u2019s attention to "),
        Claim(top, CODE, [_cite(top, "key_token", **place)]),
        plain(": "),
        Claim(counted, "plain", [_cite(counted, "rows", **place, key_token=top)]),
        Claim(f" of {of} keys", "plain", [_cite(of, "rows", **place)]),
        Claim(f", a share of {part}.", "plain", [_cite(part, "share", **place, key_token=top)]),
    ]


def prefix_of(found: SequenceReading, query: int) -> int:
    """The prefix length that ends at a position."""
    return query if found.bos else query + 1


def _answer(found: SequenceReading, part: PassName, query: int) -> list[Piece]:
    """A class with its probability, or numbers."""
    output, where = found.of(part).outputs[query], {"row": "outputs", "position": query, "part": part}
    if not found.classes:
        parts: list[Piece] = []
        for i, (title, value) in enumerate(zip(titles(found, len(output)), output, strict=True)):
            text = magnitude(float(value))
            named = [_cite(found.components[i], "name", **where, at=i)] if title else []
            parts += [plain(", ")] if i else []
            parts += [Claim(title, "plain", named)] if title else []
            parts.append(Claim(text, "plain", [_cite(text, "value", **where, at=i)]))
        return parts
    parts = []
    for i, place in enumerate(top_classes(output, TOP if len(found.classes) > MOST_CLASSES else 1)):
        name, share = found.classes[place], proportion(float(output[place]))
        parts += [plain(", then " if i == 1 else ", ")] if i else []
        parts.append(Claim(name, "plain", [_cite(name, "name", **where, **({"at": place} if i else {}))]))
        parts.append(Claim(f" ({share})", "plain", [_cite(share, "value", **where, name=name)]))
    return parts


def _count(number: int, what: str, before: str = "", after: str = "", part: str = "clean") -> Claim:
    text = whole(number)
    return Claim(f"{before}{text}{after}", "plain", [_cite(text, what, row="outputs", part=part)])


def _cite(text: str, column: str, **where: Any) -> Cite:
    return Cite(text, column, where, READING)
