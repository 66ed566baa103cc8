"""The verdict of a run at a checkpoint, as an object that shows itself as a small table."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

from workbench.core.html_card import card
from workbench.core.verdicts import NOT_MEASURED

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class RunVerdict:
    """The verdict of a run at its last measured checkpoint.

    Attributes:
        run: name of the run.
        label: the verdict, or ``not measured``.
        step: training step of the checkpoint; None without a verdict.
        length: the longest prefix length that was tested; None where there is none.
        reason: why a verdict is undecided, else "".
        note: the evidence.
        next_step: a command or a call that shows more.
        reach, reach_low, reach_high: mean skill beyond training (:mod:`workbench.core.reach`) at the same checkpoint,
            with its 95 % interval; None where it has no value.
    """

    run: str
    label: str = NOT_MEASURED
    step: int | None = None
    length: int | None = None
    reason: str = ""
    note: str = ""
    next_step: str = ""
    reach: float | None = None
    reach_low: float | None = None
    reach_high: float | None = None

    def __str__(self) -> str:
        at = "" if self.step is None else f" at step {self.step:,}"
        why = f", {self.reason}" if self.reason else ""
        return f"{self.run}: {self.label}{why}{at}{f': {self.note}' if self.note else ''}"

    @property
    def _reach(self) -> str:
        if self.reach is None:
            return ""
        limits = "" if self.reach_low is None else f" [{self.reach_low:.2f}, {self.reach_high:.2f}]"
        return f"{self.reach:.2f}{limits}, mean skill from 1.5 N to 8 N"

    def to_pandas(self) -> pd.DataFrame:
        """The verdict as a DataFrame of one row."""
        import pandas as pd

        return pd.DataFrame([asdict(self)])

    def _repr_html_(self) -> str:
        """The verdict and its evidence, as notebooks show them."""
        facts = [
            ("verdict", self.label + (f", {self.reason}" if self.reason else "")),
            ("step", "" if self.step is None else f"{self.step:,}"),
            ("tested to length", "" if self.length is None else f"{self.length:,}"),
            ("evidence", self.note),
            ("reach", self._reach),
            ("next", self.next_step),
        ]
        return card(f"Verdict of {self.run}", facts)
