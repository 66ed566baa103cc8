"""Runs whose weights were made elsewhere."""
