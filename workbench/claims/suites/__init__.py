"""Suites of claims: a file per paper and topic, named by the first author. Loading one costs next to nothing."""
