"""Tasks whose task state is an average over the prefix."""
