"""``python -m probes DIR``: every probe measurement on every checkpoint below a folder."""

from workbench.cli.commands.measure import run_for_package

run_for_package("probes")
