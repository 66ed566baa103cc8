"""Forward passes with edits: edits of one sequence, and the interventions that a diagnosis tests."""
