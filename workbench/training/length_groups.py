"""Batches with several lengths: a batch is divided into groups, and each group has a length of its own.

No sequence is padded. The groups are computed one after another, and their gradients are added before the optimizer's
step. The loss of a batch is the mean over its sequences: each group's loss counts by the group's share of the
sequences. So a length weighs as much as it does with one length in each batch, and only the mixture within a batch
changes. A mean over all supervised positions would weigh long sequences more where each prefix has a label.
"""

from __future__ import annotations

from collections.abc import Sequence

from workbench.training.errors import TrainingError


def group_sizes(sequences: int, groups: int) -> list[int]:
    """Return the number of sequences in each group, as equal as possible. The first groups have one more each."""
    each, rest = divmod(sequences, groups)
    return [each + (i < rest) for i in range(groups)]


def check_several(groups: int, lengths: Sequence[int]) -> None:
    """Refuse several groups where every update has the same length.

    Args:
        groups: groups in a batch.
        lengths: every length that an update can have.

    Raises:
        TrainingError: naming the length.
    """
    if groups > 1 and len(lengths) == 1:
        raise TrainingError(
            f"training.lengths_per_batch={groups} needs a curriculum with several lengths, but all training sequences "
            f"have length {lengths[0]}; leave it out, or choose another curriculum"
        )


def in_words(groups: int) -> str:
    """Return a clause about the groups of a batch, to append to a curriculum in words; "" for one group."""
    return f"; each batch has {groups} groups, and each group draws its own length" if groups > 1 else ""
