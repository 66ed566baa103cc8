"""Tasks whose summary is what stands at a retrieved position."""
