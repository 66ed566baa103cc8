"""Probes of a model in memory, without a run folder: ``probe(model, batches).figure()``."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from probes.fitting.probe_rows import ProbeError
from probes.position import Position
from probes.probe_measurement import ProbeMeasurement
from probes.summary import Summary
from workbench.measure.model_study import drawn_grid, run
from workbench.measure.result import Result
from workbench.measure.running.plain_tokens import Data, batches_of
from workbench.tasks.base import Batch, Task
from workbench.tasks.random_generator import generator

if TYPE_CHECKING:
    import plotly.graph_objects as go

    from workbench.models.base.protocol import HookedModel

TARGETS: dict[str, type[ProbeMeasurement]] = {"summary": Summary, "position": Position}


@dataclass(frozen=True)
class ProbeResult(Result):
    """The rows of one model's probes, in the format in which a measurement of a run stores them.

    Attributes:
        inside: the lengths on which ``transfer`` was fitted.
        sites: hook names of the activations, the embedding first.
        weights: by target, the frozen directions of ``transfer``, ``[site, d, component]``. A target with C classes has
            C - 1 components: the indicators of all classes except the last.
    """

    inside: tuple[int, ...]
    sites: tuple[str, ...]
    weights: Mapping[str, NDArray[np.float64]]
    figure_address: ClassVar[str] = "workbench.figures.panels.decodability:decodability_over_length"

    def direction(self, site: str = "", target: str = "") -> NDArray[np.float64]:
        """Return the fitted direction at one site, ``[d, component]``, each component with norm 1.

        Args:
            site: hook name; "" = the last.
            target: name of the target; "" = the first, where there are several.

        Raises:
            ProbeError: where nothing was fitted.
        """
        target, site = target or next(iter(self.weights), ""), site or self.sites[-1]
        if target not in self.weights or site not in self.sites:
            known = f"sites: {', '.join(self.sites)}; targets: {', '.join(self.weights) or 'none could be fitted'}"
            raise ProbeError(f"there is no direction of {target or 'any target'} at {site} ({known})")
        found = self.weights[target][self.sites.index(site)]
        size = np.linalg.norm(found, axis=0, keepdims=True)
        return np.asarray(found / np.where(size > 0, size, 1.0))

    def figure(  # type: ignore[override]  # decodability over length is what probes show
        self, layer: int | None = None, theme: Literal["light", "dark"] = "light"
    ) -> go.Figure:
        """Draw decodability over prefix length at one layer (None = the last)."""
        return self._draw(trained=max(self.inside), step=int(self.rows[0]["step"]), layer=layer, theme=theme)


def probe(
    model: HookedModel,
    data: Data,
    labels: Tensor | Sequence[Tensor] | None = None,
    *,
    target: str = "summary",
    task: Task | None = None,
    trained: int | None = None,
    lengths: Sequence[int] | None = None,
    sequences: int = 512,
    inside: Sequence[int] | None = None,
    untrained: HookedModel | None = None,
    seed: int = 0,
    **settings: Any,
) -> ProbeResult:
    """Fit and score all probes of a model on batches of several lengths.

    Args:
        model: the model.
        data: a batch, or one per prefix length, as ``task.sample`` returns them, all from one test set and with equally
            many sequences. If prefixes of its sequences belong to the test set, ``batch.prefix(n)`` is valid, too. Or
            plain token ids ``[batch, pos]``, one such tensor per length. Or a task, whose matched sequences are drawn.
        labels: for plain tokens, the labels of the target ``summary``: classes or numbers, ``[batch, pos]``, or
            ``[batch]`` for the last position.
        task: for plain tokens, the source of labels.
        trained, lengths, sequences: for a task: N, the lengths (rounded up to those that the task has) and the number
            of sequences per length.
        target: ``summary`` at each exact length, or ``position`` in the band below each length.
        inside: lengths on which ``transfer`` is fitted; None = the shorter half of the lengths, including the middle
            one. Give the training lengths if the model was trained.
        untrained: the same architecture before training; without it there is no ``selectivity``.
        seed: seed of the split, the pool, the shuffle and the resamples.
        **settings: further settings of the measurement, e.g. ``resamples`` or ``positions``.

    Raises:
        ProbeError: for an unknown target, no batches, batches of different test sets or sizes, or a length in
            ``inside`` that no batch has.
    """
    if isinstance(data, Task):
        batches = _draw_batches(data, trained, lengths, sequences, seed)
        inside = [b.length for b in batches if b.length <= (trained or 0)] if inside is None else inside
    else:
        listed = [data] if isinstance(data, Batch | Tensor) else list(data)
        if any(isinstance(one, Tensor) for one in listed) and labels is None and task is None and target == "summary":
            raise ProbeError("a probe of 'summary' needs labels: give labels or task= with the tokens")
        batches = batches_of(listed, labels, task, "matched")
    by_length = _by_length(batches)
    law = next(iter(by_length.values())).law
    if target not in TARGETS:
        raise ProbeError(f"unknown probe target {target!r}; use {' or '.join(TARGETS)}")
    lengths = sorted(by_length)
    fit_lengths = tuple(sorted(inside)) if inside is not None else tuple(lengths[: (len(lengths) + 1) // 2])
    absent = [n for n in fit_lengths if n not in by_length]
    if absent:
        raise ProbeError(f"the argument inside names length {absent[0]}, but the batches have the lengths {lengths}")

    measurement = TARGETS[target](law=law, **settings)
    trained = max(fit_lengths, default=None)
    found = run(
        measurement, model, by_length.values(), trained=trained, inside=fit_lengths, untrained=untrained, seed=seed
    )
    weights = {name: p.directions.weight.numpy() for name, p in measurement.frozen_probes.items()}
    return ProbeResult(found.measurement, found.rows, found.trained, fit_lengths, tuple(measurement.read), weights)


def _draw_batches(
    task: Task, trained: int | None, lengths: Sequence[int] | None, sequences: int, seed: int
) -> list[Batch]:
    """Draw matched sequences of a task at each length that :func:`workbench.measure.run` would use."""
    chosen = drawn_grid(task, trained, lengths).lengths
    return [task.sample(sequences, n, generator("probe", seed, n), "matched", trained) for n in chosen]


def _by_length(batches: Iterable[Batch]) -> dict[int, Batch]:
    listed = list(batches)
    by_length = {b.length: b for b in listed}
    if not by_length:
        raise ProbeError("probe needs at least one batch")
    if len(by_length) < len(listed):
        raise ProbeError("probe takes one batch per length, and two have the same length")
    if len({b.law for b in listed}) > 1:
        raise ProbeError(f"all batches must be of one test set, not {', '.join(sorted({b.law for b in listed}))}")
    if len({len(b) for b in listed}) > 1:
        raise ProbeError("all batches must have equally many sequences, because all lengths share one split")
    return by_length
