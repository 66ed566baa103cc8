"""To TransformerLens's own classes and back, and whether both compute the same."""
