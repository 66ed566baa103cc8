"""Conversion to and from TransformerLens's own classes, and a comparison of their outputs with ours."""
