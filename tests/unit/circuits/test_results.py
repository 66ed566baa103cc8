"""Results of functions: numbers by name, and figures that draw exactly them."""

from __future__ import annotations

import pytest

from circuits.heads.head_scores import head_statistics
from circuits.interchange.measurement import interchange_statistics
from workbench.figures.errors import NotMeasured
from workbench.measure.result import Result
from workbench.models import HookedTransformer, ModelConfig
from workbench.models.handmade.attention_heads import induction_model
from workbench.models.handmade.transformers import majority
from workbench.tasks import make_task


@pytest.fixture(scope="module")
def found() -> Result:
    return interchange_statistics(
        majority(), make_task("majority"), trained=15, lengths=[15, 31, 61], sequences=24, factors=[2, 4]
    )


def test_values_are_found_by_name_or_refused(found: Result) -> None:
    place = {"length": 61, "mode": "from 15", "control": ""}
    assert found.value("prefix_exchange_agreement", **place) == 1.0
    with pytest.raises(KeyError, match="accuracy"):
        found.value("rescue", site="blocks.0.hook_attn_out", length=61)
    with pytest.raises(KeyError, match="has 0 "):
        found.value("prefix_exchange_agreement", length=7)


def test_a_layer_profile_draws_every_site_once(found: Result) -> None:
    figure = found.figure("interchange_accuracy", length=61, mode="from 15")
    sites = [r["site"] for r in found.rows if r["quantity"] == "interchange_accuracy" and r["length"] == 61]
    assert len(figure.data) == 1
    assert len(figure.data[0].x) == len(set(sites)) == 12
    assert figure.data[0].x[1] == "0.attn.z"


def test_controls_are_lines_of_their_own(found: Result) -> None:
    figure = found.figure("follows_donor", length=61, mode="from 15", theme="dark")
    assert [line.name for line in figure.data] == ["measured", "random donor"]


def test_heads_are_drawn_over_length() -> None:
    result = head_statistics(
        induction_model(6, 8.0), make_task("kgram_retrieval", symbols=6), trained=12, lengths=[6, 12, 24], sequences=8
    )
    figure = result.figure("answer_token", mode="task")
    assert [line.name for line in figure.data] == ["L0.0", "L1.0"] or len(figure.data) == 2
    assert next(iter(figure.data[1].y)) == result.value("answer_token", layer=1, head=0, length=6)
    with pytest.raises(NotMeasured, match="answer_token"):
        result.figure("answer_token", length=999)


def test_what_cannot_be_exchanged_says_why() -> None:
    task = make_task("kgram_retrieval", symbols=6)
    cfg = ModelConfig(d_vocab=task.d_vocab, d_vocab_out=task.d_vocab_out, n_layers=1, d_model=8, n_heads=2, n_ctx=64)
    rows = interchange_statistics(
        HookedTransformer(cfg), task, trained=8, lengths=[8, 16], sequences=16, factors=[2]
    ).frame()
    suffixes = rows[rows.quantity == "prefix_exchange_agreement"]
    assert set(suffixes.status) == {"not_applicable"}
    assert suffixes.note.str.contains("no update summary").all()
    alone = interchange_statistics(HookedTransformer(cfg), task, trained=8, lengths=[8], sequences=4)
    assert {r["status"] for r in alone.rows} == {"undefined"}
    with pytest.raises(ValueError, match="draw"):
        alone.figure()
    with pytest.raises(ValueError, match=r"interchange\.suffix"):
        interchange_statistics(HookedTransformer(cfg), task, trained=8, lengths=[8], suffix=0)
    with pytest.raises(ValueError, match="multiples"):
        interchange_statistics(HookedTransformer(cfg), task, trained=8, lengths=[8], factors=[1])
