"""How long tests wait."""

HANGS_S = 1200
"""Seconds after which what has not ended is taken to hang: no figure of speed, but ten times what a busy machine needs."""
