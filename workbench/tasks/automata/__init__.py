"""Finite automata: read from regular expressions or tables, run, counted, and sampled from. No task among them."""
