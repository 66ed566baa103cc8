"""Executors: one function over many items, in this process or in several."""
