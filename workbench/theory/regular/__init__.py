"""Decides whether a regular language is in C-RASP, with a proof either way."""
