"""Theory: what the papers predict, computed, and checked against models."""
