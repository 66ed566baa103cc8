"""Sweeps: their files, their cells, and what is said of them before any is trained."""
