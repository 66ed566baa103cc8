"""Passes with edits: of one sequence, and the repairs that a diagnosis tries."""
