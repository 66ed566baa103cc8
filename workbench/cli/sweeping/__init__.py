"""Sweeps: their files, their cells, and the checks before training."""
