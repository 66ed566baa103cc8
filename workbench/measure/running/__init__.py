"""Measuring runs on disk: which measurements are missing, which apply, and writing their shards."""
