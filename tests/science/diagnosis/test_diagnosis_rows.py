"""The stored rows of ``diagnosis`` on planted models: entry, site, grade, and every refusal."""

from __future__ import annotations

import re
from typing import Any

import pytest

from workbench.diagnosis.bench.needle_models import TRAINED, NeedleNumbers, WrittenBit
from workbench.diagnosis.measurement import Diagnosis, diagnose
from workbench.figures.text.diagnosis_sentence import diagnosis_sentence, plain_text
from workbench.measure.grid import make_grid
from workbench.measure.model_study import ModelStudy
from workbench.measure.result import Result
from workbench.models import HookedTransformer, ModelConfig


def rows_of(length: int, decoys: float = 0.0, sequences: int = 320, **numbers: Any) -> Result:
    model, task = NeedleNumbers(**numbers).build(), WrittenBit(decoys=decoys)
    lengths, factors = [TRAINED, length], (length / TRAINED,)
    return diagnose(model, task, trained=TRAINED, lengths=lengths, factors=factors, sequences=sequences, resamples=200)


def label(found: Result, quantity: str) -> tuple[str, int | None, int | None]:
    rows = [r for r in found.rows if r["quantity"] == quantity]
    assert len(rows) == 1
    return rows[0]["label"], rows[0]["layer"], rows[0]["head"]


def sentence(found: Result) -> str:
    return plain_text(diagnosis_sentence(found.frame(), step=0, longest=TRAINED))


@pytest.mark.asserts(
    "balanced_accuracy", "balanced_loss", "restored_share", "harm_inside", "entry", "entry_grade", "failure_site",
    "oracle_key_share", "oracle_key_gap",
)  # fmt: skip
def test_keys_hidden_beyond_n_are_position_and_selection() -> None:
    """The write scores 8, and 60 less where it is hidden; a visible ignored token scores 0."""
    found = rows_of(128, first_keys=TRAINED)
    assert label(found, "entry") == ("position", None, None)
    assert label(found, "entry_grade")[0] == "strong"
    assert label(found, "failure_site") == ("selection", 1, 0)
    assert found.value("balanced_accuracy", length=TRAINED) == 1.0
    loss = found.value("balanced_loss", length=128)
    assert loss == pytest.approx(1 - found.value("balanced_accuracy", length=128))
    assert found.value("restored_share", target="P.int", control="") == pytest.approx(1, abs=0.02)
    assert abs(found.value("restored_share", target="D.beta2", control="")) < 0.2
    assert found.value("harm_inside", target="P.int", control="") == 0
    assert found.value("oracle_key_share", layer=1, control="") == pytest.approx(1, abs=0.05)
    assert found.value("oracle_key_gap", layer=1) == pytest.approx(-52)
    said = sentence(found)
    assert said.startswith(
        "At length 128 (4 N), the model fails because positions beyond 32 make L1H0 attend to wrong keys. Ids "
    )
    assert "recover 1.00 [" in said


@pytest.mark.asserts("code_kept", "answer_readable")
def test_an_offset_that_grows_with_keys_is_keys_and_code() -> None:
    found = rows_of(128, offset=-2.0)
    assert label(found, "entry")[0] == "keys"
    assert label(found, "failure_site") == ("code", 1, None)
    assert found.value("code_kept", layer=1) == pytest.approx(0.5), "all are read as one class"
    assert found.value("answer_readable", layer=1, control="") == pytest.approx(1, abs=0.01)
    assert found.value("answer_readable", layer=1, control="shuffled_labels") < 0.7


def test_an_unembedding_that_reads_the_number_of_keys_is_keys_and_read_out() -> None:
    found = rows_of(128, unembedded=12.0)
    assert label(found, "entry")[0] == "keys"
    assert label(found, "failure_site")[0] == "read-out"
    assert found.value("code_kept", layer=1) > 0.95


def test_a_healthy_model_says_that_there_is_nothing_to_explain() -> None:
    found = rows_of(128)
    assert label(found, "entry") == ("", None, None)
    assert sentence(found).startswith("Class-balanced accuracy drops by 0.00 [")
    assert sentence(found).endswith("] at length 128 on the matched test set. A cause is named from a drop of 0.2 on.")
    shares = [r for r in found.rows if r["quantity"] == "restored_share"]
    assert all(r["status"] == "undefined" and r["value"] is None for r in shares)


def test_an_untrained_model_was_not_learned() -> None:
    cfg = ModelConfig(d_vocab=7, d_vocab_out=2, n_layers=2, d_model=16, n_heads=2, n_ctx=256, positions="rotary")
    found = diagnose(HookedTransformer(cfg, seed=0).eval(), WrittenBit(), trained=16, lengths=[16, 32], sequences=64)
    assert re.match(r"Not learned: class-balanced accuracy at N is 0\.[3-6]", sentence(found))


def test_before_the_first_update_no_id_was_seen_and_nothing_was_learned() -> None:
    cfg = ModelConfig(d_vocab=7, d_vocab_out=2, n_layers=1, d_model=16, n_heads=2, n_ctx=256, positions="rotary")
    task = WrittenBit()
    study = ModelStudy(HookedTransformer(cfg, seed=0).eval(), task, make_grid(task, 16, [16, 32]), 64, 0)
    study.trained_ids = []
    labels = {row["quantity"]: row for row in Diagnosis(resamples=50).finish(study) if row["length"] == 32}
    assert labels["entry"]["status"] == "undefined"
    assert re.match(r"not learned: class-balanced accuracy at N is 0\.[3-6]", labels["entry"]["note"])
