"""How many forward passes a measurement says that it took: of a model of two layers of two heads, at the lengths 8 and 16."""

from __future__ import annotations

from typing import Any

import pytest

from workbench.measure import model_study
from workbench.measure.registry import make_measurement
from workbench.models import HookedTransformer, ModelConfig
from workbench.tasks import make_task


class Kept(model_study.ModelStudy):
    """A study that is looked at when all is done."""

    last: Any = None

    def __init__(self, *given: Any, **named: Any) -> None:
        super().__init__(*given, **named)
        Kept.last = self


def passes(name: str, task: Any, lengths: list[int], monkeypatch: pytest.MonkeyPatch, **settings: Any) -> int:
    cfg = ModelConfig(
        d_vocab=task.d_vocab, d_vocab_out=task.d_vocab_out, n_layers=2, d_model=8, n_heads=2, n_ctx=32, positions="rotary"
    )  # fmt: skip
    monkeypatch.setattr(model_study, "ModelStudy", Kept)
    model = HookedTransformer(cfg, seed=0).double().eval()
    if "resamples" in make_measurement(name).spec.settings:
        settings = {"resamples": 2, **settings}
    model_study.run(make_measurement(name, settings), model, task, trained=lengths[0], lengths=lengths, sequences=4)
    return int(Kept.last.passes)


@pytest.mark.parametrize(
    ("name", "settings", "count"),
    [
        # At both lengths: one clean, one for each of 4 heads and 2 MLPs, one for the scores of heads, one set of heads, 3 for each of 2 circuits.
        ("circuits.ablation", {"modes": ["mean"], "matching": 5.0, "previous": 5.0}, 2 * (1 + 6 + 1 + 1 + 6)),
        ("circuits.ablation", {"modes": ["mean", "zero"], "matching": -5.0, "previous": 5.0}, 2 * (1 + 12 + 1 + 2 + 6)),
        # Of sets A and B one clean each, of set C two; one for each of 4 heads and 2 modes; two modes of two heads; three samples of C.
        ("circuits.head_effect", {"replicates": 3}, 2 * (2 + 2 + 4 * 2 + 2 * 2 + 3)),
        # Two for each swap: of 4 heads and all of them, of one kind within the trained length and of two beyond.
        ("circuits.swaps", {}, 5 * 2 + 5 * 4),
        # One for the strings and one for each position; one for the weights and one for each noise.
        ("circuits.function", {"positions": 3, "repeats": 2}, 2 * (1 + 3 + 1 + 2)),
        # The rows of both lengths, and those of each patched with those of each.
        ("circuits.interchange", {"suffix": 2}, 2 + 4),
        # One for each earlier token, and three: behind a window of the trained length, and within it.
        ("circuits.sparsity", {"k": 2, "searched": 2}, (16 - 8 + 3) + (8 + 3)),
        ("circuits.heads", {}, 1),
        ("circuits.repeats", {"token_laws": ["uniform"]}, 2),
        # One clean, and two for each of 26 connections and of 7 components that write.
        ("circuits.connections", {}, 2 * (1 + 2 * (26 + 7))),
    ],
)  # fmt: skip
def test_passes_are_counted(name: str, settings: dict[str, Any], count: int, monkeypatch: pytest.MonkeyPatch) -> None:
    assert passes(name, make_task("kgram_retrieval", symbols=4), [8, 16], monkeypatch, **settings) == count


def test_an_exchange_of_prefixes_takes_three_and_one_for_each_layer(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of each length to the other: the donors' own, spliced and by layer; without layers those of two controls."""
    found = passes("circuits.interchange", make_task("majority"), [5, 9], monkeypatch, suffix=2)
    assert found == 2 + 4 + 2 * ((3 + 2) + 3 + 3)
