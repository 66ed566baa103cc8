"""How attention scores depend on the positions of tokens."""
