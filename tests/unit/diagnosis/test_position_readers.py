"""Models that find the previous token by position rows: their tasks, what breaks them, and what is said of them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from workbench.core.thresholds import MOST_COST
from workbench.diagnosis.bench.needle_models import TRAINED, NeedleNumbers, WrittenBit
from workbench.diagnosis.bench.position_readers import ROWS, WIDTH, MarkedBit, PreviousBit, ReaderNumbers
from workbench.diagnosis.intervened_pass import IntervenedPass, clearly_right, inside_of
from workbench.diagnosis.measurement import diagnose
from workbench.diagnosis.recovered_share import Judged
from workbench.diagnosis.tried_interventions import Trials
from workbench.figures.text.diagnosis_sentence import diagnosis_sentence, plain_text
from workbench.measure.edits.interventions.all_interventions import by_name
from workbench.measure.edits.interventions.intervention import Intervention
from workbench.models import HookedTransformer, ModelConfig
from workbench.tasks.base import Batch, Task
from workbench.tasks.random_generator import generator

LENGTH = 4 * TRAINED
REPEATED: dict[str, Any] = {"repeated": 1.0, "first_changed": TRAINED + 1}
RANDOM: dict[str, Any] = {"untrained": 1.0, "first_changed": TRAINED + 1}
SOFT: dict[str, Any] = {"marked": True, "match": 5.0}


def strings(task: Task, length: int, count: int = 256, word: str = "reader") -> Batch:
    return task.sample(count, length, generator(word, length), "matched", window=TRAINED)


def accuracy(numbers: ReaderNumbers, length: int) -> float:
    task: Task = MarkedBit() if numbers.marked else PreviousBit()
    batch = strings(task, length)
    return float(clearly_right(task, numbers.build()(batch.tokens).detach(), batch).mean())


@pytest.mark.parametrize("task", [PreviousBit(), MarkedBit()])
@pytest.mark.parametrize("length", [2, 5, TRAINED, LENGTH])
def test_every_prefix_is_labelled_as_the_reference_says(task: Task, length: int) -> None:
    batch = strings(task, length, 16)
    start = int(batch.bos)
    for tokens, targets, mask in zip(batch.tokens, batch.targets, batch.mask, strict=True):
        labels = [int(t) if m else None for t, m in zip(targets[start:], mask[start:], strict=True)]
        assert labels == task.reference(tokens[start:].tolist())
    index = task.answer_index(batch)
    assert index is not None
    bits = batch.tokens.gather(1, index[:, None])[:, 0] - 1
    assert torch.equal(bits, batch.targets[:, -1]), "the token that holds the answer is the one that is named"
    answers = task.answer(batch.tokens[:, start:])
    assert torch.equal(answers.argmax(-1), batch.targets[:, -1])


@pytest.mark.parametrize("numbers", [{"marked": False}, SOFT])
@pytest.mark.parametrize("changed", [REPEATED, RANDOM])
def test_changed_rows_break_what_is_right_at_every_length(numbers: dict[str, Any], changed: dict[str, Any]) -> None:
    assert accuracy(ReaderNumbers(**numbers), TRAINED) == accuracy(ReaderNumbers(**numbers), LENGTH) == 1.0
    flawed = ReaderNumbers(**numbers, **changed)
    assert accuracy(flawed, TRAINED) == 1.0
    assert accuracy(flawed, LENGTH) < 0.65


def test_rows_are_changed_from_the_first_changed_one_on() -> None:
    whole = dict(ReaderNumbers(seed=3).build().named_parameters())["pos_embed.W_pos"][:, -2 * WIDTH :]
    assert whole.shape == (ROWS, 2 * WIDTH)
    torch.testing.assert_close(whole[5, WIDTH:], whole[4, :WIDTH], msg="a row holds the direction of the row before it")
    repeated = ReaderNumbers(seed=3, repeated=1.0, first_changed=100).build()
    rows = dict(repeated.named_parameters())["pos_embed.W_pos"][:, -2 * WIDTH :]
    assert torch.equal(rows[:100], whole[:100])
    torch.testing.assert_close(rows[100:], whole[TRAINED].expand_as(rows[100:]))
    mixed = dict(ReaderNumbers(seed=3, repeated=0.25).build().named_parameters())["pos_embed.W_pos"][:, -2 * WIDTH :]
    torch.testing.assert_close(mixed[50], 0.75 * whole[50] + 0.25 * whole[TRAINED])


@pytest.mark.parametrize("changed", [REPEATED, RANDOM])
def test_a_soft_reader_tolerates_no_position_intervention_though_keeping_the_last_ids_recovers(
    changed: dict[str, Any],
) -> None:
    model, task = ReaderNumbers(**SOFT, **changed).build(), MarkedBit()
    inside = inside_of(model, strings(task, TRAINED, 128, "inside"))
    reference, batch = strings(task, TRAINED), strings(task, LENGTH)
    clean = IntervenedPass(model, inside)
    trials = Trials(model, task, inside, reference, clean.judge(task, reference))
    for name in ("P.int", "P.clip", "P.low", "P.row"):
        assert trials.harm([by_name(name)]) > MOST_COST, name
    kept = trials.judge([by_name("P.low")], batch, batch)
    assert np.mean(kept.right) > 0.9


@pytest.mark.parametrize("changed", [REPEATED, RANDOM])
def test_where_no_position_intervention_is_applicable_content_is_not_named(changed: dict[str, Any]) -> None:
    """Before, the diagnosis named content, strong; the cause is position."""
    lengths, factors = [TRAINED, LENGTH], (LENGTH / TRAINED,)
    result = diagnose(
        ReaderNumbers(**SOFT, **changed).build(), MarkedBit(), trained=TRAINED, lengths=lengths, factors=factors,
        sequences=384, resamples=100,
    )  # fmt: skip
    labels = {row["quantity"]: row["label"] for row in result.rows if row["label"]}
    assert (labels["entry"], labels["entry_grade"]) == ("position or content", "none")
    sentence = plain_text(diagnosis_sentence(result.frame(), step=0, longest=TRAINED))
    assert sentence.startswith(
        "At length 128 (4 N), L1H0 attends to the wrong tokens. Attention to only the right key recovers"
    )
    assert sentence.endswith(
        "Whether by position or by content could not be tested: every position intervention costs too much accuracy at "
        "32."
    )


def test_where_an_intervention_is_applicable_position_is_named() -> None:
    lengths, factors = [TRAINED, LENGTH], (LENGTH / TRAINED,)
    result = diagnose(
        ReaderNumbers(**REPEATED).build(), PreviousBit(), trained=TRAINED, lengths=lengths, factors=factors,
        sequences=384, resamples=100,
    )  # fmt: skip
    entry = next(row for row in result.rows if row["quantity"] == "entry" and row["label"])
    assert (entry["label"], entry["target"]) == ("position", "P.low")


@pytest.mark.parametrize(
    ("mixed", "intervention", "phrase"),
    [({"repeated": 0.25}, "D.beta2", "Doubled"), ({"untrained": 0.25}, "D.beta4", "Quadrupled")],
)
def test_where_no_position_intervention_is_applicable_keys_is_not_named(
    mixed: dict[str, Any], intervention: str, phrase: str
) -> None:
    """Before, the diagnosis named keys, with a grade; the cause is position."""
    labels, sentence = diagnosis_of(ReaderNumbers(**SOFT, **mixed).build(), MarkedBit())
    assert labels["entry"] == ("position or keys", intervention)
    assert labels["entry_grade"] == ("none", intervention), "it has no grade, and the intervention that recovers stands"
    assert sentence.startswith(
        "At length 128 (4 N), the model fails because positions beyond 32 or more attended tokens than at length 32 "
    )
    assert f" {phrase} scores recover " in sentence
    assert sentence.endswith(
        "Whether positions are the cause could not be tested: every position intervention costs too much accuracy at "
        "32."
    )


@pytest.mark.parametrize("positions", ["learned", "none"])
def test_keys_is_named_where_ids_were_tested_or_are_not_read(positions: str) -> None:
    """The output of this model moves with the number of keys; its rows do nothing."""
    model = NeedleNumbers(offset=-2.0).build()
    if positions == "none":
        bare = HookedTransformer(ModelConfig(**{**model.cfg.model_dump(), "positions": "none"}))
        weights = model.state_dict()
        bare.load_state_dict({name: weights[name] for name in bare.state_dict()})
        model = bare.eval()
    assert model.cfg.positions.reads_ids is (positions == "learned")
    labels, sentence = diagnosis_of(model, WrittenBit())
    assert (labels["entry"], labels["entry_grade"]) == (("keys", "K.sink"), ("strong", "K.sink"))
    assert sentence.startswith(
        "At length 128 (4 N), the model fails because more attended tokens than at length 32 move the representation of the answer"
    )


def diagnosis_of(model: HookedTransformer, task: Task) -> tuple[dict[str, tuple[str, str]], str]:
    """Label and intervention of each quantity at 4 N, and the sentence."""
    factors = (LENGTH / TRAINED,)
    result = diagnose(
        model, task, trained=TRAINED, lengths=[TRAINED, LENGTH], factors=factors, sequences=384, resamples=100
    )
    labels = {row["quantity"]: (row["label"], row["target"]) for row in result.rows if row["label"]}
    return labels, plain_text(diagnosis_sentence(result.frame(), step=0, longest=TRAINED))


EPS = 1e-6


@pytest.mark.parametrize(("harm", "refused"), [(MOST_COST, False), (MOST_COST + EPS, True), (-1.0, False)])
def test_what_costs_more_than_a_little_at_n_is_not_applicable(harm: float, refused: bool) -> None:
    model, task = NeedleNumbers().build(), WrittenBit()
    inside = inside_of(model, task.sample(16, 32, generator("in"), "matched"))
    batch = task.sample(16, 64, generator("at"), "matched")
    right = Judged(np.ones(16), np.arange(16) % 2)
    trials = Trials(model, task, inside, batch, right)
    repair: Intervention = by_name("D.beta2")
    trials._harms[(repair,)] = harm
    assert trials.why_not(repair, batch) == ("it harms inside training: it costs 0.05 at N" if refused else "")
