"""One sequence that probes read, step by step, and the strings that a probe of position is fitted on: with a BOS and without."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch

from probes import one_sequence
from probes.one_sequence import Fitted, fit_position, read_sequence
from workbench.measure.edits.edit import parse_edits
from workbench.measure.edits.one_sequence import OneSequence
from workbench.tasks.base import Batch


class Fake(OneSequence):
    """A sequence of a checkpoint of which only parts are known."""

    def __init__(self, **parts: Any) -> None:
        self.__dict__.update(parts)


def given(bos: bool, strings: int, length: int) -> Batch:
    tokens = torch.zeros(strings, length + int(bos), dtype=torch.long)
    mask = torch.ones_like(tokens, dtype=torch.bool)
    mask[:, : 1 + int(bos)] = False
    return Batch(tokens, tokens, mask, tokens, None, length, bos, "given")


def checkpoint(batch: Batch, asked: list[tuple[int, int]]) -> OneSequence:
    def sample(count: int, length: int, *rest: Any, **named: Any) -> Batch:
        asked.append((count, length))
        return given(batch.bos, count, length)

    task = SimpleNamespace(sample=sample, next_length=lambda n: n + n % 2, summary="lead", output_names=None)
    run = SimpleNamespace(
        path="somewhere", config={"seeds": {"probe": 3}}, trained_length=4, meta=lambda step: {"sha256": "x"}
    )
    model = SimpleNamespace(cfg=SimpleNamespace(n_layers=2))
    return Fake(run=run, step=7, task=task, model=model, batch=batch)


@pytest.mark.parametrize("bos", [True, False])
@pytest.mark.parametrize(("length", "count"), [(6, 256), (512, 256), (600, 218), (5000, 26), (9000, 16)])
def test_positions_of_a_few_strings(bos: bool, length: int, count: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Strings hold some 130,000 tokens together. The stream says where it stands after the first block alone."""
    asked: list[tuple[int, int]] = []
    one = checkpoint(given(bos, 1, length), asked)

    def forward(model: Any, batch: Batch, names: list[str]) -> dict[str, torch.Tensor]:
        place = torch.arange(batch.tokens.shape[1]).double() / length
        states = (0 * place, place, 0 * place)
        return {name: x.expand(len(batch), -1)[..., None] for name, x in zip(names, states, strict=True)}

    monkeypatch.setattr(one_sequence, "forward", forward)
    found = fit_position(one, length)
    assert asked == [(count, length)]
    assert (found.strings, found.problem) == ((count + 1) // 2, "")
    assert found.probe is not None
    where = torch.tensor([[[0.0], [1.0]]]).expand(3, -1, -1)
    first = 0.0 if bos else 1.0
    assert found.probe(where)[1].tolist() == pytest.approx([first, first + length], rel=1e-3, abs=1e-2 * length)
    assert found.probe(where)[1, 0].item() == pytest.approx(first, abs=0.2 + 1e-4 * length)
    assert found.rmse[1] < 1e-3 * length < found.rmse[0]


def test_probes_are_fitted_and_read_in_four_stages(monkeypatch: pytest.MonkeyPatch) -> None:
    batch, told, fitted = given(True, 1, 5), list[tuple[int, int]](), list[Any]()
    one = checkpoint(batch, [])

    def opened(path: str, step: int, sequence: Any, edits: Any) -> OneSequence:
        assert (path, step, sequence) == ("somewhere", 7, {"text": "01"})
        return one

    def fit(*of: Any) -> Fitted:
        fitted.append(of)
        return Fitted(None, None, (), 5, "nothing")

    monkeypatch.setattr(one_sequence, "one_sequence", opened)
    monkeypatch.setattr(one_sequence, "_FITTED", type(one_sequence._FITTED)())
    monkeypatch.setattr(one_sequence, "fit_summary", fit)
    monkeypatch.setattr(one_sequence, "fit_position", fit)
    states: list[Any] = []
    monkeypatch.setattr(one_sequence, "_states", lambda one, edits: states.append(edits) or torch.zeros(3, 6, 1))
    found = read_sequence("somewhere", 7, {"text": "01"}, "zero.0.1", lambda at, of, doing: told.append((at, of)))
    assert told == [(0, 4), (1, 4), (2, 4), (3, 4)]
    assert fitted == [(one,), (one, 6)], "the next length that the task admits"
    assert states == [(), parse_edits("zero.0.1")]
    assert (found.sites, found.prefix) == ([-1, 0, 1], [0, 1, 2, 3, 4, 5])
    assert found.asked == [False, False, True, True, True, True]
    assert found.summary.name == "lead"
    assert np.array_equal(found.position.true, np.arange(6.0))
    read_sequence("somewhere", 7, {"text": "01"})
    assert states == [(), parse_edits("zero.0.1"), ()]
    assert len(fitted) == 2, "kept from before"
