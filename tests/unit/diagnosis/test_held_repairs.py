"""Every blind repair on every kind of positions, and what a pass at N is reduced to: numbers that are held."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import Any

import numpy as np
import pytest
import torch

from tests.support.held import Held
from tests.support.measure.held_rows import FLOAT, short
from workbench.diagnosis.bench.memory_models import MemoryNumbers
from workbench.diagnosis.bench.needle_models import NeedleNumbers, WrittenBit
from workbench.diagnosis.intervened_pass import IntervenedPass, inside_of
from workbench.diagnosis.location import (
    cross_validated_accuracy,
    key_scores,
    last_rows,
    read_blocks,
    read_heads,
    with_head_reading,
)
from workbench.diagnosis.recovered_share import Bootstrap, Judged
from workbench.diagnosis.tried_interventions import Trials, Tried
from workbench.measure.edits.interventions.all_interventions import interventions_on
from workbench.measure.edits.interventions.intervention import IdEdit, TrainedIds
from workbench.measure.edits.interventions.position import POSITION
from workbench.models import HookedTransformer, ModelConfig
from workbench.tasks import make_task
from workbench.tasks.random_generator import generator

N, FAR = 6, 15
MODELS: dict[str, dict[str, Any]] = {
    "learned": {"positions": "learned"},
    "rotary": {"positions": "rotary"},
    "alibi": {"positions": "alibi", "log_scaling": "learned"},
    "relative": {"positions": {"name": "relative", "buckets": 8, "max_distance": 16}, "log_scaling": "all"},
    "linear": {"positions": "none", "attention": "linear"},
}


def small(options: dict[str, Any]) -> HookedTransformer:
    sizes: dict[str, Any] = {"n_layers": 2, "d_model": 8, "n_heads": 2, "n_ctx": 32, "initializer_range": 0.7}
    return HookedTransformer(ModelConfig(d_vocab=6, d_vocab_out=2, **sizes, **options), seed=3).double().eval()


def strings(length: int, word: str, count: int = 6, task: str = "flip_flop") -> Any:
    return make_task(task).sample(count, length, generator("held repairs", word), "matched", window=N)


def ids_under(repair: Any, ids: torch.Tensor, trained: TrainedIds) -> torch.Tensor:
    """Ids under an intervention; one that edits scores leaves them as they are."""
    return repair.edit(ids, trained) if isinstance(repair, IdEdit) else ids


def test_ids_under_every_repair(held: Held) -> None:
    """At lengths of training, one beyond, not a multiple and a multiple of it; ids that differ by string too."""
    spread = torch.stack([torch.arange(11), torch.arange(11) * 2 + 1])
    every = (torch.arange(6)[None], torch.arange(7)[None], spread, torch.arange(21)[None])
    made = {
        repair.name: [
            ids_under(repair.control if wrong else repair, ids, TrainedIds(5, top, between, absolute))
            for wrong, between, absolute in product((False, True), repeat=3)
            for top in (5, 7)
            for ids in every
        ]
        for repair in POSITION
    }
    held(
        {repair.name: short(np.concatenate([ids.numpy().ravel() for ids in made[repair.name]])) for repair in POSITION}
    )


@pytest.mark.parametrize("kind", MODELS)
def test_what_a_model_gives_out_under_every_repair(kind: str, held: Held) -> None:
    model = small(MODELS[kind])
    inside = inside_of(model, strings(N, "inside", 12), top=N + 3)
    found: dict[str, Any] = {
        "last, keys, top": [inside.last, inside.keys, inside.top],
        "sinks": {str(layer): short(sinks.numpy()) for layer, sinks in inside.sinks.items()},
        "rms": short([of.numpy() for of in inside.statistics.rms.values()]),
        "mass": short([of.numpy() for of in inside.statistics.mass.values()]),
        "moments": short([part.numpy() for of in inside.statistics.moments.values() for part in of]),
    }
    batch, fit = strings(FAR, "at"), strings(FAR, "fit")
    for repair in interventions_on(model.cfg):
        if repair.no_place(model.cfg):
            continue
        outputs = []
        for one, trial in ((repair, False), (repair.control, False), (repair, True)):
            run = IntervenedPass(model, inside, [one], trial)
            if run.needs_statistics:
                run.fit(fit)
            outputs.append(run.outputs(batch)[:, -3:].numpy())
        found[repair.name] = short(outputs)
    held(found)


def test_pairs_of_repairs_are_made_in_one_pass(held: Held) -> None:
    model = small(MODELS["learned"])
    inside = inside_of(model, strings(N, "inside", 12))
    batch, fit = strings(FAR, "at"), strings(FAR, "fit")
    by_name = {repair.name: repair for repair in interventions_on(model.cfg)}
    found = {}
    for names in ("P.clip D.gap", "P.int K.scale", "D.beta2 K.sink", "D.mass C.pool0", "K.scale C.pool1"):
        run = IntervenedPass(model, inside, [by_name[name] for name in names.split()])
        if run.needs_statistics:
            run.fit(fit)
        found[names] = short(run.outputs(batch)[:, -2:].numpy())
    held(found)


def test_a_memory_under_every_repair(held: Held) -> None:
    model, task = MemoryNumbers(decay=0.1, threshold=0.07).build().double(), WrittenBit()
    inside = inside_of(model, task.sample(8, 8, generator("memory in"), "matched"))
    batch = task.sample(8, 21, generator("memory at"), "matched")
    found = {}
    for repair in interventions_on(model.cfg):
        if not repair.no_place(model.cfg):
            passes = [IntervenedPass(model, inside, [one]) for one in (repair, repair.control)]
            for run in passes:
                run.fit(batch)
            found[repair.name] = short([run.outputs(batch)[:, -1].numpy() for run in passes])
    held(found)


PLANTS: dict[str, dict[str, Any]] = {
    "rows in scores": {"row_scores": 6.0},
    "blurred": {"match": 2.4, "carried": 0.0, "bias_of_ignored": 0.16},
    "offset": {"offset": -2.0},
    "pair": {"row_scores": 8.0, "offset": -1.5},
}


@pytest.mark.parametrize("name", PLANTS)
def test_what_trials_find(name: str, held: Held) -> None:
    """Members, controls, pairs, harms, and the choice of members, of models whose flaw is planted."""
    model, task = NeedleNumbers(n_ctx=128, **PLANTS[name]).build().double(), WrittenBit()

    def drawn(word: str, length: int, count: int) -> Any:
        return task.sample(count, length, generator("trials", word), "matched", window=32)

    inside, reference, batch = drawn("in", 32, 12), drawn("reference", 32, 24), drawn("at", 96, 32)
    clean = IntervenedPass(model, inside_of(model, inside))
    at_reference, at = clean.judge(task, reference), clean.judge(task, batch)
    trials = Trials(model, task, inside_of(model, inside), reference, at_reference)
    found = trials.at(batch, at, drawn("fit", 96, 12), np.random.default_rng(0), 30)

    def told(every: Sequence[Tried]) -> dict[str, Any]:
        ends = [
            (np.nan,) * 3 if e is None else (e.value, e.low, e.high) for one in every for e in (one.share, one.control)
        ]
        numbers = [[one.harm, one.control_harm, one.chosen_by, one.right.sum()] for one in every]
        words = [f"{one.name}: {FLOAT.sub('#', one.why_not)}" if one.why_not else one.name for one in every]
        return {"words": words, "shares": short(ends), "others": short(numbers)}

    held({
        "members": told(found.members),
        "families": {"of": list(found.families), **told([*found.families.values()])},
        "pairs": told(found.pairs),
        "passed": sorted(found.recovering_families),
        "passes": trials.passes,
        "accuracy": [float(at_reference.right.mean()), float(at.right.mean())],
    })  # fmt: skip


def test_readings_of_blocks_and_heads(held: Held) -> None:
    model, task = NeedleNumbers(n_ctx=128, row_scores=6.0).build().double(), WrittenBit()

    def drawn(word: str, length: int, count: int = 40) -> Any:
        return task.sample(count, length, generator("readings", word), "matched", window=32)

    fit, inside, batch = drawn("fit", 32), drawn("in", 32), drawn("at", 96)
    at = IntervenedPass(model, inside_of(model, fit)).judge(task, batch)
    fresh = [HookedTransformer(model.cfg, seed=seed).double().eval() for seed in range(2)]
    blocks = read_blocks(model, fresh[0], fit, inside, batch, np.random.default_rng(0))
    heads = read_heads(model, task, inside, batch, at, fresh, range(2), np.random.default_rng(0))
    assert [(head.layer, head.head) for head in heads] == [(1, 0)]
    rows = last_rows(model, batch)
    keys = task.answer_index(batch)
    assert keys is not None
    gaps, weights = key_scores(model, batch, keys, 1, 0)
    read = with_head_reading(model, batch, 1, 0, torch.linspace(-1, 1, 40 * 4, dtype=torch.float64).reshape(40, 4))
    held({
        "blocks": [[b.layer, b.at_n_trained, b.kept, b.refit, b.untrained, b.shuffled] for b in blocks],
        "heads": [
            [h.carries, float(h.right.sum()), h.gap, h.weight_trained, h.weight, h.untrained, h.nats_lost] for h in heads
        ],
        "crossed": cross_validated_accuracy(rows[1], batch.targets[:, -1].numpy().astype(np.int64), 2),
        "scores": short([gaps.numpy(), weights.numpy()]),
        "read": short(read[:, -1].numpy()),
    })  # fmt: skip


def test_a_site_is_asked_of_softmax_of_keys_and_of_two_classes_alone() -> None:
    task, model = WrittenBit(), NeedleNumbers(n_ctx=64).build()
    batch = task.sample(8, 32, generator("none"), "matched")
    at = Judged(np.ones(8), batch.targets[:, -1].numpy())
    common: dict[str, Any] = {"fresh": [], "layers": range(2), "rng": np.random.default_rng(0)}
    linear = small({"attention": "linear", "positions": "none"})
    assert read_heads(linear, task, batch, batch, at, **common) == []
    keyless = strings(9, "parity", 8, "parity")
    assert read_heads(small({}), make_task("parity"), keyless, keyless, at, **common) == []
    same = batch.take(torch.zeros(4, dtype=torch.long))
    assert read_heads(model, task, same, same, at.part(np.zeros(4, dtype=np.int64)), **common) == []


def test_resamples_of_a_loss(held: Held) -> None:
    classes = np.array([0, 1, 2] * 9 + [0, 0])
    rng = np.random.default_rng(3)
    at = Judged((rng.random(29) < 0.4).astype(float), classes)
    reference = Judged((rng.random(20) < 0.95).astype(float), np.arange(20) % 2)
    made = Bootstrap(reference, at, np.random.default_rng(5), 40)
    better, best = (np.maximum(at.right, rng.random(29) < share) for share in (0.4, 0.8))
    shares = [made.loss, made.share(better), made.share(best), made.share_difference(best, better)]
    held({
        "accuracies": [made.a_reference, made.a_at, short(made.accuracies)],
        "shares": [[one.value, one.low, one.high] for one in shares],
        "alone": [made.gained_share(better), made.gained_share(best)],
    })  # fmt: skip
