"""The recurrent network: Elman networks and gated recurrent units, with hooks."""
