"""One training step against its peers and against the machine's limit for matrix products.

python -m benchmarks.step
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from benchmarks.peers.training_step import CONTEXT, LAYERS, PEERS, VOCABULARY, WIDTH, ours
from benchmarks.tools.table import Line, interleaved

BATCH = 64


def stepper(model: nn.Module) -> Callable[[], None]:
    """One full update on the cross-entropy at every position."""
    tokens, targets = batch()

    def loss() -> Tensor:
        out = model(tokens)
        logits: Tensor = out if isinstance(out, Tensor) else out.logits
        return F.cross_entropy(logits.flatten(0, 1), targets.flatten())

    return updater(model, loss)


def last_stepper(everywhere: bool) -> Callable[[], None]:
    """One full update of our model on its last answers alone; ``everywhere``: the others are computed too."""
    from workbench.models import HookedTransformer

    model = ours()
    assert isinstance(model, HookedTransformer)
    tokens, targets = batch()
    asked = torch.zeros_like(tokens, dtype=torch.bool)
    asked[:, -1] = True
    ids = torch.arange(CONTEXT)[None]

    def loss() -> Tensor:
        logits = model(tokens, ids) if everywhere else model.supervised_outputs(tokens, ids, asked)
        return F.cross_entropy(logits[asked], targets[asked])

    return updater(model, loss)


def batch() -> tuple[Tensor, Tensor]:
    """Random tokens and targets."""
    generator = torch.Generator().manual_seed(0)
    tokens, targets = (torch.randint(VOCABULARY, (BATCH, CONTEXT), generator=generator) for _ in range(2))
    return tokens, targets


def updater(model: nn.Module, loss_of: Callable[[], Tensor]) -> Callable[[], None]:
    """One update: forward, loss, backward, clipping, fused AdamW."""
    from workbench.training.config import TrainingConfig

    law = TrainingConfig()
    optimizer = torch.optim.AdamW(model.parameters(), lr=law.learning_rate, betas=law.betas, fused=True)

    def step() -> None:
        loss = loss_of()
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
    work["all answers"], work["last answers"] = last_stepper(everywhere=True), last_stepper(everywhere=False)
    times = interleaved(work, rounds)
    lines = [
        Line(
            "training step", f"{name} / ours", times.ratio(name, "ours"), wanted, f"{times.median('ours'):.1f} ms ours"
        )
        for name, wanted in (("TransformerLens boot_native", 1.8), ("bare PyTorch", 1.0), ("GPT2LMHeadModel", 1.0))
    ]
    share = times.ratio("matrix products alone", "ours")
    asked = times.ratio("all answers", "last answers")
    return [
        *lines,
        Line("training step", "share of the matrix-product limit", share, None),
        Line("training step, last answer asked", "all answers computed / ours", asked, None),
    ]


if __name__ == "__main__":
    from benchmarks.tools.table import show

    show(measure())
