"""The transformer, with attention that is exact with and without hooks on scores and pattern."""
