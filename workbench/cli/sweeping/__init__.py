"""Sweeps: their YAML files, their cells (runs with one combination of settings), and the checks before training."""
