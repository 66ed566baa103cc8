"""Executors: one function over many jobs, in this process or in several."""
