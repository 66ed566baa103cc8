"""Readers with a shared gain and a position code, trained: by integrating the flow, and on drawn sequences.

The model and the formulas are in :mod:`workbench.theory.training_dynamics.shared_gain`. Several settings are trained at
once as separate columns of one array. They share no parameter, so this equals training them one by one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.integrate import solve_ivp

from workbench.claims.exact.linear_readers import FAR, flow

Array = NDArray[np.float64]
Batches = Literal["mixed", "one length"]
DRAWN = 512
"""Batches drawn at a time."""


@dataclass(frozen=True)
class Reader:
    """One setting of the reader.

    Attributes:
        kappa: norm of the position code relative to the content.
        lengths: number of distinct trained lengths.
        shares: share of each length among the sequences; None means equal shares.
        decay: weight decay of both the gain and the position weights.
        correlation_length: of the codes, in steps of the length; 0 means orthogonal codes.
    """

    kappa: float
    lengths: int
    shares: tuple[float, ...] | None = None
    decay: float = 0.0
    correlation_length: float = 0.0

    @property
    def name(self) -> str:
        """The setting in words, the item of its row."""
        parts = [f"kappa {self.kappa:g}", f"{self.lengths} length{'s' if self.lengths > 1 else ''}"]
        if self.shares is not None:
            parts.append("unequal shares")
        if self.decay:
            parts.append(f"decay {self.decay:g}")
        if self.correlation_length:
            parts.append(f"correlation length {self.correlation_length:g}")
        return ", ".join(parts)

    @property
    def weights(self) -> Array:
        """The shares of the lengths ``[length]``."""
        return np.full(self.lengths, 1 / self.lengths) if self.shares is None else np.asarray(self.shares)

    @property
    def codes(self) -> Array:
        """The codes ``[length, dimension]``, each of norm 1: rows of the root of their Gram matrix."""
        if not self.correlation_length:
            return np.eye(self.lengths)
        places = np.arange(self.lengths)
        gram = np.exp(-(((places[:, None] - places) / self.correlation_length) ** 2) / 2)
        root: Array = np.linalg.cholesky(gram)
        return root


def falling_shares(lengths: int) -> tuple[float, ...] | None:
    """Return shares proportional to ``1 .. K``: the last length is ``K`` times as frequent as the first. None for one
    length.
    """
    if lengths == 1:
        return None
    return tuple(2 * (i + 1) / (lengths * (lengths + 1)) for i in range(lengths))


def coupling_by_flow(reader: Reader) -> float:
    """Return the coupling at the end of gradient flow from 0, by the modes of its linear equation."""
    features = np.hstack([np.ones((reader.lengths, 1)), reader.kappa * reader.codes])
    second = features.T @ (reader.weights[:, None] * features)
    moments = features.T @ reader.weights
    return 1 - float(flow(second, moments, np.zeros(len(second)), FAR, reader.decay)[0])


def couplings_on_draws(
    readers: Sequence[Reader], optimizer: str, *, steps: int, rate: float, batch: int, batches: Batches, seed: int = 0
) -> list[float]:
    """Return the coupling of each reader after training on drawn sequences with an optimizer of PyTorch.

    The learning rate falls to 0 by a straight line. The coupling is the mean over the last tenth of the steps.

    Args:
        readers: the settings; each is trained with its own parameters, on its own draws.
        optimizer: ``"sgd"``, ``"sign"`` or ``"adam"``.
        steps: number of updates.
        rate: learning rate. For SGD it is relative to the curvature ``1 + kappa^2``.
        batch: sequences in a batch.
        batches: ``"one length"``: all sequences of a batch have one drawn length. ``"mixed"``: each sequence draws its
            length; equal shares that divide the batch are exact in every batch.
        seed: of the draws.
    """
    widest = max(reader.codes.shape[1] for reader in readers)
    kappa = torch.tensor([reader.kappa for reader in readers], dtype=torch.float64)
    decay = torch.tensor([reader.decay for reader in readers], dtype=torch.float64)
    codes = torch.zeros(len(readers), max(reader.lengths for reader in readers), widest, dtype=torch.float64)
    for index, reader in enumerate(readers):
        codes[index, : reader.lengths, : reader.codes.shape[1]] = torch.from_numpy(reader.codes)
    gain = torch.zeros(len(readers), dtype=torch.float64, requires_grad=True)
    position = torch.zeros(len(readers), widest, dtype=torch.float64, requires_grad=True)
    scale = 1 / (1 + kappa**2) if optimizer == "sgd" else torch.ones_like(kappa)
    update = _optimizer([gain, position], optimizer, rate)
    ends: list[Array] = []
    for step, (shares, squares) in enumerate(_batches(readers, steps, batch, batches, seed)):
        error = gain[:, None] + kappa[:, None] * torch.einsum("rld,rd->rl", codes, position) - 1
        loss = (torch.from_numpy(shares * squares) * error**2).sum(1) / 2
        penalty = decay / 2 * (gain**2 + (position**2).sum(1))
        gain.grad = position.grad = None
        ((loss + penalty) * scale).sum().backward()
        update(1 - step / steps)
        if step >= 0.9 * steps:
            ends.append(1 - gain.detach().numpy().copy())
    return [float(value) for value in np.mean(ends, axis=0)]


def coupling_of_depth_two_by_flow(kappa: float, lengths: float, scale: float) -> float:
    """Return the coupling of a reader of depth 2 at the end of gradient flow, by integrating it.

    Equal shares and orthogonal codes make all codes alike. So the flow has four numbers: two factors of the gain, and
    two of each position weight. ``lengths`` may be a fraction.
    """

    def slope(_: float, factors: Array) -> Array:
        u, v, a, b = factors
        error = u**2 - v**2 + kappa * (a**2 - b**2) - 1
        slopes: Array = np.array([-2 * u, 2 * v, -2 * kappa / lengths * a, 2 * kappa / lengths * b]) * error
        return slopes

    def settled(_: float, factors: Array) -> float:
        u, v, a, b = factors
        return float(abs(u**2 - v**2 + kappa * (a**2 - b**2) - 1) - 1e-9)

    settled.terminal = True  # type: ignore[attr-defined]
    done = solve_ivp(slope, (0.0, 1e7), np.full(4, scale), method="LSODA", rtol=1e-10, atol=1e-14, events=settled)
    u, v = done.y[:2, -1]
    return float(1 - (u**2 - v**2))


def couplings_of_depth_two_on_draws(
    settings: Sequence[tuple[float, int, float]], *, steps: int, rate: float, batch: int, seed: int = 0
) -> list[float]:
    """Return the couplings of readers of depth 2 after stochastic gradient descent on mixed batches.

    Args:
        settings: ``(kappa, lengths, initial scale)`` of each reader.
        steps: number of updates.
        rate: learning rate, relative to ``max(1, kappa^2 / lengths)``; constant.
        batch: sequences in a batch, a multiple of each number of lengths.
        seed: of the draws.
    """
    readers = [Reader(kappa, lengths) for kappa, lengths, _ in settings]
    widest = max(reader.lengths for reader in readers)
    kappa = np.array([reader.kappa for reader in readers])
    start = np.array([scale for *_, scale in settings])
    step_size = rate / np.maximum(1, kappa**2 / np.array([reader.lengths for reader in readers]))
    gain = np.repeat(start[None], 2, axis=0)
    position = np.repeat(np.repeat(start[:, None], widest, axis=1)[None], 2, axis=0)
    for shares, squares in _batches(readers, steps, batch, "mixed", seed):
        error = (gain[0] ** 2 - gain[1] ** 2)[:, None] + kappa[:, None] * (position[0] ** 2 - position[1] ** 2) - 1
        slopes = shares * squares * error
        of_gain = step_size * slopes.sum(1)
        of_code = step_size[:, None] * kappa[:, None] * slopes
        gain = gain * np.stack([1 - 2 * of_gain, 1 + 2 * of_gain])
        position = position * np.stack([1 - 2 * of_code, 1 + 2 * of_code])
    return [float(value) for value in 1 - (gain[0] ** 2 - gain[1] ** 2)]


def _optimizer(parameters: list[torch.Tensor], name: str, rate: float) -> Any:
    """A function that takes one step, at a share of the learning rate."""
    if name == "sign":

        def by_sign(share: float) -> None:
            with torch.no_grad():
                for each in parameters:
                    assert each.grad is not None
                    each -= rate * share * each.grad.sign()

        return by_sign
    kinds = {"sgd": torch.optim.SGD, "adam": torch.optim.Adam}
    chosen = kinds[name](parameters, lr=rate, foreach=False)

    def by_optimizer(share: float) -> None:
        chosen.param_groups[0]["lr"] = rate * share
        chosen.step()

    return by_optimizer


def _batches(
    readers: Sequence[Reader], steps: int, batch: int, batches: Batches, seed: int
) -> Iterator[tuple[Array, Array]]:
    """For each step the share of each length in the batch ``[reader, length]``, and the mean of ``z^2`` at it.

    The mean square of ``m`` normal numbers is a chi-square number with ``m`` degrees of freedom over ``m``.
    """
    rng = np.random.default_rng([seed, 45])
    widest = max(reader.lengths for reader in readers)
    for first in range(0, steps, DRAWN):
        n = min(DRAWN, steps - first)
        counts = np.zeros((n, len(readers), widest))
        for index, reader in enumerate(readers):
            counts[:, index, : reader.lengths] = _counts(rng, reader, n, batch, batches)
        squares = rng.chisquare(np.maximum(counts, 1)) / np.maximum(counts, 1)
        yield from zip(counts / batch, squares, strict=True)


def _counts(rng: np.random.Generator, reader: Reader, n: int, batch: int, batches: Batches) -> Array:
    """Sequences of each length in ``n`` batches, ``[batch, length]``."""
    if batches == "one length":
        only: Array = batch * rng.multinomial(1, reader.weights, size=n).astype(np.float64)
        return only
    if reader.shares is None and batch % reader.lengths == 0:
        return np.full((n, reader.lengths), batch / reader.lengths)
    drawn: Array = rng.multinomial(batch, reader.weights, size=n).astype(np.float64)
    return drawn
