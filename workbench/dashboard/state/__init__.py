"""The state of the dashboard: runs, selection, filters, sweeps. No Dash, no torch."""
