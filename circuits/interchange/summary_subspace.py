"""Patching a part of a row only: the directions in which summaries differ, at the site where they are read.

A patch of a whole row says nothing where nothing follows it. One of the few directions that tell summaries apart says
something everywhere: the donor's answer comes out if later blocks read the summary there, and no place else.
"""

from __future__ import annotations

import numpy as np
import torch
from jaxtyping import Float, Shaped
from torch import Tensor

MOST_CLASSES = 16
"""Summaries with more values than this differ in too many directions to be called a part of the row."""


def summary_subspace(
    rows: Float[Tensor, "sequence d"], summary: Shaped[Tensor, "sequence ..."]
) -> Float[Tensor, "d rank"] | None:
    """An orthonormal basis of the directions whose covariance with the summary is not 0.

    For a categorical summary that is the span of the class means around their mean, for a real one that of its
    regression coefficients before whitening.

    Args:
        rows: what a site holds for the query of each sequence.
        summary: integers are classes (of a vector: each distinct one), floats numbers.

    Returns:
        None where all summaries are equal, or classes are more than :data:`MOST_CLASSES`.
    """
    if summary.is_floating_point():
        known = summary.reshape(len(summary), -1).to(rows.dtype)
    else:
        values, codes = torch.unique(summary.reshape(len(summary), -1), dim=0, return_inverse=True)
        if len(values) > MOST_CLASSES:
            return None
        known = torch.nn.functional.one_hot(codes, len(values)).to(rows.dtype)
    covariance = (rows - rows.mean(0)).T @ (known - known.mean(0))
    basis, size, _ = torch.linalg.svd(covariance.double(), full_matrices=False)
    # Classes of a single sequence each make directions of noise, but no more than there are classes.
    kept = size > 1e-6 * max(float(size[0]), float(rows.double().norm()) * 1e-6)
    return basis[:, kept].to(rows.dtype) if bool(kept.any()) else None


def random_subspace(like: Float[Tensor, "d rank"], rng: np.random.Generator) -> Float[Tensor, "d rank"]:
    """An orthonormal basis of a uniformly random subspace of the same rank: the control."""
    made, _ = np.linalg.qr(rng.standard_normal(tuple(like.shape)))
    return torch.as_tensor(made, dtype=like.dtype, device=like.device)


def exchanged_within(
    own: Float[Tensor, "sequence d"], donor: Float[Tensor, "sequence d"], basis: Float[Tensor, "d rank"]
) -> Float[Tensor, "sequence d"]:
    """Own rows with the donor's component in a subspace."""
    return own + (donor - own) @ basis @ basis.T
