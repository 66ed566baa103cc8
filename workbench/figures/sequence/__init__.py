"""Figures of one sequence through one checkpoint."""
