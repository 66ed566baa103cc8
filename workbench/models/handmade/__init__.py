"""Models built by hand, with answers that are known in closed form."""
