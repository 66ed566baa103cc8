"""What the recipes for training loops in docs/your_own_model.md save is read by the commands beside them."""

from __future__ import annotations

import re
import shlex
import sys
from pathlib import Path

import pytest
import torch

from tests.support.places import ROOT
from workbench.cli.main import app
from workbench.runs import Run
from workbench.tasks.random_generator import generator

PAGE = (ROOT / "docs" / "your_own_model.md").read_text().partition("\n## Checkpoints of a training loop\n")[2]


def test_each_checkpoint_is_a_step(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("accelerate")
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {"__name__": "own_loop"}
    for block in re.findall(r"^```python\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL):
        exec(compile(block, "your_own_model.md", "exec", dont_inherit=True), names)
    (opening,) = re.findall(r"^lengthlens (open .*)$", PAGE, re.MULTILINE)
    (adopting,) = re.findall(r"^lengthlens (adopt .*)$", PAGE, re.MULTILINE)
    Path("my_models").mkdir()
    Path("step1000.safetensors").rename("my_models/step1000.safetensors")
    looped = opening.replace("trained", "looped").replace("checkpoint-*", "step*").replace("copies", "looped")
    for words in (opening, looped, adopting):
        monkeypatch.setattr(sys, "argv", ["lengthlens", *shlex.split(words)])
        with pytest.raises(SystemExit) as left:
            app()
        assert left.value.code in (0, None), words
    assert Run.open("checkpoints/copies").steps == [2, 4]
    assert Run.open("checkpoints/looped").steps == [4]
    adopted = Run.open("checkpoints/my_models")
    assert (adopted.steps, adopted.task.name) == ([1000], "majority")
    tokens = adopted.task.sample(4, 9, generator("own loop")).tokens
    with torch.no_grad():
        torch.testing.assert_close(adopted.load(1000)(tokens), names["hooked"](tokens))  # type: ignore[operator]
