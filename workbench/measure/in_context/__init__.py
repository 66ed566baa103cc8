"""Behaviour of models that are given a task in their prompt and were not trained on it."""
