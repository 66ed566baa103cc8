"""The suites by name, and claims by id."""

from __future__ import annotations

from workbench.claims.claim import Claim, Suite
from workbench.claims.errors import ClaimError
from workbench.core.errors import quoted_value
from workbench.core.registry import Registry
from workbench.core.suggest import nearest

SUITES: Registry[Suite] = Registry(
    "suite",
    ClaimError,
    {
        "bounds-exact": "workbench.claims.suites.izzo_exact:SUITE",
        "crasp-exact": "workbench.claims.suites.huang_exact:SUITE",
        "sparsity-exact": "workbench.claims.suites.golowich_exact:SUITE",
        "ssm-exact": "workbench.claims.suites.sarrof_exact:SUITE",
        "tractable": "workbench.claims.suites.own_linear_readers:SUITE",
        "crasp-formal-a": "workbench.claims.suites.huang_formal_a:SUITE",
        "crasp-formal-b": "workbench.claims.suites.huang_formal_b:SUITE",
        "crasp-algorithmic": "workbench.claims.suites.huang_algorithmic:SUITE",
        "bounds-trained": "workbench.claims.suites.izzo_trained:SUITE",
        "retrieval": "workbench.claims.suites.jobanputra_retrieval:SUITE",
        "asymmetry": "workbench.claims.suites.jobanputra_asymmetry:SUITE",
        "sparse-trained": "workbench.claims.suites.golowich_sparse:SUITE",
        "ppc": "workbench.claims.suites.golowich_ppc:SUITE",
        "text": "workbench.claims.suites.golowich_text:SUITE",
        "ssm-trained": "workbench.claims.suites.sarrof_trained:SUITE",
        "inference": "workbench.claims.suites.huang_inference:SUITE",
        "dynamics-exact": "workbench.claims.suites.own_training_dynamics:SUITE",
        "dynamics-papers": "workbench.claims.suites.training_dynamics_papers:SUITE",
        "dynamics-bridge": "workbench.claims.suites.own_training_dynamics_bridge:SUITE",
        "determinacy": "workbench.claims.suites.own_determinacy:SUITE",
    },
)
"""In the order in which they are shown."""


def claims_named(name: str) -> list[tuple[Suite, Claim]]:
    """Return all claims of a group, or the one claim with this id.

    Raises:
        ClaimError: for a name that is neither, with the nearest ones.
    """
    if name in SUITES:
        suite = SUITES.find(name)
        return [(suite, claim) for claim in suite.claims]
    matches = [
        (suite, claim) for suite in SUITES.values() for claim in suite.claims if claim.id.lower() == name.lower()
    ]
    if not matches:
        ids = [claim.id for suite in SUITES.values() for claim in suite.claims]
        near = nearest(name, [*SUITES, *ids])
        advice = near if near.startswith("did you mean") else f"suites: {', '.join(SUITES)}"
        raise ClaimError(
            f"no suite and no claim is called {quoted_value(name)}; {advice}; `lengthlens reproduce --list` prints all"
        )
    return matches
