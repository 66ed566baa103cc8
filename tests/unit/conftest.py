"""Unit tests run with annotated shapes and types checked, at the first calls of each function in each test."""

from __future__ import annotations

import sys

import jaxtyping
import pytest
from jaxtyping import install_import_hook

from tests.support.checked_calls import CheckedCalls

CHECKED = (
    "probes", "circuits", "workbench.tasks", "workbench.models", "workbench.training", "workbench.jobs", "workbench.core",
)  # fmt: skip
"""Not the rooms whose annotations say at run time what is not so there: in `storage`, `runs` and `table` files are `BinaryIO`,
of which no file is an instance; in `measure` and `figures` an array of no dimension is a number, and a model in memory stands
without a task; in `theory` nodes put in order what they are given; `cli` and `dashboard` are given whatever people type."""
# An int is a float here, as type checkers hold (PEP 484).
CHECKER = "beartype.beartype(conf=beartype.BeartypeConf(is_pep484_tower=True))"

CALLS = CheckedCalls()

# What was imported before, as where tests of another tier run in the same process, stays as it is.
if not any(name.startswith(CHECKED) for name in sys.modules):
    jaxtyping.jaxtyped = CALLS
    install_import_hook(CHECKED, CHECKER)


def pytest_configure(config: pytest.Config) -> None:
    if config.getoption("--every-call"):
        CALLS.limit = None


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_logstart() -> None:
    CALLS.begin_test()
