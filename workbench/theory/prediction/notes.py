"""Remarks of other theories and experiments on a task, each with its source.

Remarks never change a verdict. Remarks that were not compared with their source are marked as recalled.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

ZHOU = "Zhou et al. 2023, What Algorithms can Transformers Learn? (RASP-L)"


@dataclass(frozen=True)
class Note:
    """One remark about a prediction, from another theory.

    Attributes:
        text: a clause.
        source: the source of the remark.
        recalled: True if the remark was not compared with the source.
    """

    text: str
    source: str
    recalled: bool = False


CONJECTURE = Note(
    "conjecture: a task with a short RASP-L program that is valid at every length generalises in length", ZHOU
)
_SHORT = Note("has a short RASP-L program", ZHOU, recalled=True)
_MODE = Note("has a short RASP-L program (mode in the authors' library ml-np-rasp)", ZHOU)
_BINARY_MODE = Note("has a short RASP-L program (binary_mode in the authors' library ml-np-rasp)", ZHOU)
_LONG = Note("the task in this form has no short RASP-L program", ZHOU, recalled=True)
_SENSITIVE = Note(
    "the average sensitivity is n, the largest possible: transformers that compute such a task are in sharp minima "
    "of the loss",
    "Hahn and Rofin 2024, Why are Sensitive Functions Hard for Transformers?",
)
_SPARSE = Note(
    "each answer needs a fixed number of tokens: sparse functional attention, if they are local, generalises in "
    "length (theorem 4.3); no theorem carries this to transformers",
    "Golowich et al., arXiv 2502.16792",
)
_COUPLED = Note(
    "with coupled position ids each answer needs a fixed number of tokens with neighbouring ids (proposition D.2)",
    "Golowich et al., arXiv 2502.16792",
)

NOTES: Mapping[str, tuple[Note, ...]] = {
    "majority": (CONJECTURE, _BINARY_MODE),
    "most_frequent": (CONJECTURE, _MODE),
    "sort": (CONJECTURE, _SHORT),
    "uf": (CONJECTURE, _SHORT),
    "nf": (CONJECTURE, _LONG),
    "parity": (CONJECTURE, _LONG, _SENSITIVE),
    "addition": (
        CONJECTURE,
        _LONG,
        Note("index hints and answers written in reverse make the program short", ZHOU),
        _COUPLED,
    ),
    "parity_scratchpad": (Note("a scratchpad makes the RASP-L program of parity short", ZHOU), _COUPLED),
    "variable_assignment": (_COUPLED,),
    "sparse_parity": (_SPARSE,),
    "planted": (_SPARSE,),
    "kgram_retrieval": (_SPARSE,),
    "alternating_blocks": (
        Note(
            "without positions, d layers of attention generalise up to k = d + 2 blocks and fail at d + 3",
            "Yang et al., Knee-Deep in C-RASP, arXiv 2506.16055",
        ),
    ),
}
"""Remarks by the key of a task."""


def length_complexity_note(states: int) -> Note:
    """Return up to which length sequences determine a regular language among automata of at most its size.

    Two automata with at most ``n`` states that differ do so on a sequence of length at most ``2n - 2``. The claim DP10
    checks this bound by enumeration.

    Args:
        states: number of states of the minimal automaton.
    """
    plural = "s" if states > 1 else ""
    return Note(
        f"the smallest automaton has {states} state{plural}: a learner that takes the smallest automaton for all "
        f"sequences up to length N is right from N = {2 * states - 2} on; gradient descent may find another rule",
        "Chen, Ma, Li 2025, arXiv 2506.03085",
    )


def regular_notes(star_free: bool) -> tuple[Note, ...]:
    """Return remarks on a regular language, given whether it is star-free."""
    source = "Sarrof, Veitsman, Hahn, arXiv 2405.17394"
    recognised = "star-free: recognised" if star_free else "not star-free: not recognised"
    return (Note(f"{recognised} by state-space models with non-negative gates at finite precision", source),)
