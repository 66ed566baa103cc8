"""Make a challenge: draw models with planted causes, and write models and truth separately."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Sequence
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors.torch import save

from workbench.core.seeds import seed_of
from workbench.diagnosis.bench.members import JUDGED, PER_KIND, Member, Planted, planted_member
from workbench.diagnosis.bench.memory_models import MemoryNumbers
from workbench.diagnosis.bench.plants import KINDS, Kind
from workbench.diagnosis.bench.trained_models import TrainedNumbers
from workbench.diagnosis.challenge.challenge_folder import (
    FILE,
    MODEL_CONFIG,
    MODEL_WEIGHTS,
    VERSION,
    ChallengeFile,
    ModelEntry,
)
from workbench.diagnosis.challenge.errors import ChallengeError
from workbench.diagnosis.challenge.rotated_model import rotate
from workbench.diagnosis.challenge.truth import NONE, Effect, ModelTruth, Truth, write_truth
from workbench.diagnosis.intervened_pass import asking, clearly_right, inside_of, last_classes
from workbench.diagnosis.recovered_share import Bootstrap, Judged
from workbench.diagnosis.tried_interventions import Trials
from workbench.measure.edits.edited_forward import largest_id
from workbench.measure.edits.interventions.all_interventions import interventions_on
from workbench.measure.study import forward
from workbench.models.base.hooked import Hooked
from workbench.models.base.protocol import HookedModel
from workbench.models.transformer.model import HookedTransformer
from workbench.storage.atomic import make_folder, replacing_folder
from workbench.storage.below import write_new
from workbench.tasks.base import Batch
from workbench.tasks.random_generator import generator

MOST_TRIES = 3 * PER_KIND
"""Members that are drawn of one kind until one passes its check."""
EFFECT_STRINGS, PAIR_STRINGS = 512, 256
"""Sequences on which interventions, and pairs of them, are tested."""
LEFT_OUT = frozenset({"finite precision", "count out of range"})
"""Kinds without a clear right answer: no location or intervention, or more than one cause."""


def challenge_kinds() -> list[Kind]:
    """Return the kinds of the challenge: transformers only, with a clear right answer."""
    probe = np.random.default_rng(0)
    return [kind for kind in KINDS if kind.name not in LEFT_OUT and not isinstance(kind.draw(probe)[0], MemoryNumbers)]


def make_challenge(
    seed: int,
    folder: Path,
    truth_file: Path,
    models: int | None = None,
    on_model: Callable[[int, int], None] = lambda done, total: None,
) -> Truth:
    """Write the models of a challenge to ``folder``, and their truth to ``truth_file``.

    Args:
        seed: seed of the models. The same seed gives the same models.
        folder: the new folder.
        truth_file: the file with the truth, outside of the folder.
        models: number of models; None = one of each kind.
        on_model: called after each model, with the number of finished models and of all.

    Raises:
        ChallengeError: if the folder exists, or the truth file is inside of it or exists.
    """
    if folder.exists():
        raise ChallengeError(f"{folder} already exists; name a new folder with --out")
    if folder.resolve() in truth_file.resolve().parents:
        raise ChallengeError(f"the truth file {truth_file} is inside the folder {folder}; name a file outside of it")
    if truth_file.exists():
        raise ChallengeError(f"{truth_file} already exists; name a new file with --truth")
    chosen = _chosen_kinds(seed, models)
    truths: list[ModelTruth] = []
    entries: list[ModelEntry] = []
    make_folder(folder.absolute().parent)
    with replacing_folder(folder.absolute().parent, folder.name) as new:
        for number, kind in enumerate(chosen, start=1):
            name = f"m{number:02}"
            member, plant = _valid_member(seed, kind, chosen[: number - 1].count(kind))
            model = public_model(member, plant)
            entries.append(_write_model(new, name, member, plant, model))
            truths.append(_model_truth(name, member, plant, model))
            on_model(number, len(chosen))
        truth = Truth(seed=seed, models=tuple(truths))
        data = write_truth(truth_file, truth)
        digest = hashlib.sha256(data).hexdigest()
        listed = ChallengeFile(challenge=VERSION, truth_sha256=digest, models=tuple(entries))
        write_new(new, FILE, (listed.model_dump_json(indent=1) + "\n").encode())
    return truth


def _chosen_kinds(seed: int, models: int | None) -> Sequence[Kind]:
    """Return the kinds in a random order; each occurs about equally often."""
    kinds, rng = challenge_kinds(), np.random.default_rng(seed_of("challenge", seed, "order"))
    wanted = len(kinds) if models is None else models
    chosen: list[Kind] = []
    while len(chosen) < wanted:
        order = rng.permutation(len(kinds))
        chosen += [kinds[i] for i in order[: wanted - len(chosen)]]
    return [chosen[i] for i in rng.permutation(wanted)]


def _valid_member(seed: int, kind: Kind, number: int) -> tuple[Member, Planted]:
    """Return the first member of a kind that passes the check of its planted cause."""
    rng = np.random.default_rng(seed_of("challenge", seed, kind.name, number))
    first = int(rng.integers(PER_KIND))
    for index in range(first, first + MOST_TRIES):
        member = Member(kind.name, index, f"challenge {seed} {number}")
        plant = planted_member(member)
        if not plant.excluded:
            return member, plant
    raise ChallengeError(f"seed {seed} gives no valid model of the kind {kind.name!r}; choose another --seed")


def public_model(member: Member, plant: Planted) -> Hooked:
    """Return the model as it is published: a hand-built one in a random basis of its residual stream."""
    model = plant.numbers.build()
    if isinstance(plant.numbers, TrainedNumbers) or not isinstance(model, HookedTransformer):
        return model
    return rotate(model, np.random.default_rng(seed_of(member.stream, "basis", member.kind, member.index)))


def _write_model(folder: Path, name: str, member: Member, plant: Planted, model: Hooked) -> ModelEntry:
    make_folder(folder, name)
    write_new(
        folder, f"{name}/{MODEL_CONFIG}", (json.dumps(model.cfg.model_dump(mode="json"), indent=1) + "\n").encode()
    )
    weights = save({key: value.detach().contiguous() for key, value in model.state_dict().items()})
    write_new(folder, f"{name}/{MODEL_WEIGHTS}", weights)
    plan = member.plan
    return ModelEntry(
        name=name,
        task={"name": plan.task.name, **plan.task.model_dump(mode="json")},
        trained=plan.trained,
        length=plan.length,
        trained_ids=getattr(plant.numbers, "trained_ids", None),
        sha256=hashlib.sha256(weights).hexdigest(),
    )


def _model_truth(name: str, member: Member, plant: Planted, model: Hooked) -> ModelTruth:
    plan = member.plan
    healthy = plan.role == "healthy"
    accuracy = member.accuracy(model, plan.trained, JUDGED, "truth")
    return ModelTruth(
        model=name,
        kind=plan.name,
        causes=(NONE,) if healthy else plan.entries,
        locations=plan.sites,
        accuracy=accuracy,
        drop=accuracy - member.accuracy(model, plan.length, JUDGED, "truth"),
        interventions={} if healthy else dict(_effects(member, plant, model)),
    )


def _effects(member: Member, plant: Planted, model: Hooked) -> Iterator[tuple[str, Effect]]:
    """Yield what each intervention does; for two planted causes also what each pair does."""
    trained = member.plan.trained
    fit_inside, reference = (_batch(member, trained, word) for word in ("inside", "reference"))
    batch, fit = (_batch(member, member.plan.length, word) for word in ("repairs", "fit"))
    ids: Any = getattr(plant.numbers, "trained_ids", None)
    inside = inside_of(model, fit_inside, largest_id(ids))
    trials = Trials(model, member.plan.task, inside, reference, _judged(member, model, reference))
    able = []
    at = Bootstrap(trials.at_reference, _judged(member, model, batch), np.random.default_rng(0), 1)
    for intervention in interventions_on(model.cfg):
        if trials.why_not(intervention, batch):
            continue
        able.append(intervention)
        right = trials.judge([intervention], batch, fit).right
        yield intervention.name, Effect(recovered=at.gained_share(right), cost=trials.harm([intervention]))
    if member.plan.role != "joint":
        return
    some = batch.take(torch.arange(PAIR_STRINGS))
    at = Bootstrap(trials.at_reference, _judged(member, model, some), np.random.default_rng(0), 1)
    for first, second in product(able, able):
        if first.family < second.family:
            right = trials.judge([first, second], some, fit).right
            cost = trials.harm([first, second])
            yield f"{first.name} and {second.name}", Effect(recovered=at.gained_share(right), cost=cost)


def _batch(member: Member, length: int, word: str) -> Batch:
    draw = generator(member.stream, word, member.kind, member.index, length)
    return asking(member.plan.task.sample(EFFECT_STRINGS, length, draw, "matched", window=member.plan.trained))


def _judged(member: Member, model: HookedModel, batch: Batch) -> Judged:
    outputs = forward(model, batch, [])["logits"]
    return Judged(clearly_right(member.plan.task, outputs, batch), last_classes(batch))
