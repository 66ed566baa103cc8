"""Runs whose weights come from elsewhere."""
