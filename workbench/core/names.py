"""Names that several packages share: test sets, curricula, gates, and the values of columns that figures look for.

A measurement writes such a value and a figure selects rows by it. Both read it here, so that neither imports the other.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Literal, get_args

MATCHED: Final = "matched"
CHALLENGE: Final = "challenge"
TestSet = Literal["matched", "challenge"]
TEST_SETS: tuple[TestSet, ...] = get_args(TestSet)
"""The test sets: values of the column ``law``."""
TRAINING: Final = "training"
DISTRIBUTIONS = (*TEST_SETS, TRAINING)
"""The distributions from which a task draws sequences."""

BOS: Final = "<bos>"
"""The token before a sequence."""

CURRICULA: Mapping[str, str] = {
    "uniform": "Uniform",
    "fixed": "Fixed",
    "growing": "Growing",
    "few_long": "FewLong",
    "mixture": "Mixture",
    "switched": "Switched",
}
"""Name of a curriculum -> its class in :mod:`workbench.training.curriculum`."""

Gates = Literal["nonnegative", "signed"]
GATES: tuple[Gates, ...] = get_args(Gates)
"""The possible signs of the gates of a state-space model."""
Cell = Literal["elman", "gru"]
CELLS: tuple[Cell, ...] = get_args(Cell)
"""The possible cells of a recurrent network."""
STATE_SPACE_MODELS = {f"ssm-{gates}": f"state-space model, {gates} gates" for gates in GATES}
"""A model's ``variant`` -> the name of that state-space model in the theory literature."""
RECURRENT_NETWORKS = {f"rnn-{cell}": f"recurrent network, {cell} cell" for cell in CELLS}
"""A model's ``variant`` -> the name of that recurrent network."""
WITHOUT_POSITIONS = {**STATE_SPACE_MODELS, **RECURRENT_NETWORKS}
"""The models about which theory predicts without a position encoding."""

UNTRAINED_RUNS = ("adopted", "compiled", "pretrained", "answers")
"""Keys in the training of runs whose weights `lengthlens train` did not train."""

RUN_PARTS = ("task", "model", "training", "seeds")
"""The parts of a run's configuration."""

BEHAVIOUR: Final = "behaviour"
IN_CONTEXT: Final = "behaviour.in_context"
EFFECTIVE_ATTENTION: Final = "circuits.effective_attention"
"""Measurements that figures select by name."""

REFIT: Final = "refit"
STORED: Final = "stored"
"""Modes of probes: a probe that is fitted again at each length, and a code that is fitted once and stored with the
model.
"""
UNTRAINED_MODEL: Final = "untrained"
SHUFFLED_LABELS: Final = "shuffled_labels"
RANDOM_DIRECTION: Final = "random_direction"
"""Controls."""
ALL_KEYS: Final = "all keys"
EMBEDDING: Final = "embedding"
OUTPUT_SUMMARY: Final = "output_summary"
LOG_POSITION: Final = "log_i"
READERS: Final = "readers"
OTHER_HEADS: Final = "other heads of their layers"
ALL_HEADS: Final = "all heads"
"""Targets: the keys that a statistic counts, what a probe reads, and the part that an intervention changes."""
LEAST_HEAD: Final = "least head"
"""Control of a head effect: the head of the same layer whose removal costs least."""
NAMED: Final = "named"
TO_CHANCE: Final = "falls to chance"
ABOVE_CHANCE: Final = "above chance"
"""Labels of head effects: a head that the effect names, and what accuracy is on set B.

``TO_CHANCE``: accuracy without the head is not shown to be above that of the best constant answer, and that of the
whole model is. ``ABOVE_CHANCE``: this accuracy is shown to be above it.
"""
POSITION_OR_CONTENT: Final = "position or content"
POSITION_OR_KEYS: Final = "position or keys"
OPEN_CAUSES = (POSITION_OR_CONTENT, POSITION_OR_KEYS)
"""Entries of a diagnosis that leave the cause open, because no intervention shows whether positions are the cause."""
NOT_EXPLAINED: Final = "not explained"
"""The cause of a diagnosis that no intervention names."""
TOO_COSTLY: Final = "it harms inside training"
"""The first words of the note of an intervention that is not applicable because its cost at N is too large."""
