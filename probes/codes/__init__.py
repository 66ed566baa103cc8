"""The directions that code a task state, and whether they stay the same past training."""
