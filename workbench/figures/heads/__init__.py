"""Figures and clauses about attention heads."""
