"""``probes.summary``: does the residual stream contain the task state, and in the same code as the prefix grows?

The task state (called ``summary`` in stored rows) is a sufficient statistic of the prefix. Probes are fitted and tested
at exact prefix lengths, in three modes. *Refit* tests whether the task state is decodable at a length. *Transfer* is
fitted on the training lengths and then frozen. It tests whether a read-out learned in training still works.
*Recalibrated* keeps the frozen directions and refits gain and threshold. It tests whether the task state is in the same
directions. Refit minus recalibrated shows a change of direction, and recalibrated minus transfer a change of scale or
offset.
"""

from __future__ import annotations

from probes.decodability_rows import QuantityNames
from probes.fitting import controls
from probes.probe_measurement import ProbeMeasurement
from workbench.measure.measurement import Quantity


class Summary(ProbeMeasurement):
    """Fit task-state probes at every layer: balanced accuracy if the task state is a class, R^2 if it is numbers.

    All components of a vector are decoded at once, and R^2 weights them by their variances. A frozen probe is fitted on
    as many rows as a refitted one. Each sequence of the fitting half enters the pool once, at one of the lengths of
    G_in.

    Args:
        law: name of the test set. On ``matched``, the distribution of the task state is the same at every length, so
            that scores are comparable.
        resamples: bootstrap resamples of test sequences for every interval.
    """

    name = "probes.summary"
    version = 3
    title = "Task-state probes"
    names = QuantityNames("summary_decodability", rmse="summary_rmse", selectivity="selectivity")
    label_controls = (controls.SHUFFLED, controls.HASHED)
    token_controls = (controls.TOKEN, controls.TOKENS, controls.CONSTANT)
    quantities = (
        Quantity(
            "summary_decodability",
            "Held-out score of a linear probe for the task state at one exact prefix length: balanced accuracy of a "
            "class, or R² of a number or vector. A probe fitted at each length (`refit`) tests presence. A probe "
            "fitted at trained lengths (`transfer`) tests whether all lengths have the same linear code.",
            "balanced accuracy or R^2",
            high=1.0,
            about="summary",
            formula="(1/C) Σ_{c} Pr[ŝ = c | s = c], of numbers 1 − Σ |s − ŝ|^{2} / Σ |s − s̄|^{2}",
            where="s, ŝ: the task state, true and decoded on held-out sequences, C: classes",
            controls=(
                controls.SHUFFLED,
                controls.HASHED,
                controls.UNTRAINED,
                controls.TOKEN,
                controls.TOKENS,
                controls.CONSTANT,
            ),
        ),
        Quantity(
            "selectivity",
            "`summary_decodability` of the refitted probe minus the largest of its controls `untrained`, "
            "`token_only`, `last_8_tokens` and `position_only`. Values near 0 mean that training added nothing "
            "that these controls lack.",
            "difference of scores",
            about="summary",
            formula="D − max_{c} D_{c}",
            where="D: summary_decodability of the refitted probe, D_{c}: the same for control c",
        ),
        Quantity(
            "summary_rmse",
            "Held-out root mean squared error of a linear probe for a real-valued task state. Lower is better.",
            "units of the task state",
            low=0.0,
            about="summary",
            formula="√⟨|s − ŝ|^{2}⟩",
            where="s, ŝ: the task state, true and decoded; ⟨·⟩ also averages over components",
        ),
    )
