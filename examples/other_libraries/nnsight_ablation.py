"""Open a run's model in nnsight, read an attention pattern, and set one head to zero.

pip install -e '.[libraries]'
python examples/other_libraries/nnsight_ablation.py checkpoints/gallery/flip_flop_rotary_s0
"""

from __future__ import annotations

import sys

import torch
from nnsight import NNsight

from lengthlens import Run

LAYER, HEAD = 0, 1


def main(folder: str) -> None:
    run = Run.open(folder)
    model = run.load()
    batch = run.task.batch(128, run.trained_length)
    # hook_pattern is computed only while somebody reads it: this empty hook asks for it.
    model.blocks[LAYER].attn.hook_pattern.add_perma_hook(lambda pattern, hook: None)
    traced = NNsight(model)
    with torch.no_grad():
        with traced.trace(batch.tokens):
            pattern = traced.blocks[LAYER].attn.hook_pattern.output.save()
            before = traced.output.save()
        with traced.trace(batch.tokens):
            traced.blocks[LAYER].attn.hook_z.output[:, :, HEAD] = 0
            after = traced.output.save()
    own_weight = pattern[:, HEAD].diagonal(dim1=-2, dim2=-1).mean()
    print(f"L{LAYER}H{HEAD} attends to its own position with weight {own_weight:.3f} on average.")
    for name, logits in (("whole model", before), (f"without L{LAYER}H{HEAD}", after)):
        right = (logits.argmax(-1) == batch.targets)[batch.mask]
        print(f"accuracy at length {run.trained_length}, {name}: {right.float().mean():.3f} ({len(right)} answers)")


if __name__ == "__main__":
    main(sys.argv[1])
