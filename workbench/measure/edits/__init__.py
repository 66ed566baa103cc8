"""Passes with edits: of one sequence, and the interventions that a diagnosis tries."""
