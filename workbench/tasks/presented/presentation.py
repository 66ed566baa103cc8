"""The format of a task's prompt for a model that was never trained on it: the text around its items."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Literal, NamedTuple

from pydantic import BaseModel, ConfigDict, Field

from workbench.core.suggest import nearest
from workbench.tasks.batch import TaskError


class Presentation(BaseModel):
    """The form of a prompt: the text around the items, and worked examples. Items are words of one token each.

    A presentation is part of a run's identity. A question reads: ``before``, the items with ``between`` them, ``ask``,
    the queried item if there is one, ``answer``, and then the answer. A worked example ends in ``after``.

    Attributes:
        name: its preset.
        template: which wording of the preset, from 0 on.
        prefix: text of one token before everything; None = the tokenizer's BOS, or its end-of-text token if it has no
            BOS.
        before, between, ask, answer, after: texts; "" = nothing.
        mark: text between the two items of a pair. ``between`` then separates pairs.
        pairs: whether items come in pairs. The query is then the first item of a pair.
        words: how many single-token words items are spread over; 0 = all. The words with the lowest ids are used; a
            tokenizer that learns by merging met these most often.
        shots: worked examples before the question, each with items of its own.
        shot_items: items of each worked example; 0 = as many as the question has.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: Literal["bare", "pairs", "shots"]
    template: Annotated[int, Field(ge=0, le=1000)] = 0
    prefix: str | None = None
    before: str = ""
    between: str = ""
    mark: str = ""
    ask: str = ""
    answer: str = ""
    after: str = ""
    pairs: bool = False
    words: Annotated[int, Field(ge=0, le=10_000_000)] = 0
    shots: Annotated[int, Field(ge=0, le=100)] = 0
    shot_items: Annotated[int, Field(ge=0, le=10_000)] = 0

    @property
    def title(self) -> str:
        """The name that verdicts and sentences use, e.g. ``bare``, ``5 shots, template 3``."""
        words = f", {self.words:,} commonest words" if self.words else ""
        if not self.shots:
            return f"{self.name}{words}"
        items = f" of {self.shot_items} items" if self.shot_items else ""
        return f"{self.shots} shots{items}, template {self.template}{words}"

    def slots(self, items: int, query: bool, answers: int, example: bool = False) -> list[Slot]:
        """Return one question as a list of slots to fill.

        Args:
            items: how many items its context has.
            query: whether there is a queried item.
            answers: how many answers the text contains: all except the last for a question, all for an example.
            example: whether it is a worked example, which ends in ``after``.
        """
        row = [Slot("before")]
        for number in range(1, items + 1):
            if number > 1:
                row.append(Slot("mark" if self.pairs and number % 2 == 0 else "between"))
            row.append(Slot("item", number))
        row.append(Slot("ask"))
        if query:
            row.append(Slot("query"))
        row.append(Slot("answer mark"))
        row += [Slot("answer", number) for number in range(1, answers + 1)]
        if example:
            row.append(Slot("after"))
        return row

    @property
    def texts(self) -> dict[str, str]:
        """Return the texts of the prompt, by the part of a :class:`Slot` that they fill."""
        return {
            "before": self.before, "between": self.between, "mark": self.mark, "ask": self.ask,
            "answer mark": self.answer, "after": self.after,
        }  # fmt: skip


class Slot(NamedTuple):
    """A slot of a question: a numbered ``item`` or ``answer``, the ``query``, or one of the texts."""

    part: str
    number: int = 0


TEMPLATES: Sequence[Mapping[str, str]] = tuple(
    {"before": before, "ask": ask, "answer": answer, "after": "\n"}
    for before in ("", "Input:", "List:", "Words:", "Sequence:")
    for ask, answer in ((" ->", ":"), ("\nQuery:", "\nAnswer:"), (" |", " ="), ("\nQ:", "\nA:"))
)
"""The twenty wordings of worked examples: five ways to begin, times four ways to write the query and the answer."""

PRESETS: Mapping[str, Presentation] = {
    "bare": Presentation(name="bare"),
    "pairs": Presentation(name="pairs", between="\n", mark=":", ask="\n", answer=":", pairs=True),
    "shots": Presentation.model_validate({"name": "shots", "shots": 5, **TEMPLATES[0]}),
}


def presentation(
    name: str,
    template: int = 0,
    shots: int | None = None,
    shot_items: int = 0,
    prefix: str | None = None,
    words: int = 0,
) -> Presentation:
    """Return a presentation by its name.

    Args:
        name: ``bare``: only the items; ``pairs``: lines of two items, with the first one of a pair as the query;
            ``shots``: worked examples in one of :data:`TEMPLATES`.
        template: which wording; only ``shots`` has several.
        prefix, words: see :class:`Presentation`.
        shots, shot_items: worked examples and items of each; None, 0 = five, with as many items as the question.

    Raises:
        TaskError: for an unknown presentation; the message suggests the nearest name.
    """
    if name not in PRESETS:
        raise TaskError(f"there is no presentation {name!r} ({nearest(name, PRESETS)})")
    chosen = PRESETS[name]
    if not chosen.shots:
        if template or shots or shot_items:
            raise TaskError(
                f"the presentation {name} has no worked examples; leave out --shots and --template, or choose shots"
            )
        return chosen.model_copy(update={"prefix": prefix, "words": words})
    if not 0 <= template < len(TEMPLATES):
        raise TaskError(f"there are {len(TEMPLATES)} templates, from 0 to {len(TEMPLATES) - 1}, not {template}")
    changed = {**TEMPLATES[template], "template": template, "shot_items": shot_items, "prefix": prefix, "words": words}
    return Presentation(**{**chosen.model_dump(), **changed, "shots": chosen.shots if shots is None else shots})
