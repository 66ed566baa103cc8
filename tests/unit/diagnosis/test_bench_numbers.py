"""The bench: every member as it is drawn, how a strength is searched, what is counted, and the page, as they are held."""

from __future__ import annotations

import json
import zlib
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest
import torch

from tests.support.held import Held
from tests.support.measure.held_rows import short
from workbench.diagnosis.bench import trained_models
from workbench.diagnosis.bench.bench_page import page
from workbench.diagnosis.bench.members import VERSION, diagnosis_columns, members, strength_of, why_not_true
from workbench.diagnosis.bench.memory_models import MemoryNumbers
from workbench.diagnosis.bench.needle_models import NeedleNumbers, WrittenBit
from workbench.diagnosis.bench.plants import BY_NAME, KINDS, Part
from workbench.diagnosis.bench.scoring import (
    TARGETS,
    Share,
    cause_named,
    confusion,
    drop_too_small,
    entry_right,
    reaches_target,
    share,
    site_right,
    true,
)  # fmt: skip
from workbench.diagnosis.bench.trained_models import TrainedNumbers
from workbench.models import HookedTransformer
from workbench.tasks.random_generator import generator

EPS = 1e-9


def test_members_are_drawn_as_they_were(held: Held) -> None:
    found: dict[str, Any] = {}
    for kind in KINDS:
        own = [member for member in members() if member.kind == kind.name]
        drawn = [member.numbers_and_parts for member in own]
        numbers = [[float(v) for v in made.model_dump().values() if isinstance(v, int | float)] for made, _ in drawn]
        parts = [[part.weak, part.strong, part.value(0.3)] for _, each in drawn for part in each]
        groups = "".join(member.group[0] for member in own)
        found[kind.name] = [groups, short([member.target_drop for member in own]), short(numbers), short(parts)]
    held(found)


# ---- models --------------------------------------------------------------------------------------
NUMBERS = {
    "as it is": NeedleNumbers(),
    "scores": NeedleNumbers(match=3.0, decoy=1.5, drift=2.0, row_scores=1.0, row_values=0.5, row_output=0.2, seed=2),
    "rotary": NeedleNumbers(lag_speed=0.02, carried=0.5, bias_of_ignored=0.1),
    "hidden": NeedleNumbers(first_keys=40, gated=True, offset=0.7, unembedded=0.5, threshold=0.03),
    "lead": NeedleNumbers(match=0.0, largest_lead=20.0, ballast=2.0),
    "normed": NeedleNumbers(match=3.0, norm=6.0, offset=0.4),
    "memory": MemoryNumbers(decay=0.07, threshold=0.13),
}


@pytest.mark.parametrize("name", NUMBERS)
def test_what_models_by_hand_give_out(name: str, held: Held) -> None:
    task = WrittenBit(decoys=0.0 if name == "memory" else 0.2)
    batch = task.sample(5, 70, generator("bench numbers"), "matched")
    outputs = NUMBERS[name].build().double()(batch.tokens).detach()
    held([short(outputs.numpy()), short(batch.tokens.numpy()), short(batch.targets.numpy()), short(batch.mask.numpy())])


@pytest.mark.parametrize("changed", [
    {}, {"rows": 2.0}, {"row_output": 0.5}, {"weakened": 0.5}, {"positions": "rotary", "lag": 1.5, "seed": 1},
])  # fmt: skip
def test_what_is_planted_into_trained_weights(
    changed: dict[str, Any], monkeypatch: pytest.MonkeyPatch, held: Held
) -> None:
    """Of weights of another seed in place of trained ones, whose training takes long."""

    def weights(positions: str, seed: int, steps: int) -> dict[str, torch.Tensor]:
        model = HookedTransformer(trained_models.config(positions), seed=seed + 7)
        return {name: value.detach().clone() for name, value in model.state_dict().items()}

    monkeypatch.setattr(trained_models, "trained_weights", weights)
    numbers = TrainedNumbers(**changed)
    model = numbers.build()
    assert not model.training
    held({
        "ids": [list(ends) for ends in numbers.trained_ids],
        **{name: short(value.detach().numpy()) for name, value in model.named_parameters() if name[-3:] not in ("b_V",)},
    })  # fmt: skip


