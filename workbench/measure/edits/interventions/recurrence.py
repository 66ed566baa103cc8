"""Family T, recurrence depth: over a whole sequence, a state forgets what it forgot in N steps."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from workbench.measure.edits.interventions.intervention import Family, GateEdit, Intervention

if TYPE_CHECKING:
    from torch import Tensor


class SlowSteps(GateEdit):
    """The intervention that raises gates to the power N / n and keeps their signs; the control uses the power n / N."""

    family: ClassVar[Family] = "T"

    def edit(self, gates: Tensor, keys: float) -> Tensor:
        power = min(1.0, keys / gates.shape[1])
        if self.wrong:
            power = 1 / power
        return gates.sign() * gates.abs() ** power


RECURRENCE: tuple[Intervention, ...] = (SlowSteps("T.slow", "steps slowed", "steps slowed to those of N"),)
