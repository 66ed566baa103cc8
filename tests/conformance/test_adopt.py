"""Foreign checkpoints become a run with the same outputs, or one sentence says why not."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

from tests.support.runs.adopt import theirs  # noqa: F401 - fixtures
from workbench.cli.main import main
from workbench.runs import Run


@pytest.mark.parametrize("kind", ["standard", "rotary", "alibi"])
def test_models_of_transformer_lens_come_in_with_equal_logits(
    theirs: Path, kind: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def command(files: str, out: Path) -> tuple[object, str, str]:
        words = [str(theirs / kind), "--task", "majority", "--lengths", "1-39", "--files", files, "--out", str(out)]
        monkeypatch.setattr(sys, "argv", ["lengthlens", "adopt", *words])
        with pytest.raises(SystemExit) as left:
            main()
        return left.value.code, *capsys.readouterr()

    code, _, said = command("folded_1.pth", tmp_path / "folded")
    assert code == 2
    assert "folded_1.pth: it contains no LayerNorm weights; its LayerNorms were folded into the weights" in said
    code, said, _ = command("step_*", tmp_path / "run")
    assert code == 0
    assert "2 checkpoints, last at step 300" in said
    assert "The tokens of the model must be those of majority: 0 <bos>, 1 0, 2 1." in said
    run, expected = Run.open(tmp_path / "run"), load_file(theirs / kind / "logits.expected")
    tokens = load_file(theirs / "tokens.tensor")["tokens"]
    for step in (0, 300):
        with torch.no_grad():
            assert (run.load(step)(tokens) - expected[str(step)]).abs().max() < 1e-5
    assert run.config["model"]["positions"]["name"] == {"standard": "learned"}.get(kind, kind)
