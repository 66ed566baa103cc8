"""The common base of all architectures: the hooked base class, its parts, and TransformerLens's interface."""
