"""Predictions of theory for a task and an encoding, each with its theorem, and the cases without a theorem."""
