"""What probes decode along one sequence: the task state and the position at every prefix, clean and edited.

The task-state probe is the frozen one of ``probes.summary``: fitted on half of the run's evaluation sequences at its
training lengths, and applied at every prefix of the sequence. The position probe is refitted on sequences as long as
this one, because a frozen probe cannot extrapolate to positions outside its training set.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import torch
from jaxtyping import Shaped
from numpy.typing import NDArray
from torch import Tensor

from probes.fitting.decode import Target
from probes.fitting.linear import Probe, code, fit_probes
from probes.fitting.probe_rows import ProbeRows, folds, gather, halves, pool_lengths
from probes.summary import Summary
from workbench.measure.edits.edit import Edit, parse_edits
from workbench.measure.edits.one_sequence import OneSequence, Progress, one_sequence, quiet
from workbench.measure.edits.reading import ConceptReading, ProbeReading
from workbench.measure.grid import make_grid
from workbench.measure.study import CheckpointStudy, Evaluation, forward
from workbench.tasks.random_generator import generator

POSITIONS = 8
"""Positions per sequence on which the position probe is fitted."""

_STRINGS, _TOKENS = 256, 1 << 17
_KEPT = 8
_STAGES = 4

_FITTED: OrderedDict[tuple[object, ...], Fitted] = OrderedDict()


@dataclass(frozen=True)
class Fitted:
    """A fitted probe at every site, or the reason why there is none.

    Attributes:
        probe: reads all sites at once; None with a ``problem``.
        values: the classes that it predicts; None = a real target.
        rmse: per site, held-out root mean squared error (all zeros for classes).
        strings: number of fitting sequences.
        problem: why it could not be fitted, or "".
    """

    probe: Probe | None
    values: Tensor | None
    rmse: tuple[float, ...]
    strings: int
    problem: str = ""


def read_sequence(
    run_path: str,
    step: int,
    sequence: Mapping[str, Any],
    edits: str = "",
    progress: Progress = quiet,
    strength: float = 1.0,
) -> ProbeReading:
    """Return the task state and the position that probes decode at every prefix of one sequence.

    Args:
        run_path: folder of the run.
        step: step of the checkpoint.
        sequence: typed or drawn, see :func:`workbench.measure.edits.one_sequence.one_sequence`.
        edits: text of a link. Probes are fitted on the clean model and applied to the edited one.
        progress: called at each of a few stages.
        strength: strength of the interventions among the edits, from 0 to 1.

    Raises:
        RunError, TaskError, EditError: as :func:`workbench.measure.edits.one_sequence.one_sequence`.
        PositionError: for a sequence longer than the model's positions.
    """
    parsed_edits = parse_edits(edits, strength)
    progress(0, _STAGES, "reading the checkpoint")
    sample = one_sequence(run_path, step, sequence, parsed_edits)
    progress(1, _STAGES, "fitting the summary probe at trained lengths")
    summary = _cached_fit(sample, ("summary",), partial(fit_summary, sample))
    progress(2, _STAGES, "fitting the position probe at this length")
    length = sample.task.next_length(sample.batch.length)
    position = _cached_fit(sample, ("position", length), partial(fit_position, sample, length))
    progress(3, _STAGES, "reading the sequence")
    passes = {"clean": _states(sample, ())} | ({"edited": _states(sample, parsed_edits)} if parsed_edits else {})
    place = sample.batch.prefix_lengths().numpy()
    true, names = _summary_truth(sample, summary)
    return ProbeReading(
        sites=[-1, *range(sample.model.cfg.n_layers)],
        prefix=place.tolist(),
        asked=sample.batch.mask[0].tolist(),
        summary=replace(_read(summary, passes, true), classes=names, name=sample.task.summary),
        position=_read(position, passes, place.astype(float)),
    )


def fit_summary(sample: OneSequence) -> Fitted:
    """Return the frozen probe of ``probes.summary`` for this checkpoint, with its error on the held-out half."""
    grid = make_grid(sample.task, sample.run.trained_length, shortest=sample.run.shortest_trained)
    seed = sample.run.config["seeds"]["evaluation"]
    measurement = Summary()
    sequences, names = measurement.spec.sequences, _sites(sample)
    evaluation = Evaluation(sample.task, grid, seed, sequences, consistent=sample.model.cfg.ids.consistent)
    study = CheckpointStudy(sample.run, sample.step, sample.model, evaluation, sequences)
    rows: dict[int, ProbeRows] = {}
    for length in grid.inside:
        batch = study.batch("matched", length)
        rows[length] = measurement.reduce(batch, length, forward(sample.model, batch, names), names)
    rng = partial(study.rng, measurement.name)
    fit = halves(sequences, rng("split"))
    inside = pool_lengths({n: r.take(fit[r.sequence]) for n, r in rows.items()}, rng("pool"))
    outside = pool_lengths({n: r.take(~fit[r.sequence]) for n, r in rows.items()}, rng("held out"))
    (target,) = inside.labels
    return _fit_probe(Target.among(target, rows), inside, outside, "at the trained lengths")


def fit_position(sample: OneSequence, length: int) -> Fitted:
    """Return a probe of the position, fitted on matched sequences of this length at random positions."""
    count = max(16, min(_STRINGS, _TOKENS // length))
    drawn = generator("readout", sample.run.config["seeds"]["probe"], "matched", length)
    batch = sample.task.sample(count, length, drawn, "matched", window=sample.run.trained_length)
    names = _sites(sample)
    rng = np.random.default_rng(drawn.initial_seed())
    chosen = np.stack([rng.permutation(length)[:POSITIONS] + int(batch.bos) for _ in range(count)])
    at = torch.from_numpy(np.stack([np.repeat(np.arange(count), chosen.shape[1]), chosen.ravel()], 1))
    place = at[:, 1] + (0 if batch.bos else 1)
    rows = gather(batch, forward(sample.model, batch, names), names, at, {"i": place.double()})
    fit = halves(count, rng)[rows.sequence]
    return _fit_probe(Target("i", None), rows.take(fit), rows.take(~fit), f"at length {length}")


def _fit_probe(target: Target, inside: ProbeRows, outside: ProbeRows, where: str) -> Fitted:
    strings = len(inside.sequence.unique())
    problem = target.problem(inside, where)
    if problem:
        return Fitted(None, target.values, (), strings, problem)
    probe = fit_probes(inside.x, [target.of(inside)], [target.classes], folds(inside.sequence))[0]
    error = (0.0,) * len(inside.x)
    if target.values is None:
        missed = code(target.of(outside), 0) - _columns(probe(outside.x))
        error = tuple(missed[..., 0].pow(2).mean(-1).sqrt().tolist())
    return Fitted(probe, target.values, error, strings)


def _columns(answers: Shaped[Tensor, "site row ..."]) -> Tensor:
    """Return answers with an axis of components, which single numbers lack."""
    return answers if answers.dim() == 3 else answers[..., None]


def _cached_fit(sample: OneSequence, what: tuple[object, ...], make: Callable[[], Fitted]) -> Fitted:
    """Return the probe of this checkpoint, fitted once per process while its weights stay the same."""
    key = (str(sample.run.path), sample.step, sample.run.meta(sample.step)["sha256"], *what)
    if key not in _FITTED:
        while len(_FITTED) >= _KEPT:
            _FITTED.popitem(last=False)
        _FITTED[key] = make()
    _FITTED.move_to_end(key)
    return _FITTED[key]


def _sites(sample: OneSequence) -> list[str]:
    return ["blocks.0.hook_resid_pre", *(f"blocks.{at}.hook_resid_post" for at in range(sample.model.cfg.n_layers))]


def _states(sample: OneSequence, edits: Sequence[Edit]) -> Shaped[Tensor, "site row d"]:
    """Return the residual stream of the sequence at every site."""
    names = _sites(sample)
    cache = sample.forward(edits, names)
    return torch.stack([cache[name][0] for name in names]).float().cpu()


def _read(fitted: Fitted, passes: Mapping[str, Tensor], true: NDArray[np.float64]) -> ConceptReading:
    read: dict[str, NDArray[np.float64]] = {}
    if fitted.probe is not None:
        for name, states in passes.items():
            read[name] = _columns(fitted.probe(states))[..., 0].double().numpy(force=True)
    clean, edited = read.get("clean"), read.get("edited")
    return ConceptReading(true, clean, edited, list(fitted.rmse), fitted.strings, fitted.problem)


def _summary_truth(sample: OneSequence, fitted: Fitted) -> tuple[Any, list[str] | None]:
    """Return the true task state per position, and the names of its classes."""
    summary = sample.batch.output_summary[0]
    if fitted.values is None:
        first = summary if summary.dim() == 1 else summary[:, 0]
        return first.double().numpy(force=True), None
    values = fitted.values.tolist()
    true = np.array([float(values.index(v)) if v in values else -1.0 for v in summary.tolist()])
    outputs = sample.task.output_names
    same = outputs is not None and bool((summary == sample.batch.targets[0])[sample.batch.mask[0]].all())
    return true, [outputs[v] if same and outputs is not None else str(v) for v in values]
