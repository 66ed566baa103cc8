"""Open a run's model in pyvene and set one head to zero.

pip install -e '.[libraries]'
python examples/other_libraries/pyvene_ablation.py checkpoints/gallery/flip_flop_rotary_s0
"""

from __future__ import annotations

import sys
from typing import Any

import pyvene
import torch
from torch import Tensor

from lengthlens import Run

LAYER, HEAD = 0, 1


def without_head(z: Tensor, source: Any = None, **_: Any) -> Tensor:
    """The head outputs ``[batch, pos, head, d_head]`` with one head set to zero."""
    return z.index_fill(2, torch.tensor([HEAD]), 0)


def main(folder: str) -> None:
    run = Run.open(folder)
    model = run.load()
    model.config = model.cfg  # pyvene reads the config under this name
    batch = run.task.batch(128, run.trained_length)
    component = f"blocks[{LAYER}].attn.hook_z.output"
    edited = pyvene.IntervenableModel({"component": component, "intervention": without_head}, model=model)
    with torch.no_grad():
        before, after = edited({"tokens": batch.tokens}, output_original_output=True)
    for name, logits in (("whole model", before), (f"without L{LAYER}H{HEAD}", after)):
        right = (logits.argmax(-1) == batch.targets)[batch.mask]
        print(f"accuracy at length {run.trained_length}, {name}: {right.float().mean():.3f} ({len(right)} answers)")


if __name__ == "__main__":
    main(sys.argv[1])
