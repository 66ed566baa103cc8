"""Attention scores, exactly, and statistics of their rows."""
