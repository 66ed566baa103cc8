"""Tasks whose summary is an average over the prefix."""
