"""Which component reads what of which other: the connections of a model, cut one at a time."""
