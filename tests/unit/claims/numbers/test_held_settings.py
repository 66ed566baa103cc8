"""How positions are stated as fields of a model's config, by each name that cells may use."""

from __future__ import annotations

from itertools import product

from tests.support.held import Held
from tests.support.printed import outcome, printed
from workbench.claims.trained_cells import encoding


def test_how_positions_are_told(held: Held) -> None:
    names = (
        "nope",
        "ape",
        "arange",
        "rope",
        "rope500",
        "pose",
        "alibi",
        "sinusoidal",
        "lim 3 1",
        "ppc",
        "ppc_fixed",
        "coupled",
        "none such",
    )
    made = [outcome(lambda one=one: encoding(*one)) for one in product(names, (16,), (3, 8))]
    held({"all": printed(made), "rooms": [one["n_ctx"] for one in made if isinstance(one, dict)][:2]})
