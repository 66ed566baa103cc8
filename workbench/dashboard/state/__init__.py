"""What the dashboard knows: runs, cursor, filters, sweeps. No Dash, no torch."""
