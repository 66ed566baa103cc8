"""The state-space model, and where it looks."""
