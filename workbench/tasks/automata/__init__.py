"""Finite automata: read from regular expressions or tables, run, counted, and sampled from. There are no tasks here."""
