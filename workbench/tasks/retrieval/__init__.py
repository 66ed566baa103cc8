"""Tasks whose task state is the token at a retrieved position."""
