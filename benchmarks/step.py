"""One training step against its peers and against the machine's limit for matrix products.

python -m benchmarks.step
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from benchmarks.peers import CONTEXT, LAYERS, PEERS, VOCABULARY, WIDTH
from benchmarks.table import Line, interleaved

BATCH = 64


def stepper(model: nn.Module) -> Callable[[], None]:
    """One full update: forward, cross-entropy at every position, backward, clipping, fused AdamW."""
    from workbench.training.config import TrainingConfig

    law = TrainingConfig()
    generator = torch.Generator().manual_seed(0)
    tokens = torch.randint(VOCABULARY, (BATCH, CONTEXT), generator=generator)
    targets = torch.randint(VOCABULARY, (BATCH, CONTEXT), generator=generator)
    optimizer = torch.optim.AdamW(model.parameters(), lr=law.learning_rate, betas=law.betas, fused=True)

    def step() -> None:
        out = model(tokens)
        logits: Tensor = out if isinstance(out, Tensor) else out.logits
        loss = F.cross_entropy(logits.flatten(0, 1), targets.flatten())
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), law.clip)
        optimizer.step()

    return step


def multiplications() -> int:
    """Multiply-adds of one step's matrix products: forward once, backward twice."""
    tokens = BATCH * CONTEXT
    dense = LAYERS * (3 + 1 + 8) * WIDTH * WIDTH + WIDTH * VOCABULARY
    attention = LAYERS * 2 * CONTEXT * WIDTH  # scores and their application, all pairs
    return 3 * tokens * (dense + attention)


def products() -> Callable[[], None]:
    """A bare matrix product of the step's largest shape, done until it has as many multiply-adds."""
    a, b = torch.randn(BATCH * CONTEXT, WIDTH), torch.randn(WIDTH, 4 * WIDTH)
    out = torch.empty(BATCH * CONTEXT, 4 * WIDTH)
    times = max(1, round(multiplications() / (BATCH * CONTEXT * WIDTH * 4 * WIDTH)))

    def run() -> None:
        for _ in range(times):
            torch.mm(a, b, out=out)

    return run


def measure(rounds: int = 15) -> list[Line]:
    torch.set_num_threads(1)
    work = {name: stepper(make()) for name, make in PEERS.items()}
    work["matrix products alone"] = products()
    times = interleaved(work, rounds)
    lines = [
        Line(
            "training step", f"{name} / ours", times.ratio(name, "ours"), wanted, f"{times.median('ours'):.1f} ms ours"
        )
        for name, wanted in (("TransformerLens boot_native", 1.8), ("bare PyTorch", 1.0), ("GPT2LMHeadModel", 1.0))
    ]
    share = times.ratio("matrix products alone", "ours")
    return [*lines, Line("training step", "share of the matrix-product limit", share, None)]


if __name__ == "__main__":
    from benchmarks.table import show

    show(measure())
