"""A part of a row is exchanged: what is known of it by hand, and that a part which nobody reads changes nothing."""

from __future__ import annotations

from circuits.interchange.measurement import SUBSPACE, interchange_statistics
from tests.support.circuits.summary_subspace import MAJORITY
from workbench.theory.compiler.pipeline import compile
from workbench.theory.crasp.zoo import ZOO


def test_the_summary_of_a_compiled_counter_is_read_where_it_stands() -> None:
    model = compile(ZOO["majority"].program, 1000).model
    found = interchange_statistics(model, MAJORITY, trained=31, lengths=[31, 249], sequences=128).frame()
    found = found[found.quantity == SUBSPACE]
    assert set(found.status) == {"ok"}
    assert found[found.control == ""].value.min() > 0.8
    assert found[found.control == "random subspace"].value.max() < 0.1
    assert set(found["mode"]) == {"from 31", "from 249"}
