"""What tests of several tiers share. State-space models on the road of every run: trained, stored, loaded and measured; what needs attention says so."""

from __future__ import annotations

from workbench.cli.options import assignments
from workbench.cli.run_config import build
from workbench.cli.train_request import TrainRequest


def config(settings=(), **more):
    options = {"architecture": "ssm", "layers": 1, "d_model": 8, "lengths": "1-12", "steps": 12, "batch_size": 8}
    return build(TrainRequest("parity", {**options, **more}, assignments(["training.checkpoints.log=3", *settings])))
