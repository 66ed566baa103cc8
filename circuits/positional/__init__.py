"""How attention scores depend on where tokens stand."""
