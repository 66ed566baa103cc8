"""Limit transformers: their heads, their precision, and the training lengths that theorems require."""
