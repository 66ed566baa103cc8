"""Rows from the predictions of probes: scores, intervals, selectivity and undefined cases."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from jaxtyping import Float
from torch import Tensor

from probes.fitting import controls
from probes.fitting.decode import REFIT, ProbeArm, Target, UndefinedTarget
from probes.fitting.metrics import (
    ProbeScore,
    Resamples,
    balanced_accuracy,
    estimates,
    exact_where_uniform,
    fields_of,
    paired_balanced,
    r2,
    rmse,
    says_nothing,
    squared_error,
)
from probes.fitting.probe_rows import layer_of
from workbench.table.schema import Row, row

REVERSED = "the frozen direction reads the opposite here (its refitted gain is negative)"


@dataclass(frozen=True)
class QuantityNames:
    """Names of the quantities that a measurement reports; "" = not reported."""

    decodability: str
    rmse: str = ""
    selectivity: str = ""


@dataclass(frozen=True)
class ProbeCell:
    """One decoded quantity on one test set at one prefix length, with everything that its rows share.

    Attributes:
        names: the quantities to report.
        law: name of the test set.
        length: prefix length.
        target: the target of the probes.
        sequences: number of held-out sequences.
        sites: hook names, the embedding first.
    """

    names: QuantityNames
    law: str
    length: int
    target: Target
    sequences: int
    sites: Sequence[str]

    def rows(self, arms: Sequence[ProbeArm | UndefinedTarget], resamples: Resamples) -> list[Row]:
        """Return all rows of the cell.

        Arms that read no layer are repeated at each layer. So one filter by layer gives a value together with all its
        controls.
        """
        new_rows: list[Row] = []
        draws: dict[str, Tensor] = {}
        scores: dict[str, list[ProbeScore]] = {}
        for arm in arms:
            with_rmse = bool(self.names.rmse) and not self.target.classes and not arm.control
            if isinstance(arm, UndefinedTarget):
                new_rows += self._undefined(self.names.decodability, arm)
                new_rows += self._undefined(self.names.rmse, arm) if with_rmse else []
                continue
            scored, intervals = self._score(arm, resamples)
            new_rows += self._rows(self.names.decodability, arm, intervals, self._problems(arm, intervals, resamples))
            if with_rmse:
                errors = estimates(rmse(arm.predicted, arm.truth, resamples))
                new_rows += self._rows(self.names.rmse, arm, errors)
            if arm.mode == REFIT:
                draws[arm.control], scores[arm.control] = scored, intervals
        if self.names.selectivity:
            new_rows += self._selectivity(arms, draws, scores, resamples)
        return new_rows

    def _score(self, arm: ProbeArm, resamples: Resamples) -> tuple[Float[Tensor, "draw site"], list[ProbeScore]]:
        if not self.target.classes:
            draws = r2(arm.predicted, arm.truth, resamples)
            return draws, estimates(draws)
        draws = balanced_accuracy(arm.predicted, arm.truth, self.target.classes, resamples)
        return draws, exact_where_uniform(estimates(draws), arm.predicted, arm.truth, self.target.classes)

    def _problems(self, arm: ProbeArm, found: Sequence[ProbeScore], resamples: Resamples) -> list[str]:
        """Return, per site of an arm, why its score is not a result, or ""."""
        if self.target.classes:
            return [""] * len(found)
        errors = squared_error(arm.predicted, arm.truth)
        return [says_nothing(at, of_site, resamples) for at, of_site in zip(found, errors, strict=True)]

    def _selectivity(
        self,
        arms: Sequence[ProbeArm | UndefinedTarget],
        draws: dict[str, Tensor],
        scores: dict[str, list[ProbeScore]],
        resamples: Resamples,
    ) -> list[Row]:
        """Return refit minus the best of the controls that keep the label, on the same rows."""
        name = self.names.selectivity
        undefined = [a for a in arms if isinstance(a, UndefinedTarget) and (a.mode, a.control) == (REFIT, "")]
        if "" in draws and controls.UNTRAINED not in draws:
            undefined = [UndefinedTarget(REFIT, "", "no untrained model (step 0) to compare with")]
        if undefined:
            return self._undefined(name, undefined[0])
        refits = {a.control: a for a in arms if isinstance(a, ProbeArm) and a.mode == REFIT}
        rivals = [c for c in draws if c not in ("", controls.SHUFFLED, controls.HASHED)]
        new_rows = []
        for site in range(len(self.sites)):
            best = max(rivals, key=lambda c: scores[c][_at(draws[c], site)].value)
            rival_site = _at(draws[best], site)
            if self.target.classes:
                own, rival = refits[""], refits[best]
                hits = own.predicted[site] == own.truth, rival.predicted[rival_site] == rival.truth
                at, problem = paired_balanced(*hits, own.truth, self.target.classes), ""
            else:
                at = estimates((draws[""][:, site] - draws[best][:, rival_site])[:, None])[0]
                problem = says_nothing(at, squared_error(refits[""].predicted, refits[""].truth)[site], resamples)
            new_rows.append(self._row(name, site, REFIT, at, note=f"over {best}", problem=problem))
        return new_rows

    def _rows(
        self,
        quantity: str,
        arm: ProbeArm,
        found: Sequence[ProbeScore],
        problems: Sequence[str] = ("",),
    ) -> list[Row]:
        reverses = arm.reversed or (False,) * len(self.sites)
        return [
            self._row(
                quantity,
                site,
                arm.mode,
                found[site % len(found)],
                arm.control,
                REVERSED * reverses[site],
                problems[site % len(problems)],
            )
            for site in range(len(self.sites))
        ]

    def _row(
        self, quantity: str, site: int, mode: str, at: ProbeScore, control: str = "", note: str = "", problem: str = ""
    ) -> Row:
        kind = {**self._place(site), "quantity": quantity, "mode": mode, "control": control}
        if problem:
            return row(**kind, n=self.sequences, status="undefined", note=problem)
        return row(**kind, **fields_of(at, self.sequences, note))

    def _undefined(self, quantity: str, arm: UndefinedTarget) -> list[Row]:
        kind = {"quantity": quantity, "mode": arm.mode, "control": arm.control}
        return [
            row(**self._place(site), **kind, status="undefined", note=arm.problem) for site in range(len(self.sites))
        ]

    def _place(self, site: int) -> Row:
        return {
            "law": self.law,
            "length": self.length,
            "layer": layer_of(self.sites[site]),
            "site": self.sites[site],
            "target": self.target.name,
        }


def _at(draws: Tensor, site: int) -> int:
    """Return the index of a site among draws, which may have one site shared by all."""
    return site % draws.shape[1]