def test_a_short_training_gives_the_weights_that_it_gave(held: Held) -> None:
    made = trained_models.trained_weights.__wrapped__("learned", 1, 2)
    held(
        {
            name: short(made[name].numpy())
            for name in ("embed.W_E", "pos_embed.W_pos", "blocks.0.attn.W_Q", "unembed.W_U")
        }
    )


# ---- strengths -----------------------------------------------------------------------------------
@dataclass
class Rising:
    """A member whose loss rises evenly with the strength; some strengths fail at N."""

    target_drop: float
    broken: tuple[float, float] = (2.0, 2.0)
    largest: float = 1.0
    asked: list[float] = field(default_factory=list)

    @property
    def numbers_and_parts(self) -> tuple[Any, tuple[Part, ...]]:
        return NeedleNumbers(), ()

    def loss(self, numbers: NeedleNumbers, strings: int, word: str) -> tuple[float, float]:
        assert (strings, word) == (256, "search")
        strength = float(np.log2(numbers.offset))
        self.asked.append(strength)
        inside = 0.5 if self.broken[0] <= strength <= self.broken[1] else 1.0
        return inside, self.largest * strength


@pytest.mark.parametrize(
    ("member", "strength"),
    [
        (Rising(0.3), 0.3),
        (Rising(0.22), 0.22),
        (Rising(0.45), 0.45),
        (Rising(0.5), 0.5),
        (Rising(0.3, (0.28, 0.34)), 0.277),
        (Rising(0.05), 0.203),
        (Rising(0.3, largest=0.6), 0.5),
        (Rising(0.9), 0.547),
        (Rising(0.3, largest=0.2), 1.0),
    ],
)
def test_a_strength_is_searched_on_the_loss_alone(member: Rising, strength: float) -> None:
    value = strength_of(member, Part("offset", 1.0, 2.0))  # type: ignore[arg-type]
    assert np.log2(value) == pytest.approx(strength, abs=0.0021)
    assert len(member.asked) == len(set(member.asked)) <= 9 + 2 * 5
    assert {round(s * 8, 9) for s in member.asked[:9]} == set(range(9))
    assert min(member.asked) >= 0
    assert max(member.asked) <= 1


def test_what_is_not_searched_is_as_strong_as_it_says() -> None:
    assert strength_of(Rising(0.3), Part("offset", 3.0, 3.0)) == 3.0  # type: ignore[arg-type]


# ---- truths and counts ---------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("kind", "facts", "why"),
    [
        ("offset", (0.9, 0.2, 0.8, [0.8]), ""),
        ("offset", (0.9 - EPS, 0.2, 0.8, [0.8]), "accuracy at N is 0.90"),
        ("offset", (0.9, 0.2 - EPS, 0.8, [0.8]), "its loss is 0.20"),
        ("offset", (0.9, 0.55, 0.8, [0.8]), ""),
        ("offset", (0.9, 0.55 + EPS, 0.8, [0.8]), "its loss is 0.55"),
        ("offset", (0.9, 0.2, 0.8 - EPS, [0.8]), "unplanting gives back 0.80"),
        ("two sites, one entry", (0.9, 0.2, 0.8, [0.9, 0.9]), ""),
        ("joint: rows in scores, offset", (0.9, 0.2, 0.8, [0.5, 0.5]), ""),
        ("joint: rows in scores, offset", (0.9, 0.2, 0.8, [0.5, 0.5 + EPS]), "unplanting one part gives back 0.50"),
        ("healthy", (0.9, 0.9, 0.0, []), ""),
        ("healthy", (0.9 - EPS, 0.0, 0.0, []), "accuracy at N is 0.90"),
    ],
)
def test_truths_at_their_bounds(kind: str, facts: Any, why: str) -> None:
    assert why_not_true(BY_NAME[kind], *facts) == why


