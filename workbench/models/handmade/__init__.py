"""Models built by hand, whose answers are known in closed form."""
