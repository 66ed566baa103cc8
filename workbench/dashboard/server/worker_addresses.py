"""Functions that the worker runs, as ``module:function``.

The dashboard imports none of these, because they need torch and some are in higher layers. All addresses are in this
file, and a test resolves each.
"""

from __future__ import annotations

MEASURE_RUN = "workbench.measure.running.on_demand:measure_run"
"""Measure a run, or more sequences of it."""
LOOK_AT_SEQUENCE = "circuits.one_sequence:look"
"""One forward pass over one sequence, and what is seen of it."""
LOOK_AT_ALL_HEADS = "circuits.all_heads:all_heads"
"""The attention of every head on one sequence, as small maps."""
READ_SEQUENCE = "probes.one_sequence:read_sequence"
"""What probes read off one sequence."""
FIND_WRONG_STRINGS = "workbench.diagnosis.find_wrong_strings:find_wrong_strings"
"""The most confident errors of a checkpoint, and the nearest correct inputs."""
DESCRIBE = "workbench.claims.claims_about_run:describe"
"""Predictions of theory for one run's task and positions, and the claims of papers about such runs."""
DESCRIBE_ALL = "workbench.theory.prediction.as_data:describe_all"
"""Predictions of theory for several runs, in brief."""
PUBLISHED_CLAIMS = "workbench.claims.published:published_claims"
"""The published claims with their verdicts, and the runs that are like those of each claim."""
DECIDED_FOR_RUN = "workbench.claims.determinacy.of_run:decided_for_run"
"""When runs of this kind are decided, by the determinacy study, and where to fork the run."""
