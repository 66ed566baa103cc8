"""How many causes, locations and interventions of an answer file are right, with intervals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from workbench.diagnosis.bench.scoring import Share
from workbench.diagnosis.challenge.answer_file import PAIR, Answer
from workbench.diagnosis.challenge.truth import ModelTruth, Truth
from workbench.measure.intervals import tango


@dataclass(frozen=True)
class ModelScore:
    """Whether the answer for one model is right.

    Attributes:
        model: its name.
        cause: whether the cause is right.
        location: whether the location is right; None = it is not scored.
        intervention: whether the intervention works; None = it is not scored.
    """

    model: str
    cause: bool
    location: bool | None
    intervention: bool | None


@dataclass(frozen=True)
class Scores:
    """The scores of an answer file.

    Attributes:
        models: the scores of each model.
    """

    models: tuple[ModelScore, ...]

    def share(self, part: str) -> Share:
        """Return the right answers among the scored ones, for ``cause``, ``location`` or ``intervention``."""
        scored = [right for score in self.models if (right := getattr(score, part)) is not None]
        return Share(sum(scored), len(scored))


def paired_difference(first: Scores, second: Scores, part: str) -> tuple[float, float, float]:
    """Return how much more often the first entry is right than the second, with its paired interval (Tango).

    Args:
        first, second: the scores of two entries on the same models.
        part: ``cause``, ``location`` or ``intervention``.
    """
    pairs = [(getattr(a, part), getattr(b, part)) for a, b in zip(first.models, second.models, strict=True)]
    scored = [(a, b) for a, b in pairs if a is not None]
    more, fewer = (sum(a is better and b is not better for a, b in scored) for better in (True, False))
    low, high = tango(more, fewer, len(scored))
    return (more - fewer) / len(scored), low, high


PARTS = ("cause", "location", "intervention")


def score_answers(answers: Mapping[str, Answer], truth: Truth) -> Scores:
    """Return the scores of answers, one for each model of the truth.

    The cause is scored for every model. The location is scored if the planted flaw has one. The intervention is
    scored if one works.

    Raises:
        KeyError: for a model without an answer.
    """
    return Scores(tuple(_score(answers[model.model], model) for model in truth.models))


def _score(answer: Answer, truth: ModelTruth) -> ModelScore:
    return ModelScore(
        truth.model,
        answer.cause in truth.causes,
        answer.location in truth.locations if truth.locations else None,
        _works(answer.intervention, truth.working_interventions),
    )


def _works(intervention: str, working: Sequence[str]) -> bool | None:
    """Return whether an intervention is one of those that work; a pair counts in either order. None if none works."""
    parts = [frozenset(name.split(PAIR)) for name in (intervention, *working)]
    return parts[0] in parts[1:] if working else None
