"""Accuracy past the training lengths, the verdict, and the statistics behind it."""
