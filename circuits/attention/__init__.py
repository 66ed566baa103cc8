"""Exact attention scores, and statistics of their rows."""
