"""Tasks whose summary is the state of a finite automaton."""
