"""What the worker is asked to do, as ``module:function``.

The dashboard imports none of these: they need torch, and some are of rooms above its own. Names rather than imports,
so they stand in this one place, and a test finds each.
"""

from __future__ import annotations

MEASURE_RUN = "workbench.measure.running.on_demand:measure_run"
"""Measure a run, or more strings of it."""
LOOK_AT_SEQUENCE = "circuits.one_sequence:look"
"""One forward pass over one sequence, and what is seen of it."""
LOOK_AT_ALL_HEADS = "circuits.all_heads:all_heads"
"""The attention of every head on one sequence, as small maps."""
READ_SEQUENCE = "probes.one_sequence:read_sequence"
"""What probes read off one sequence."""
FIND_WRONG_STRINGS = "workbench.diagnosis.find_wrong_strings:find_wrong_strings"
"""The strings that a checkpoint gets most confidently wrong, and what it takes to be right."""
DESCRIBE = "workbench.claims.claims_about_run:describe"
"""What theory says of one run's task and positions, and the claims of papers about such runs."""
DESCRIBE_ALL = "workbench.theory.prediction.as_data:describe_all"
"""What theory says of several, in brief."""
