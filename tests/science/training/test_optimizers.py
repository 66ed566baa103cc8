"""Optimizers: they do what their formula says, continue to the same bits, and old run files keep their meaning."""

from __future__ import annotations

import pytest

from tests.support.training.optimizers import PLAIN, SGD, config, older
from workbench.runs import RunError
from workbench.runs.checkpoints import write_config
from workbench.training.trainer import Stopped, Trainer

ADAMW = {"optimizer": "adamw"}


@pytest.mark.parametrize("law", [ADAMW, SGD, PLAIN], ids=["adamw", "momentum", "plain"])
def test_any_optimizer_continues_to_the_same_bits(tmp_path, law: dict) -> None:
    whole = Trainer(config(**law), tmp_path / "whole").run()
    for step in (1, 5, 8):
        trainer = Trainer(config(**law), tmp_path / "cut")

        def watch(done: int, scores: dict, trainer=trainer, step=step) -> None:
            trainer.stopping |= done >= step

        trainer.watcher = watch
        with pytest.raises(Stopped):
            trainer.run()
    cut = Trainer(config(**law), tmp_path / "cut").run()
    assert {s: cut.meta(s)["sha256"] for s in cut.steps} == {s: whole.meta(s)["sha256"] for s in whole.steps}


def test_optimizers_train_different_models(tmp_path) -> None:
    last = {}
    for name, law in {"adamw": ADAMW, "momentum": SGD, "plain": PLAIN}.items():
        run = Trainer(config(**law), tmp_path / name).run()
        last[name] = run.meta(12)["sha256"]
    assert len(set(last.values())) == 3


def test_a_run_begun_before_a_setting_existed_goes_on_as_its_default(tmp_path) -> None:
    whole = Trainer(config(), tmp_path / "whole").run()
    folder = tmp_path / "old"
    folder.mkdir()
    write_config(folder, older(config()))
    run = Trainer(config(), folder).run()
    assert run.id == "0123456789abcdef", "it stays the run it was"
    assert run.meta(12)["sha256"] == whole.meta(12)["sha256"]
    with pytest.raises(RunError, match="training"):
        Trainer(config(**SGD), folder).run()
