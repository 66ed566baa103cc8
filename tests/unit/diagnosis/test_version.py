"""A version of the diagnosis tests the same interventions for ever: a new one among them raises it."""

from __future__ import annotations

from tests.support.held import Held
from workbench.diagnosis.measurement import Diagnosis
from workbench.measure.edits.interventions.all_interventions import DIAGNOSED


def test_interventions_of_a_version(held: Held) -> None:
    """Where this fails at a version that is held, raise ``version`` of the diagnosis, then write the values again."""
    held({f"version {Diagnosis.version}": [intervention.name for intervention in DIAGNOSED]})
