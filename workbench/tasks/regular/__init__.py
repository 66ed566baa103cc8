"""Tasks whose task state is the state of a finite automaton."""
