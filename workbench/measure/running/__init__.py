"""Measuring runs on disk: what is missing, what applies, and writing it beside the run."""
