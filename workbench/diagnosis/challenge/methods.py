"""The methods that answer a challenge: the diagnosis, baselines with one tool each, and random answers.

A baseline turns its evidence into answers by the nearest neighbours of a model in the *tuning split*, whose truth is
known. The number of neighbours is chosen on the tuning split too. The diagnosis uses no tuning split, because its rules
are fixed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from workbench.core.names import NOT_EXPLAINED
from workbench.core.seeds import seed_of
from workbench.diagnosis.bench.members import diagnosis_columns
from workbench.diagnosis.challenge.answer_file import Answer
from workbench.diagnosis.challenge.budget import BUDGET, counted_passes
from workbench.diagnosis.challenge.challenge_folder import Challenge, ChallengeModel
from workbench.diagnosis.challenge.errors import ChallengeError
from workbench.diagnosis.challenge.evidence import TOOLS, Evidence, Subject
from workbench.diagnosis.challenge.scoring import PARTS
from workbench.diagnosis.challenge.truth import CAUSES, LOCATIONS, NONE, ModelTruth, Truth
from workbench.diagnosis.measurement import Diagnosis
from workbench.measure.measurement import Grid
from workbench.measure.model_study import ModelStudy

DIAGNOSIS_METHOD = "diagnosis"
RANDOM = "random"
METHODS = (DIAGNOSIS_METHOD, *TOOLS, RANDOM)
"""Names of the methods."""
STRINGS = 512
"""Number of sequences of a diagnosis."""
NEIGHBOURS = (1, 3, 5, 7)
"""Numbers of neighbours that are tried on the tuning split."""


@dataclass(frozen=True)
class Answered:
    """The answers of a method.

    Attributes:
        answers: one for each model.
        passes: forward passes used on each model.
        neighbours: for a baseline, the number of neighbours for each part of the answer.
    """

    answers: Sequence[Answer]
    passes: Sequence[int]
    neighbours: Mapping[str, int]


def answer_challenge(
    method: str,
    challenge: Challenge,
    tuning: Challenge | None = None,
    tuning_truth: Truth | None = None,
    budget: int = BUDGET,
    on_model: Callable[[int, int], None] = lambda done, total: None,
) -> Answered:
    """Return the answers of a method to a challenge.

    Args:
        method: one of :data:`METHODS`.
        challenge: the challenge.
        tuning, tuning_truth: the tuning split and its truth; the diagnosis needs none.
        budget: forward passes per model.
        on_model: called after each model, with the number of finished models and of all.

    Raises:
        ChallengeError: for a method that needs a tuning split, if there is none.
        BudgetSpent: if the method makes more forward passes.
    """
    if method == DIAGNOSIS_METHOD:
        passes, answers = [], []
        for done, model in enumerate(challenge.models, start=1):
            answer, used = diagnosis_answer(model, budget)
            answers.append(answer)
            passes.append(used)
            on_model(done, len(challenge.models))
        return Answered(answers, passes, {})
    if tuning is None or tuning_truth is None:
        raise ChallengeError(f"the method {method} learns from a tuning split; make one with another seed, and name it "
                             "with --tuning")  # fmt: skip
    labels = tuning_labels(tuning_truth)
    if len(tuning_truth.models) < 2:
        raise ChallengeError("the tuning split has fewer than two models; make one with more --models")
    if method == RANDOM:
        return Answered(random_answers(challenge.names, labels), [0] * len(challenge.models), {})
    total = len(tuning.models) + len(challenge.models)
    seen = [_evidence(method, model, budget) for model in _reported(tuning.models, on_model, 0, total)]
    new = [_evidence(method, model, budget) for model in _reported(challenge.models, on_model, len(seen), total)]
    known, fresh = tables([one for one, _ in seen], [one for one, _ in new])
    neighbours = {part: chosen_neighbours(known, labels[part]) for part in PARTS}
    told = {part: nearest_labels(known, labels[part], fresh, neighbours[part]) for part in PARTS}
    answers = [Answer(model=name, **{part: told[part][i] for part in PARTS}) for i, name in enumerate(challenge.names)]
    return Answered(answers, [used for _, used in new], neighbours)


def _reported(
    models: Sequence[ChallengeModel], on_model: Callable[[int, int], None], before: int, total: int
) -> Iterator[ChallengeModel]:
    for done, model in enumerate(models, start=before + 1):
        yield model
        on_model(done, total)


def _evidence(method: str, entry: ChallengeModel, budget: int) -> tuple[Evidence, int]:
    model, tool = entry.load(), TOOLS[method]
    with counted_passes(model, budget) as passes:
        evidence = tool.see(Subject(model, entry, tool.strings(model.cfg.n_layers, budget)))
    return evidence, passes.used


# ---- the diagnosis ------------------------------------------------------------------------------
def diagnosis_answer(entry: ChallengeModel, budget: int = BUDGET) -> tuple[Answer, int]:
    """Return the answer of the diagnosis for one model, and the forward passes that it used."""
    model = entry.load()
    grid = Grid(entry.trained, (entry.trained, entry.length), (entry.trained,), (entry.length,))
    study = ModelStudy(model, entry.task, grid, STRINGS, seed_of("challenge", DIAGNOSIS_METHOD, entry.name))
    study.trained_ids = entry.trained_ids  # type: ignore[assignment]
    with counted_passes(model, budget) as passes:
        rows = Diagnosis(factors=(entry.length / entry.trained,)).finish(study)
    found = diagnosis_columns(rows)
    cause = found["entry"] if found["entry"] in CAUSES else NONE
    if found["entry"] in ("", NOT_EXPLAINED):
        return Answer(model=entry.name, cause=NONE), passes.used
    location = found["site"] if found["site"] in LOCATIONS else NONE
    return Answer(model=entry.name, cause=cause, location=location, intervention=found["by"] or NONE), passes.used


# ---- the baselines ------------------------------------------------------------------------------
def tuning_labels(truth: Truth) -> dict[str, list[str]]:
    """Return the right answers of the tuning split, one for each model and part.

    Of several interventions that work, the label is the one that works in most models of the split.
    """
    works = Counter(name for model in truth.models for name in model.working_interventions)

    def intervention(model: ModelTruth) -> str:
        return min(model.working_interventions, key=lambda name: (-works[name], name), default=NONE)

    return {
        "cause": [model.causes[0] for model in truth.models],
        "location": [model.locations[0] if model.locations else NONE for model in truth.models],
        "intervention": [intervention(model) for model in truth.models],
    }


Table = np.ndarray


def tables(known: Sequence[Evidence], new: Sequence[Evidence]) -> tuple[Table, Table]:
    """Return evidence as standardized numbers ``[model, name]``. A name that a model lacks counts as 0."""
    names = sorted({name for evidence in known for name in evidence})
    first, second = (np.array([[one.get(name, 0.0) for name in names] for one in part]) for part in (known, new))
    mean, deviation = first.mean(0), first.std(0)
    deviation[deviation == 0] = 1.0
    return (first - mean) / deviation, (second - mean) / deviation


def nearest_labels(known: Table, labels: Sequence[str], new: Table, neighbours: int) -> list[str]:
    """Return the most frequent label of the nearest known models; among equally frequent ones, that of the nearest."""
    told = []
    for row in new:
        order = np.argsort(((known - row) ** 2).sum(1), kind="stable")[:neighbours]
        near = [labels[i] for i in order]
        told.append(max(near, key=lambda label: (near.count(label), -near.index(label))))
    return told


def chosen_neighbours(known: Table, labels: Sequence[str]) -> int:
    """Return the number of neighbours that is right most often if each known model is left out in turn."""

    def right(neighbours: int) -> int:
        hits = 0
        for i in range(len(labels)):
            rest = [j for j in range(len(labels)) if j != i]
            told = nearest_labels(known[rest], [labels[j] for j in rest], known[i : i + 1], neighbours)
            hits += told == [labels[i]]
        return hits

    return max(NEIGHBOURS, key=lambda neighbours: (right(neighbours), -neighbours))


def random_answers(names: Sequence[str], labels: Mapping[str, Sequence[str]]) -> list[Answer]:
    """Return answers that are drawn from the labels of the tuning split, each part by itself."""
    rng = np.random.default_rng(seed_of("challenge", RANDOM))
    return [Answer(model=name, **{part: str(rng.choice(list(labels[part]))) for part in PARTS}) for name in names]
