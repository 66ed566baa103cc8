"""The row of the circuit graph: who reads whom."""
