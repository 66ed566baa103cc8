"""Tasks whose summary is one counter, or a few."""
