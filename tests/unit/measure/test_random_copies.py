"""Copies of random tokens: what a model that copies loses on them, by hand."""

from __future__ import annotations

import math
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch

from tests.support.tasks.presenting import Copier
from workbench.measure.grid import make_grid
from workbench.measure.model_study import ModelStudy, run
from workbench.measure.random_copies import Copies, of_copies
from workbench.models.transformer.config import ModelConfig
from workbench.tasks import make_task

TOKENS, LOGIT = 512, 4.0


@pytest.fixture(scope="module")
def text(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("text")
    for i in range(12):
        (root / f"{i}.txt").write_text(" ".join(f"{'abcdefgh'[j % 8]}{j % 31}" for j in range(i, 900)))
    return root


class FromOutputs(Copier):
    """A copier whose classes are tokens less BOS."""

    def run_with_cache(self, *args: Any, return_cache_object: bool = True, **options: Any) -> Any:
        return super().run_with_cache(*args, **options)

    def forward(self, tokens: torch.Tensor, position_ids: object = None, *, return_type: object = "logits") -> Any:
        logits = super().forward(tokens, position_ids, return_type=return_type)[..., 1:]
        return torch.where(logits == LOGIT, LOGIT, 0.0)  # nothing is said of what lies beyond its reach


def model(reach: int = 10_000) -> FromOutputs:
    cfg = ModelConfig(n_layers=1, d_model=8, n_heads=1, d_vocab=TOKENS + 1, d_vocab_out=TOKENS, n_ctx=300)
    return FromOutputs(cfg, reach)


def by_loop(tokens: list[int]) -> dict[str, tuple[float, float]]:
    """Loss and accuracy of the copier on one string, from its definition."""
    half = len(tokens) // 2
    found: dict[str, list[tuple[float, float]]] = {"first": [], "second": []}
    for i in range(1, len(tokens)):
        if i == half:
            continue
        twins = [j for j in range(i - 1) if tokens[j] == tokens[i - 1]]
        guess = tokens[twins[-1] + 1] if twins else None
        total = math.log(TOKENS) if guess is None else math.log(TOKENS - 1 + math.exp(LOGIT))
        right = guess == tokens[i] if guess is not None else tokens[i] == 1  # of equal logits the first class counts
        found["first" if i < half else "second"].append((total - (LOGIT if guess == tokens[i] else 0), float(right)))
    return {mode: tuple(np.mean(values, axis=0)) for mode, values in found.items()}  # type: ignore[misc]


def test_both_copies_of_each_string_by_a_loop() -> None:
    generator = torch.Generator().manual_seed(0)
    once = torch.randint(1, 6, (12, 9), generator=generator)  # few symbols, so that tokens occur more than twice
    tokens = torch.cat([torch.zeros(12, 1, dtype=torch.long), once, once], 1)
    logits = model()(tokens)
    found = of_copies(logits, tokens, bos=True)
    for b, row in enumerate(tokens[:, 1:].tolist()):
        for mode, (loss, right) in by_loop(row).items():
            assert found[mode][0][b] == pytest.approx(loss)
            assert found[mode][1][b] == pytest.approx(right)


@pytest.mark.asserts("copy_loss", "copy_accuracy")
@pytest.mark.parametrize("law", ["uniform", "unigram", "passages"])
def test_rows_of_a_model_that_copies_far_and_of_one_that_does_not(text: Path, law: str) -> None:
    task = make_task("next_token", folder=str(text), tokens=TOKENS)
    lengths, near = (8, 60, 240), 40
    copies = Copies(token_laws=(law,))
    far = run(copies, model(), task, trained=60, lengths=lengths, sequences=24).rows
    cut = run(copies, model(near), task, trained=60, lengths=lengths, sequences=24).rows
    assert {r["target"] for r in far} == {law}
    assert {(r["length"], r["mode"], r["quantity"]) for r in far} == {
        (n, mode, name) for n in lengths for mode in ("first", "second") for name in ("copy_loss", "copy_accuracy")
    }
    value = {(r["length"], r["mode"], r["quantity"]): r["value"] for r in far}
    least = math.log(TOKENS - 1 + math.exp(LOGIT)) - LOGIT  # what the copier loses where it is right
    for n in lengths:
        assert least - 1e-9 <= value[n, "second", "copy_loss"]
        if law == "uniform":  # with few twins among random tokens nearly all of the second copy is foretold
            assert value[n, "first", "copy_loss"] > math.log(TOKENS) - 0.05
            assert value[n, "second", "copy_accuracy"] > 0.7
            assert value[n, "first", "copy_accuracy"] < 0.05
            assert value[n, "second", "copy_loss"] < least + 0.3 * LOGIT
    beyond = {(r["length"], r["mode"], r["quantity"]): r["value"] for r in cut}
    assert beyond[60, "second", "copy_accuracy"] == value[60, "second", "copy_accuracy"], "a lag of 30 is within reach"
    if law == "uniform":
        assert beyond[240, "second", "copy_accuracy"] < 0.1, "a lag of 120 is not"
    assert all(r["n"] == 24 for r in far)
    assert all(r["note"] if r["low"] is None else r["low"] <= r["value"] <= r["high"] for r in far)


def test_where_nothing_can_be_copied_the_reason_is_said(text: Path) -> None:
    task = make_task("next_token", folder=str(text), tokens=TOKENS)
    short = run(Copies(), model(), task, trained=60, lengths=(3,), sequences=4).rows
    assert {(r["status"], r["note"]) for r in short} == {
        ("not_applicable", "a copy of one token has none that another foretells")
    }
    majority = make_task("majority")
    cfg = ModelConfig(n_layers=1, d_model=8, n_heads=1, d_vocab=majority.d_vocab, d_vocab_out=2, n_ctx=300)
    study = ModelStudy(Copier(cfg, 5), majority, make_grid(majority, 7), 4, 0)
    assert {r["note"] for r in Copies().finish(study)} == {"the task does not ask for the next token"}


def test_a_copy_of_two_tokens_is_the_shortest(text: Path) -> None:
    study: Any = SimpleNamespace(task=make_task("next_token", folder=str(text), tokens=TOKENS))
    assert Copies()._unfit(study, "uniform", 4) == ""
    assert Copies()._unfit(study, "uniform", 3).startswith("a copy of one token")


@pytest.mark.parametrize("bos", [True, False])
@pytest.mark.parametrize(("wrong", "first", "second"), [
    ((), 1.0, 1.0), ((0,), 0.5, 1.0), ((1,), 0.5, 1.0), ((2,), 1.0, 1.0), ((3,), 1.0, 0.5), ((4,), 1.0, 0.5), ((3, 4), 1.0, 0.0),
])  # fmt: skip
def test_the_first_token_of_a_copy_is_left_out(bos: bool, wrong: tuple[int, ...], first: float, second: float) -> None:
    """Two copies of three tokens; what is said behind some of them is wrong."""
    tokens = torch.tensor([[0, 1, 2, 3, 1, 2, 3]]) if bos else torch.tensor([[0, 1, 2, 0, 1, 2]])
    logits = torch.zeros(1, tokens.shape[1], 3)
    for place, token in enumerate(tokens[0].tolist()):
        following = (tokens[0, place + 1].item() if place + 1 < tokens.shape[1] else token) - bos
        behind = place - bos
        logits[0, place, (following + (behind in wrong)) % 3] = 9.0
    found = of_copies(logits, tokens, bos)
    assert (found["first"][1].item(), found["second"][1].item()) == (first, second)
    assert (found["second"][0].item() > 1) == (second < 1)
