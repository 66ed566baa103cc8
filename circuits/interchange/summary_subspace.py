"""Patching only a part of a row: the directions in which task states differ, at the site where they are read.

If a patch of a whole row is never followed by another computation, its result is trivial. A patch of the few directions
that separate task states is informative everywhere. The donor's answer appears only if later blocks read the task state
there, and nowhere else.
"""

from __future__ import annotations

import numpy as np
import torch
from jaxtyping import Float, Shaped
from torch import Tensor

MOST_CLASSES = 16
"""Task states with more values than this differ in too many directions to count as a part of the row."""


def summary_subspace(
    rows: Float[Tensor, "sequence d"], summary: Shaped[Tensor, "sequence ..."]
) -> Float[Tensor, "d rank"] | None:
    """Return an orthonormal basis of the directions whose covariance with the task state is not 0.

    For a categorical task state this is the span of the class means around their mean. For a real one it is the span of
    its regression coefficients before whitening.

    Args:
        rows: activation at a site for the query of each sequence.
        summary: the task states: integers are classes (of a vector: each distinct one), floats are numbers.

    Returns:
        None if all task states are equal, or there are more than :data:`MOST_CLASSES` classes.
    """
    if summary.is_floating_point():
        encoded_state = summary.reshape(len(summary), -1).to(rows.dtype)
    else:
        values, codes = torch.unique(summary.reshape(len(summary), -1), dim=0, return_inverse=True)
        if len(values) > MOST_CLASSES:
            return None
        encoded_state = torch.nn.functional.one_hot(codes, len(values)).to(rows.dtype)
    covariance = (rows - rows.mean(0)).T @ (encoded_state - encoded_state.mean(0))
    basis, size, _ = torch.linalg.svd(covariance.double(), full_matrices=False)
    # Classes with a single sequence add directions of noise, at most as many as there are classes.
    kept = size > 1e-6 * max(float(size[0]), float(rows.double().norm()) * 1e-6)
    return basis[:, kept].to(rows.dtype) if bool(kept.any()) else None


def random_subspace(like: Float[Tensor, "d rank"], rng: np.random.Generator) -> Float[Tensor, "d rank"]:
    """Return an orthonormal basis of a uniformly random subspace of the same rank: the control."""
    made, _ = np.linalg.qr(rng.standard_normal(tuple(like.shape)))
    return torch.as_tensor(made, dtype=like.dtype, device=like.device)


def exchanged_within(
    own: Float[Tensor, "sequence d"], donor: Float[Tensor, "sequence d"], basis: Float[Tensor, "d rank"]
) -> Float[Tensor, "sequence d"]:
    """Return own rows with the donor's component in a subspace."""
    return own + (donor - own) @ basis @ basis.T
