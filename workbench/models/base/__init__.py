"""What all architectures share: the hooked base class, its parts, and TransformerLens's interface."""
