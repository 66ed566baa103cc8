"""``python -m circuits DIR``: run ``lengthlens measure DIR`` with only the measurements of this package."""

from __future__ import annotations

from workbench.cli.commands.measure import run_for_package

if __name__ == "__main__":
    run_for_package("circuits")
