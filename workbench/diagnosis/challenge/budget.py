"""The budget of a method: how many sequences may pass through a model."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from workbench.core.errors import LensError

if TYPE_CHECKING:
    from workbench.models.base.hooked import Hooked

BUDGET = 1 << 17
"""Forward passes per model that a method may use. The pass of one sequence counts as 1, whatever its length."""


class BudgetSpent(LensError, RuntimeError):
    """Raised when a method makes more forward passes than its budget."""


@dataclass
class Passes:
    """The number of forward passes so far.

    Attributes:
        used: one for each sequence that reached the unembedding. A pass that begins at a later block counts fully.
    """

    used: int = 0


@contextmanager
def counted_passes(model: Hooked, budget: int = BUDGET) -> Iterator[Passes]:
    """Count the forward passes of a model inside the context.

    Raises:
        BudgetSpent: by the pass that exceeds the budget.
    """
    passes = Passes()

    def count(module: Any, args: tuple[Any, ...]) -> None:
        passes.used += len(args[0])
        if passes.used > budget:
            raise BudgetSpent(f"the method needs more than {budget:,} forward passes; let it use fewer sequences")

    unembed: Any = model.unembed
    handle = unembed.register_forward_pre_hook(count)
    try:
        yield passes
    finally:
        handle.remove()
