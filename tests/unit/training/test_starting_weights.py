"""Training from given weights: their very bits, tokens carried over by name, and what is refused."""

from __future__ import annotations

import json
from typing import Any

import pytest
import torch

from workbench.cli.errors import UsageError
from workbench.cli.run_config import build, starting_weights
from workbench.cli.train_request import TrainRequest
from workbench.models.base.hooked import Hooked
from workbench.runs import Run, RunError
from workbench.training.errors import TrainingError
from workbench.training.starting_weights import StartingWeights
from workbench.training.trainer import Stopped, Trainer

SMALL = {"positions": "rotary", "layers": 1, "d_model": 8, "heads": 2, "n_ctx": 64}
TRAINING = {"lengths": "4-9", "steps": 8, "batch_size": 4}
WIDE, NARROW = [(["task", "symbols"], 6)], [(["task", "symbols"], 4)]


@pytest.fixture(scope="module")
def first(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """A run over six letters."""
    folder = tmp_path_factory.mktemp("first") / "run"
    return Trainer(build(TrainRequest("kgram_retrieval", {**SMALL, **TRAINING}, WIDE)), folder).run()


def continued(first: Run, folder: Any, settings: Any = WIDE, task: str = "kgram_retrieval", **options: Any) -> Trainer:
    start = starting_weights(f"{first.path}@last")
    return Trainer(build(TrainRequest(task, {**TRAINING, **options}, settings, start)), folder, start=start)


def tensors(model: Hooked) -> dict[str, torch.Tensor]:
    return dict(model.state_dict())


def test_step_0_has_the_bits_of_the_weights_it_starts_from(first: Run, tmp_path) -> None:
    run = continued(first, tmp_path / "next").run()
    old, new, random = (tensors(r.load(s)) for r, s in ((first, 8), (run, 0), (first, 0)))
    assert all(torch.equal(old[name], new[name]) for name in old)
    assert not torch.equal(random["embed.W_E"], new["embed.W_E"])
    assert run.verify(0) == first.verify(8)
    stated = json.loads((run.path / "run.json").read_text())["training"]["start"]
    assert stated == {"run": first.id, "step": 8, "sha256": first.verify(8)}
    assert run.id != first.id


def test_the_optimizer_begins_anew(first: Run, tmp_path) -> None:
    """AdamW's first update has the size of the rate in every entry that has a gradient, whatever was before."""
    trainer = continued(
        first, tmp_path / "next",
        [*WIDE, (["training", "warmup"], 0), (["training", "weight_decay"], 0), (["training", "rate_law"], "constant"),
         (["training", "checkpoints", "at"], [1])],
        learning_rate=1e-3,
    )  # fmt: skip
    run = trainer.run()
    before, after = (tensors(run.load(step))["unembed.W_U"] for step in (0, 1))
    assert (after - before).abs().max() == pytest.approx(1e-3, rel=1e-2)


def test_tokens_carried_over_by_name_have_the_same_logits(first: Run, tmp_path) -> None:
    run = continued(first, tmp_path / "next", NARROW).run()
    names, held = run.task.tokens_names, first.task.tokens_names
    assert set(names) < set(held)
    tokens = torch.arange(len(names))[None]
    theirs = torch.tensor([[held.index(name) for name in names]])
    wanted = first.load(8)(theirs)[..., [first.task.output_names.index(name) for name in run.task.output_names]]
    assert torch.allclose(run.load(0)(tokens), wanted, atol=1e-6)


def test_names_say_which_rows_are_taken_and_not_their_order(first: Run) -> None:
    """A model by hand whose row of each token and column of each answer says which it was."""
    given = StartingWeights.of(first, 8)
    marked = {name: torch.zeros_like(tensor) for name, tensor in given.tensors.items()}
    marked["embed.W_E"] += torch.arange(7.0)[:, None]
    marked["unembed.W_U"] += 10 + torch.arange(6.0)
    cfg = build(TrainRequest("kgram_retrieval", TRAINING, NARROW, given)).model
    task = build(TrainRequest("kgram_retrieval", TRAINING, NARROW, given)).task

    class Backwards(type(task)):
        @property
        def tokens_names(self):
            return ("<bos>", "d", "c", "b", "a")

        @property
        def output_names(self):
            return ("d", "c", "b", "a")

    found = StartingWeights(given.start, given.task, given.model, marked).initial_weights(Backwards(**dict(task)), cfg)
    assert found["embed.W_E"][:, 0].tolist() == [0, 4, 3, 2, 1]
    assert found["unembed.W_U"][0].tolist() == [13, 12, 11, 10]


def test_it_goes_on_to_the_same_bits(first: Run, tmp_path) -> None:
    whole = continued(first, tmp_path / "whole").run()
    halted = continued(first, tmp_path / "halted")
    halted.watcher = lambda step, scores: setattr(halted, "stopping", step == 3)
    with pytest.raises(Stopped):
        halted.run()
    again = continued(first, tmp_path / "halted").run()
    assert (again.id, again.verify(8)) == (whole.id, whole.verify(8))


def test_what_cannot_be_started_from_is_refused_in_one_sentence(first: Run, tmp_path) -> None:
    def refused(error: type[Exception], sentence: str, *args: Any, **options: Any) -> None:
        with pytest.raises(error, match=sentence) as said:
            continued(first, tmp_path / "never", *args, **options).run()
        assert "\n" not in str(said.value)
        assert not (tmp_path / "never").exists() or not (tmp_path / "never" / "run.json").exists()

    refused(TrainingError, "have no token 'g'; choose a task whose tokens are among theirs", [(["task", "symbols"], 7)])
    refused(TrainingError, "have no token '0'", [], "majority")
    refused(TrainingError, r"have model\.positions", [*WIDE, (["model", "positions"], {"name": "alibi"})])
    refused(TrainingError, r"have model\.n_layers = 1, not 2", [*WIDE, (["model", "n_layers"], 2)])
    refused(UsageError, "leave out --d-model", d_model=16)


def test_the_option_names_a_run_and_a_step(first: Run, tmp_path) -> None:
    assert starting_weights(None) is None
    for wrong in ("run", "@3", f"{first.path}@end", f"{first.path}@-1"):
        with pytest.raises(UsageError, match="RUN@STEP"):
            starting_weights(wrong)
    with pytest.raises(RunError, match="step 999"):
        starting_weights(f"{first.path}@999")
    given = starting_weights(f"{first.path}@0")
    assert given is not None
    assert given.start.step == 0
    config = build(TrainRequest("kgram_retrieval", TRAINING, WIDE, given))
    with pytest.raises(TrainingError, match="--start"):
        Trainer(config, tmp_path / "without").run()
    with pytest.raises(TrainingError, match="no other run"):
        Trainer(
            build(TrainRequest("kgram_retrieval", {**SMALL, **TRAINING}, WIDE)), tmp_path / "with", start=given
        ).run()
