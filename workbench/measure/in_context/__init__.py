"""Behaviour of models that were never trained on a task and are given it in their prompt."""
