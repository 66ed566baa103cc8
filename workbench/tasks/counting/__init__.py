"""Tasks whose task state is one counter, or a few."""
