"""The transformer, with attention that is exact whether it is looked at or not."""
