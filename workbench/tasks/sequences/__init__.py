"""Tasks that write an answer of several tokens, or read one from a few planted ones."""
