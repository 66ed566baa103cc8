"""The suites by name, and claims by id."""

from __future__ import annotations

from workbench.claims.claim import Claim, Suite
from workbench.claims.errors import ClaimError
from workbench.core.errors import shown
from workbench.core.registry import Registry
from workbench.core.suggest import nearest

SUITES: Registry[Suite] = Registry(
    "suite",
    ClaimError,
    {
        "bounds-exact": "workbench.claims.suites.bounds_exact:SUITE",
        "crasp-exact": "workbench.claims.suites.crasp_exact:SUITE",
        "sparsity-exact": "workbench.claims.suites.sparsity.sparsity_exact:SUITE",
        "ssm-exact": "workbench.claims.suites.ssm_exact:SUITE",
        "tractable": "workbench.claims.suites.tractable:SUITE",
        "crasp-formal-a": "workbench.claims.suites.crasp_formal_a:SUITE",
        "crasp-formal-b": "workbench.claims.suites.crasp_formal_b:SUITE",
        "crasp-algorithmic": "workbench.claims.suites.crasp_algorithmic:SUITE",
        "bounds-trained": "workbench.claims.suites.bounds_trained:SUITE",
        "retrieval": "workbench.claims.suites.retrieval_trained:SUITE",
        "asymmetry": "workbench.claims.suites.asymmetry_trained:SUITE",
        "sparse-trained": "workbench.claims.suites.sparsity.sparse_trained:SUITE",
        "ppc": "workbench.claims.suites.sparsity.ppc_trained:SUITE",
        "text": "workbench.claims.suites.sparsity.text_trained:SUITE",
        "ssm-trained": "workbench.claims.suites.ssm_trained:SUITE",
        "inference": "workbench.claims.suites.inference_trained:SUITE",
    },
)
"""In the order in which they are shown."""


def claims_named(name: str) -> list[tuple[Suite, Claim]]:
    """The claims of a suite, or the one claim of that id.

    Raises:
        ClaimError: for a name that is neither, with the nearest ones.
    """
    if name in SUITES:
        suite = SUITES.find(name)
        return [(suite, claim) for claim in suite.claims]
    found = [(suite, claim) for suite in SUITES.values() for claim in suite.claims if claim.id.lower() == name.lower()]
    if not found:
        ids = [claim.id for suite in SUITES.values() for claim in suite.claims]
        near = nearest(name, [*SUITES, *ids])
        advice = near if near.startswith("did you mean") else f"suites: {', '.join(SUITES)}"
        raise ClaimError(f"no suite and no claim is called {shown(name)}; {advice}; `lengthlens reproduce --list`")
    return found