def every_row(right: bool) -> list[dict[str, Any]]:
    """A row for every member, some thrown out, some refused; the others right, or some of them wrong."""
    rows = []
    for number, member in enumerate(members()):
        plan = member.plan
        wrong = not right and number % 5 == 0
        entry = "" if number % 11 == 0 else "not explained" if wrong else plan.entries[0]
        rows.append({
            "kind": member.kind, "index": member.index, "group": member.group, "version": VERSION,
            "thrown_out": "its loss is 0.15" if number % 13 == 0 else "", "entry": entry,
            "site": "lost" if wrong or not plan.sites else plan.sites[-1],
            "note": "also restored by K.sink" if number % 2 else "", "unplanted_each": [],
        })  # fmt: skip
    return rows


@pytest.mark.parametrize("right", [True, False])
def test_what_is_counted_over_all_members(right: bool, held: Held) -> None:
    rows = every_row(right)
    shares = {target.name: share(rows, target) for target in TARGETS}
    text = page(rows).split("\n## ")
    held({
        "shares": {name: [one.hits, one.of, one.value, *one.ends, reaches_target(target, one)] for target in TARGETS
                   for name, one in shares.items() if name == target.name},
        "said": {rule.__name__: Counter(str(rule(row)) for row in rows)
                 for rule in (true, drop_too_small, entry_right, site_right, cause_named)},
        "confusion": zlib.crc32(json.dumps([confusion(rows, name) for name in ("entry", "site")]).encode()),
        "page": {part.partition("\n")[0]: [len(part), zlib.crc32(part.encode())] for part in text},
        "targets": next(part for part in text if part.startswith("Targets\n")).splitlines()[2:],
    })  # fmt: skip


@pytest.mark.parametrize(
    ("target", "share", "said"),
    [(0, (57, 60), True), (0, (56, 59), None), (1, (51, 60), True), (1, (50, 60), False), (2, (5, 5), None),
     (2, (8, 10), True), (2, (5, 6), True), (2, (4, 6), False), (3, (1, 50), True), (3, (0, 25), True),
     (3, (0, 24), None), (3, (1, 25), False)],
)  # fmt: skip
def test_targets_at_their_bounds(target: int, share: tuple[int, int], said: bool | None) -> None:
    assert reaches_target(TARGETS[target], Share(*share)) is said


def test_what_a_diagnosis_says_in_one_row() -> None:
    place = {"target": "P.int", "control": ""}
    share = {"quantity": "restored_share", "value": 0.9, "low": 0.8, "high": 1.1}
    rows: list[dict[str, Any]] = [
        {"quantity": "balanced_loss", "value": 0.3},
        {**share, "target": "P.clip", "control": "", "value": 0.1},
        {**share, **place, "control": "wrong_constant", "value": 0.2},
        {**share, **place},
        {"quantity": "harm_inside", **place, "value": 0.01},
        {"quantity": "entry", "label": "position", "target": "P.int", "note": "also restored by K.sink"},
        {"quantity": "entry_grade", "label": "strong"},
        {"quantity": "failure_site", "label": "code", "layer": 1, "head": None},
    ]
    said = {
        "measured_loss": 0.3, "entry": "position", "grade": "strong", "by": "P.int", "note": "also restored by K.sink",
        "share": 0.9, "low": 0.8, "high": 1.1, "site": "code", "layer": 1, "head": None,
    }  # fmt: skip
    assert diagnosis_columns(rows) == said
    rows[5] = {"quantity": "entry", "label": "", "target": "", "note": ""}
    assert diagnosis_columns(rows) == {
        **said,
        "entry": "",
        "by": "",
        "note": "",
        "share": None,
        "low": None,
        "high": None,
    }
    rows[5]["target"] = "D.gap"
    assert diagnosis_columns(rows) == {
        **said,
        "entry": "",
        "by": "D.gap",
        "note": "",
        "share": None,
        "low": None,
        "high": None,
    }
