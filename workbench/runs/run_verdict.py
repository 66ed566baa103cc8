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
    """

    run: str
    label: str = NOT_MEASURED
    step: int | None = None
    length: int | None = None
    reason: str = ""
    note: str = ""
    next_step: str = ""

    def __str__(self) -> str:
        at = "" if self.step is None else f" at step {self.step:,}"
        why = f", {self.reason}" if self.reason else ""
        return f"{self.run}: {self.label}{why}{at}{f': {self.note}' if self.note else ''}"

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
            ("next", self.next_step),
        ]
        return card(f"Verdict of {self.run}", facts)
