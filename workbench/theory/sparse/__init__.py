"""Sparse functional attention, and position coupling as a change of the problem."""
