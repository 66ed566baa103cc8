"""Figures of a whole run, or of many."""
