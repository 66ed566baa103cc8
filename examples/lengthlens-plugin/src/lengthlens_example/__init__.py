"""A task, an encoding and a measurement for LengthLens."""
