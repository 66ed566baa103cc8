"""The training of docs/small_model.md as settings, over a text that takes no room."""

from __future__ import annotations

import sys
from pathlib import Path

from tests.support.places import ROOT
from workbench.cli.options import assignments
from workbench.cli.run_config import build
from workbench.cli.train_request import TrainRequest
from workbench.training.config import RunConfig

sys.path.insert(0, str(ROOT / "docs"))
import small_model_page


def stub_text(folder: Path) -> None:
    """Twenty files, so that some train and some are held out."""
    folder.mkdir(parents=True)
    for i in range(20):
        (folder / f"{i}.txt").write_text("a b c " * 50)


def small_model_config(root: Path) -> RunConfig:
    """What ``lengthlens train`` makes of the options of that page; its folder of text is made below ``root``."""
    stub_text(root / "text")
    told = small_model_page.model_options(root)
    pairs = list(zip(told[::2], told[1::2], strict=True))
    settings = assignments([text for name, text in pairs if name == "--set"])
    options = {name[2:].replace("-", "_"): float(text) for name, text in pairs if name != "--set"}
    sizes = {name: int(options[name]) for name in ("layers", "heads")}
    return build(TrainRequest("next_token", {**options, **sizes}, settings))
