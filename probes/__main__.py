"""``python -m probes DIR``: run every probe measurement on every checkpoint in a folder."""

from workbench.cli.commands.measure import run_for_package

run_for_package("probes")
