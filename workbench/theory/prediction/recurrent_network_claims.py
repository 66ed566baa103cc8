"""What recurrent networks can express: Elman networks and GRUs.

Merrill et al. 2020 (A Formal Hierarchy of RNN Architectures, arXiv 2004.08500): if activations are at their limits,
Elman networks with tanh and GRUs recognise exactly the regular languages. An Elman network with ReLU can also step
through the states of a finite automaton. None of this is about learning.
"""

from __future__ import annotations

from workbench.theory.prediction.known_maps import MapClaim
from workbench.theory.prediction.state_space_claims import FINITE

HIERARCHY = "Merrill et al. 2020, arXiv 2004.08500"


def recurrent_network_claim(regular: bool) -> MapClaim:
    """Return the claim about a map, which does not depend on the cell.

    Args:
        regular: whether a finite automaton computes the map.
    """
    if not regular:
        return MapClaim("open", "none", "nothing is stated about this map and recurrent networks")
    reason = "a finite automaton computes it, and the state can follow that automaton"
    return MapClaim("expressible", HIERARCHY, reason, note=FINITE)
