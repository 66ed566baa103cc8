"""The examples with nnsight and pyvene print what our own hooks compute. `make libraries` installs both libraries."""

from __future__ import annotations

from importlib.util import module_from_spec, spec_from_file_location
from types import ModuleType

import pytest
import torch
from torch import Tensor

from tests.support.places import GALLERY, ROOT
from workbench.runs import Run

RUN = GALLERY / "flip_flop_rotary_s0"
LAYER, HEAD = 0, 1


def example(library: str) -> ModuleType:
    pytest.importorskip(library)
    path = ROOT / "examples" / "other_libraries" / f"{library}_ablation.py"
    spec = spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def without_head(z: Tensor, hook: object) -> Tensor:
    z = z.clone()
    z[:, :, HEAD] = 0
    return z


@pytest.mark.parametrize("library", ["nnsight", "pyvene"])
def test_an_example_prints_what_our_hooks_compute(library: str, capsys: pytest.CaptureFixture[str]) -> None:
    example(library).main(str(RUN))
    printed = capsys.readouterr().out
    run = Run.open(RUN)
    model, batch = run.load(), run.task.batch(128, run.trained_length)
    with torch.no_grad():
        whole, cache = model.run_with_cache(batch.tokens)
        edited = model.run_with_hooks(batch.tokens, fwd_hooks=[(f"blocks.{LAYER}.attn.hook_z", without_head)])
    for name, logits in (("whole model", whole), (f"without L{LAYER}H{HEAD}", edited)):
        right = (logits.argmax(-1) == batch.targets)[batch.mask]
        assert f"{name}: {right.float().mean():.3f} ({len(right)} answers)" in printed
    if library == "nnsight":
        weight = cache[f"blocks.{LAYER}.attn.hook_pattern"][:, HEAD].diagonal(dim1=-2, dim2=-1).mean()
        assert f"weight {weight:.3f}" in printed
