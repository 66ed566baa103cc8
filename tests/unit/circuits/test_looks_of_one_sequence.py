"""What is asked of one sequence: ranges, heads and edits that there are, and those that there are not."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from circuits.one_sequence import attention_row, look
from tests.support.places import ROOT
from workbench.models.architectures import make_config, make_model
from workbench.runs.adoption.store_foreign import Checkpoint, config_of, store
from workbench.tasks import make_task
from workbench.tasks.base import Task

RUN = str(ROOT / "checkpoints" / "gallery" / "majority_nope_s0")
SEQUENCE = {"text": "0 1 0 1"}
"""Five tokens with BOS, in a model of two layers of two heads."""
LAST = 1000
seen = partial(look, RUN, LAST, SEQUENCE)


@pytest.mark.parametrize(
    ("given", "found"),
    [(None, (0, 5)), ((0, 5), (0, 5)), ((4, 5), (4, 5)), ((1, 3), (1, 3)), ((0, 1), (0, 1)), ((4, 99), (4, 5))],
)
def test_ranges_are_cut_to_the_sequence(given: tuple[int, int] | None, found: tuple[int, int]) -> None:
    assert seen(keys=given).keys == seen(queries=given).queries == found


@pytest.mark.parametrize("given", [(5, 6), (-1, 3), (2, 2), (3, 2), (5, 5)])
def test_ranges_of_no_position_are_refused(given: tuple[int, int]) -> None:
    for name in ("keys", "queries"):
        said = f"no {name} {given[0]} to {given[1] - 1}; this sequence has positions 0 to 4"
        with pytest.raises(ValueError, match=said):
            seen(**{name: given})


@pytest.mark.parametrize(
    ("layer", "head", "said"), [(-1, 0, "layer -1"), (2, 0, "layer 2"), (0, -1, "head -1"), (1, 2, "head 2")]
)
def test_layers_and_heads_that_there_are_not(layer: int, head: int, said: str) -> None:
    with pytest.raises(ValueError, match=f"there is no {said}"):
        seen(layer, head)


def test_layers_heads_and_queries_that_there_are() -> None:
    for layer, head, query in ((0, 0, None), (1, 1, None), (1, 1, 1), (0, 0, 4)):
        found = seen(layer, head, query)
        assert (found.layer, found.head, found.query) == (layer, head, query or 4)
    for query in (0, 5):
        with pytest.raises(ValueError, match=f"{query}"):
            seen(0, 0, query)


@pytest.mark.parametrize(
    ("edits", "hard"),
    [
        ("", False), ("hardmax.all", True), ("hardmax.1.1", True),
        ("hardmax.0.1", False), ("hardmax.1.0", False), ("zero.1.1", False), ("zero.1.1,hardmax.1.1", True),
    ],
)  # fmt: skip
def test_a_head_is_hard_by_an_edit_of_it_or_of_all(edits: str, hard: bool) -> None:
    """A hard head gives equal weights to the keys that tie for its highest score, and none to the others."""
    row = attention_row(RUN, LAST, SEQUENCE, 1, 1, 4, edits)["row"]
    assert (len(np.unique(row[row > 0])) == 1) is hard


def run_of(task: Task, cfg: Any, folder: Path) -> str:
    """The folder of a run with one checkpoint of an untrained model."""
    config = config_of(task, cfg, (1, 8), {"steps": 1, "compiled": {}}, "as stated")
    store(folder, config, [Checkpoint(0, lambda: make_model(cfg, seed=1), {})], [[0, 8]])
    return str(folder)


def test_a_model_without_heads_has_outputs_all_the_same(tmp_path: Path) -> None:
    task = make_task("majority")
    sizes = {"d_vocab": task.d_vocab, "d_vocab_out": task.d_vocab_out, "n_layers": 2, "d_model": 4, "n_ctx": 9}
    cfg = make_config({"architecture": "ssm", "positions": "none", "gates": "signed", **sizes})
    found = look(run_of(task, cfg, tmp_path / "run"), 0, SEQUENCE, 1, 7)
    assert found.clean.outputs.shape[0] == 5
    assert found.clean.pattern is None


@pytest.mark.parametrize(("name", "kind"), [("majority", int), ("markov_chain", list)])
def test_answers_are_numbers_or_lists_of_them(name: str, kind: type, tmp_path: Path) -> None:
    task = make_task(name)
    sizes = {"d_vocab": task.d_vocab, "d_vocab_out": task.d_vocab_out, "n_layers": 1, "d_model": 4, "n_heads": 1}
    cfg = make_config({**sizes, "n_ctx": 9})
    text = " ".join(task.tokens_names[1:3] * 3)
    oracle = look(run_of(task, cfg, tmp_path / "run"), 0, {"text": text}).oracle
    answers = [answer for answer in oracle if answer is not None]
    assert answers
    assert all(type(answer) is kind for answer in answers)
    assert kind is int or all(isinstance(part, float) for part in answers[0])
