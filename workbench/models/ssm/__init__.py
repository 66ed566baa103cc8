"""The state-space model, and its effective attention."""
