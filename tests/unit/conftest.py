"""Unit tests run with annotated shapes and types checked, at every call."""

from __future__ import annotations

import sys

from jaxtyping import install_import_hook

CHECKED = (
    "probes", "circuits", "workbench.tasks", "workbench.models", "workbench.training", "workbench.runs", "workbench.table",
    "workbench.figures", "workbench.jobs", "workbench.storage", "workbench.core",
)  # fmt: skip
"""Not among them: `workbench.measure`, where a model in memory may stand without a task; `workbench.theory`, whose nodes
accept what they put in order themselves; `workbench.cli` and `workbench.dashboard`, which others call with what people type."""
# An int is a float here, as type checkers hold (PEP 484).
CHECKER = "beartype.beartype(conf=beartype.BeartypeConf(is_pep484_tower=True))"

# What was imported before, as where tests of another tier run in the same process, stays as it is.
if not any(name.startswith(CHECKED) for name in sys.modules):
    install_import_hook(CHECKED, CHECKER)
