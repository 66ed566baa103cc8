"""Measuring under id samplers that read other ids than 0, 1, 2, ...: what is shared, and what is unseen."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
import torch
from pydantic import PrivateAttr
from torch import Tensor

from workbench.measure import study as studies
from workbench.measure.grid import make_grid, readable
from workbench.measure.measurement import Grid, Measurement
from workbench.measure.model_study import ModelStudy
from workbench.measure.running.engine import Isolation, ObservedMeasurement, observe_all
from workbench.measure.study import CheckpointStudy, Evaluation
from workbench.models import HookedTransformer, ModelConfig
from workbench.models.positions import ENCODINGS, PositionError
from workbench.tasks.counting.majority import Majority


class Folded(Majority):
    """Majority whose tokens have the ids 1..5 again and again, but for strings that hold no 1."""

    def coupled_ids(self, strings: Tensor, meta: dict[str, Tensor]) -> Tensor:
        places = torch.arange(strings.shape[1])
        ids = torch.where((strings == 2).any(1, keepdim=True), 1 + places % 5, 40 + places)
        return torch.cat([torch.zeros_like(ids[:, :1]), ids], 1)


def model(positions: str, ids: str, n_ctx: int = 64) -> HookedTransformer:
    cfg = ModelConfig(
        d_vocab=3, d_vocab_out=2, n_layers=1, d_model=8, n_heads=2, n_ctx=n_ctx, positions=positions, ids=ids
    )
    return HookedTransformer(cfg, seed=1).eval()


class Seen(Measurement):
    """Remembers the logits it is shown."""

    name = "seen"
    title = "Seen"
    quantities = ()
    sequences = 4

    _shown: dict[int, tuple[Any, Tensor]] = PrivateAttr(default_factory=dict)

    def hooks(self, cfg: ModelConfig) -> list[str]:
        return []

    def observe(self, law: str, length: int, batch: Any, cache: Any) -> None:
        self._shown[length] = (batch, cache["logits"])

    def finish(self, study: Any) -> list[Any]:
        return []


@pytest.mark.parametrize(("ids", "passes"), [("arange", 1), ("pose", 1), ("random_subset", 3)])
def test_a_pass_is_shared_only_where_prefixes_keep_their_ids(ids: str, passes: int) -> None:
    observer, made = model("learned", ids), Seen()
    grid = Grid(9, (5, 9, 21), (5, 9), (21,))
    evaluation = Evaluation(Majority(), grid, 0, 4, consistent=observer.cfg.ids.consistent)
    study = ModelStudy(observer, Majority(), grid, 4, 0)
    assert observe_all(observer, evaluation, [ObservedMeasurement(made, study, "seen")], Isolation()) == passes
    for length, (batch, logits) in made._shown.items():
        own = observer.cfg.ids.evaluation(length + 1, 64)
        with torch.no_grad():
            assert torch.allclose(logits, observer(batch.tokens, own), atol=1e-5)


def study(make_run: Any, task: Majority, ids: str, positions: str = "learned", top: int = 9) -> CheckpointStudy:
    own = model(positions, ids)
    run = make_run(own, task, trained=9, name=f"trained-to-{top}", top_id=top)
    grid = Grid(9, (5, 9, 21), (5, 9), (21,))
    return CheckpointStudy(run, 100, own, Evaluation(task, grid, 0, 64), 64)


@pytest.mark.parametrize(("ids", "top", "expected"), [
    ("arange", 9, {5: False, 9: False, 21: True}),
    ("arange", 21, {5: False, 9: False, 21: False}),
    ("pose", 9, {5: False, 9: True, 21: True}),  # true ids 1..l, so 10 with BOS
    ("random_subset", 63, {5: False, 9: False, 21: False}),
    ("random_subset", 9, {5: True, 9: True, 21: True}),
])  # fmt: skip
def test_unseen_ids_are_those_that_evaluation_reads(make_run, ids: str, top: int, expected: dict[int, bool]) -> None:
    made = study(make_run, Majority(), ids, top=top)
    assert {n: made.reads_unseen(n) for n in expected} == expected


def test_coupled_ids_are_unseen_where_a_string_of_the_evaluation_has_them(make_run) -> None:
    """Strings without a 1 are drawn under both laws, and their ids begin at 40."""
    assert study(make_run, Folded(), "coupled", top=39).reads_unseen(5)
    assert not study(make_run, Folded(), "coupled", top=63).reads_unseen(21)


@pytest.mark.parametrize("positions", [name for name, kind in ENCODINGS.items() if not kind.absolute])
def test_encodings_that_read_differences_or_residues_have_no_unseen_ids(make_run, positions: str) -> None:
    assert not study(make_run, Majority(), "arange", positions).reads_unseen(21)


def test_sinusoids_of_new_ids_are_unseen(make_run) -> None:
    made = study(make_run, Majority(), "arange", "sinusoidal")
    assert [made.reads_unseen(n) for n in (9, 21)] == [False, True]


@pytest.mark.parametrize(("positions", "ids", "longest"), [
    ("learned", "arange", 63), ("learned", "pose", 61), ("none", "random_subset", 63), ("alibi", "arange", 99),
])  # fmt: skip
def test_lengths_that_cannot_be_given_ids_are_left_out(positions: str, ids: str, longest: int) -> None:
    task, cfg = Majority(), model(positions, ids).cfg
    grid = make_grid(task, 9, [19, 61, 63, 65, 99])
    kept, why = readable(grid, task, cfg, strict=False)
    assert max(kept.lengths) == longest
    assert ("are not measured" in why) == (longest < 99)
    if longest < 99:
        with pytest.raises(PositionError, match="n_ctx"):
            readable(grid, task, cfg, strict=True)


def test_what_is_kept_between_checkpoints_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(studies, "_MEMO", {})
    monkeypatch.setattr(studies, "_MEMO_SIZE", 2)
    study: Any = SimpleNamespace(
        _run=SimpleNamespace(path="p", id="i"), grid=0, _sequences=1, _evaluation=SimpleNamespace(seed=0)
    )
    made: list[int] = []

    def kept(key: int) -> int:
        return CheckpointStudy.memo(study, (key,), lambda: made.append(key) or key)

    assert [kept(key) for key in (1, 2, 1, 3, 2, 3, 1)] == [1, 2, 1, 3, 2, 3, 1]
    assert made == [1, 2, 3, 1]
    assert len(studies._MEMO) == 2
