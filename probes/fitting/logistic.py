"""Logistic regression that either converges or raises an error."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Float, Int
from numpy.typing import NDArray
from scipy.special import log_softmax
from torch import Tensor

from probes.fitting.probe_rows import ProbeError

if TYPE_CHECKING:
    from sklearn.linear_model import LogisticRegression

#: Inverse strength of the L2 penalty on standardised features, as scikit-learn counts it (per sum over rows).
INVERSE_PENALTY = 1.0
TOLERANCE = 1e-6
ITERATIONS = 2000
#: Maximum number of weights for Newton's method, whose cost is cubic; above it, L-BFGS is used.
NEWTON = 400


class Unconverged(ProbeError):
    """Raised for a fit that did not reach its optimum and must not be used."""


@dataclass(frozen=True)
class Classifier:
    """A converged multinomial logistic regression on standardised features.

    Attributes:
        classes: number of classes that it predicts, including those without fitting rows.
        iterations: number of iterations of the fit.
    """

    classes: int
    iterations: int
    _fitted: LogisticRegression | None
    _seen: NDArray[np.int64]
    _rows: int
    _mean: NDArray[np.float64]
    _scale: NDArray[np.float64]

    def log2_probabilities(self, x: Float[Tensor, "row d"]) -> Float[np.ndarray, "row class"]:
        """Return the log (base 2) probability of every class.

        Each class without fitting rows gets the probability of one additional row. So a class that occurs for the first
        time has a finite code length.
        """
        z = (x.double().numpy() - self._mean) / self._scale
        unseen = self.classes - len(self._seen)
        log2_p = np.full((len(z), self.classes), -np.log2(self._rows + unseen))
        if self._fitted is None:
            present_log2_p = np.zeros((len(z), 1))
        else:
            # Not the log of a probability, which is rounded to 0 for a row far from the fitting rows.
            score = self._fitted.decision_function(z)
            present_log2_p = log_softmax(
                np.stack([0 * score, score], 1) if score.ndim == 1 else score, axis=1
            ) / np.log(2)
        log2_p[:, self._seen] = present_log2_p + np.log2(self._rows / (self._rows + unseen))
        return log2_p

    def __call__(self, x: Float[Tensor, "row d"]) -> Int[np.ndarray, "row"]:
        """Return the most likely class of each row."""
        return np.asarray(self.log2_probabilities(x).argmax(1))


def logistic(
    x: Float[Tensor, "row d"], y: Int[Tensor, "row"], classes: int, inverse_penalty: float = INVERSE_PENALTY
) -> Classifier:
    """Fit a logistic regression until convergence.

    Args:
        x: features; standardised here.
        y: class of each row, 0 to classes - 1.
        classes: number of classes, whether or not they occur.
        inverse_penalty: scikit-learn's C.

    Raises:
        Unconverged: if the optimum is not reached.
        ProbeError: for features that are not finite.
    """
    # The import is slow, and most commands fit no regression.
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.linear_model import LogisticRegression

    features = x.double().numpy()
    if not np.isfinite(features).all():
        raise ProbeError("activations are not finite")
    mean, scale = features.mean(0), features.std(0)
    scale = np.where(scale > 1e-9 * (1 + np.abs(mean)), scale, 1.0)
    labels = y.numpy()
    present_classes = np.unique(labels)
    if len(present_classes) == 1:
        return Classifier(classes, 0, None, present_classes, len(labels), mean, scale)
    solver = "newton-cholesky" if len(present_classes) * features.shape[1] <= NEWTON else "lbfgs"
    model = LogisticRegression(C=inverse_penalty, solver=solver, tol=TOLERANCE, max_iter=ITERATIONS)
    with warnings.catch_warnings():
        warnings.simplefilter("error", ConvergenceWarning)
        # The first blocks of an online code have few rows of many classes, which is intended.
        warnings.filterwarnings("ignore", "The number of unique classes is greater than 50%", UserWarning)
        try:
            model.fit((features - mean) / scale, labels)
        except ConvergenceWarning as warning:
            raise Unconverged(f"logistic regression did not converge: {str(warning).splitlines()[0]}") from None
    steps = int(np.max(model.n_iter_))
    if steps >= ITERATIONS:
        raise Unconverged(f"logistic regression did not converge in {ITERATIONS} steps")
    return Classifier(classes, steps, model, present_classes, len(labels), mean, scale)
