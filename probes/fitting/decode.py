"""Transfer, recalibrated, refit and their controls: the probes of one residual stream across lengths."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Bool, Shaped
from torch import Tensor

from probes.fitting import controls
from probes.fitting.linear import Probe, fit_probes
from probes.fitting.probe_rows import ProbeRows, folds, pool_lengths
from workbench.core.names import REFIT as REFIT

TRANSFER, RECALIBRATED = "transfer", "recalibrated"
MODES = (TRANSFER, RECALIBRATED, REFIT)
#: An integer with more values than this is treated as a number, not as a class.
MOST_CLASSES = 128
#: Minimum sequences for fitting and for testing a probe.
FEWEST = 8

#: Returns the random generator with a name, always the same one for the same name.
Rng = Callable[..., np.random.Generator]


@dataclass(frozen=True)
class ProbeArm:
    """The predictions of one probe on held-out vectors of one length.

    Attributes:
        mode: ``transfer``, ``recalibrated`` or ``refit``.
        control: name of the control, or "".
        predicted: class, value or vector; a single site where no layer is read.
        truth: the right answers; for a label control, that control's labels.
        reversed: per site, whether its direction has the opposite sign of the one where it was fitted.
    """

    mode: str
    control: str
    predicted: Shaped[Tensor, "site row *s"]
    truth: Shaped[Tensor, "row *s"]
    reversed: tuple[bool, ...] = ()


@dataclass(frozen=True)
class UndefinedTarget:
    """The reason why a probe cannot be fitted or tested at one length."""

    mode: str
    control: str
    problem: str


@dataclass(frozen=True)
class Target:
    """The quantity that probes decode, with its labels at all lengths.

    Attributes:
        name: its name among the labels of the rows.
        values: the classes, ascending; probes predict indices into this list. None = a real or counting target.
    """

    name: str
    values: Shaped[Tensor, "class"] | None

    @staticmethod
    def among(name: str, rows: Mapping[int, ProbeRows]) -> Target:
        """Return the target with all classes that occur at any of the lengths, unless it is a number."""
        labels = torch.cat([r.labels[name] for r in rows.values()])
        values = None if labels.is_floating_point() else labels.unique()
        return Target(name, None if values is None or len(values) > MOST_CLASSES else values)

    @property
    def classes(self) -> int:
        """Number of classes; 0 for a real target."""
        return 0 if self.values is None else len(self.values)

    def of(self, rows: ProbeRows) -> Shaped[Tensor, "row *s"]:
        """Return class indices, or float64 values or vectors."""
        label = rows.labels[self.name]
        return label.double() if self.values is None else torch.searchsorted(self.values, label)

    def problem(self, rows: ProbeRows, where: str) -> str:
        """Return why no probe can be fitted or tested on these rows, or ""."""
        sequences = len(rows.sequence.unique())
        if sequences < FEWEST:
            return f"{sequences} sequences with a supervised query {where}; at least {FEWEST} are needed"
        if not rows.finite:
            return f"activations are not finite {where}"
        return self.poor(self.of(rows), where)

    def poor(self, y: Shaped[Tensor, "row *s"], where: str) -> str:
        """Return why labels (of the target or of a control) have too few values for a probe, or ""."""
        if self.values is None:
            return "" if bool((y != y[0]).any()) else f"{self.name} does not vary {where}"
        if self.classes == 1:
            return f"{self.name} has one class only"
        missing = self.values[torch.bincount(y, minlength=self.classes) == 0].tolist()
        return f"no row of class {', '.join(map(str, missing))} {where}" if missing else ""


class Decoder:
    """Fits and applies the probes of all targets of some rows.

    ``frozen`` contains the probes fitted on the pooled lengths, by target, where they could be fitted.

    Args:
        rows: rows per prefix length, from batches that number their sequences alike.
        inside: lengths on whose rows ``transfer`` and the directions of ``recalibrated`` are fitted.
        fit: which sequences are used for fitting, at every length; the others are used for testing.
        rng: generators by name; must not depend on the checkpoint.
    """

    def __init__(
        self, rows: Mapping[int, ProbeRows], inside: Sequence[int], fit: Bool[Tensor, "sequence"], rng: Rng
    ) -> None:
        self.rng = rng
        self.is_fit = fit
        self.fit = {n: r.take(fit[r.sequence]) for n, r in rows.items()}
        self.test = {n: r.take(~fit[r.sequence]) for n, r in rows.items()}
        self.targets = [Target.among(name, rows) for name in next(iter(rows.values())).labels]
        self.frozen, self._unfrozen = self._pool([n for n in inside if n in rows])

    def _pool(self, inside: Sequence[int]) -> tuple[dict[str, Probe], dict[str, str]]:
        """Return, per target, the probe fitted on the pooled lengths, or why there is none."""
        if not inside:
            return {}, {t.name: "none of the lengths to transfer from was measured" for t in self.targets}
        rows = pool_lengths({n: self.fit[n] for n in inside}, self.rng("pool"))
        problems = {t.name: t.problem(rows, "at the lengths transferred from") for t in self.targets}
        able = [t for t in self.targets if not problems[t.name]]
        y, classes = [t.of(rows) for t in able], [t.classes for t in able]
        found = fit_probes(rows.x, y, classes, folds(rows.sequence))
        return {t.name: p for t, p in zip(able, found, strict=True)}, problems

    def problem(self, length: int, target: Target) -> str:
        """Return why nothing can be decoded at this length, or ""."""
        return target.problem(self.fit[length], "in the half fitted on") or target.problem(
            self.test[length], "in the half tested on"
        )

    def able(self, length: int) -> list[Target]:
        """Return the targets that can be decoded at this length."""
        return [t for t in self.targets if not self.problem(length, t)]

    def arms(self, length: int, label_controls: Sequence[str]) -> dict[str, list[ProbeArm | UndefinedTarget]]:
        """Return, per target, the three modes, and refits to the labels of each label control."""
        able = self.able(length)
        arms_by_target: dict[str, list[ProbeArm | UndefinedTarget]] = {
            t.name: [UndefinedTarget(mode, "", self.problem(length, t)) for mode in MODES] for t in self.targets
        }
        fit, test = self.fit[length], self.test[length]
        labels = {t.name: self._labels(length, t, label_controls) for t in able}
        flat = [pair[0] for t in able for pair in labels[t.name].values()]
        classes = [t.classes for t in able for _ in labels[t.name]]
        found = iter(fit_probes(fit.x, flat, classes, folds(fit.sequence)))
        for t in able:
            arms_by_target[t.name] = self._frozen_arms(t, fit, test)
            for control, (fitted, truth) in labels[t.name].items():
                probe = next(found)
                poor = t.poor(fitted, "in the half fitted on") or t.poor(truth, "in the half tested on")
                arms_by_target[t.name].append(
                    UndefinedTarget(REFIT, control, f"{control}: {poor}")
                    if poor
                    else ProbeArm(REFIT, control, probe(test.x), truth)
                )
        return arms_by_target

    def _labels(self, length: int, target: Target, label_controls: Sequence[str]) -> dict[str, tuple[Tensor, Tensor]]:
        """Return labels of the (fit, test) rows: the target's own under "", and those of each label control."""
        fit, test = self.fit[length], self.test[length]
        pairs = {"": (target.of(fit), target.of(test))}
        both, size = torch.cat(pairs[""]), [len(fit), len(test)]
        for control in label_controls:
            if control == controls.SHUFFLED:
                labels = controls.shuffle_labels(both, self.rng("shuffle", length, target.name))
            else:
                labels = controls.hash_labels(both, torch.cat([fit.tokens, test.tokens]))
            first, second = labels.split(size)
            pairs[control] = first, second
        return pairs

    def _frozen_arms(self, target: Target, fit: ProbeRows, test: ProbeRows) -> list[ProbeArm | UndefinedTarget]:
        if target.name not in self.frozen:
            problem = self._unfrozen[target.name]
            return [UndefinedTarget(mode, "", problem) for mode in (TRANSFER, RECALIBRATED)]
        probe, truth = self.frozen[target.name], target.of(test)
        again = probe.recalibrate(fit.x, target.of(fit), target.classes)
        flips = tuple(probe.sign_flips(again))
        return [
            ProbeArm(TRANSFER, "", probe(test.x), truth),
            ProbeArm(RECALIBRATED, "", again(test.x), truth, flips),
        ]

    def input_controls(
        self, length: int, names: Sequence[str], untrained: Mapping[int, ProbeRows] | None
    ) -> dict[str, list[ProbeArm]]:
        """Return, per target, refits that read something other than this checkpoint.

        They do not depend on the checkpoint, so one call serves a whole run.

        Args:
            length: prefix length.
            names: controls that read tokens only.
            untrained: the same rows from the run's step 0, or None where there is none.
        """
        fit, test, able = self.fit[length], self.test[length], self.able(length)
        tokens, size = torch.cat([fit.tokens, test.tokens]), [len(fit), len(test)]
        features = {name: controls.inputs(tokens, name).split(size, 1) for name in names}
        if untrained is not None:
            x, mask = untrained[length].x, self.is_fit[untrained[length].sequence]
            features[controls.UNTRAINED] = x[:, mask], x[:, ~mask]
        arms_by_target: dict[str, list[ProbeArm]] = {t.name: [] for t in self.targets}
        for control, (x_fit, x_test) in features.items():
            y = [t.of(fit) for t in able]
            found = fit_probes(x_fit, y, [t.classes for t in able], folds(fit.sequence))
            for t, probe in zip(able, found, strict=True):
                arms_by_target[t.name].append(ProbeArm(REFIT, control, probe(x_test), t.of(test)))
        return arms_by_target
