"""Deciding whether a regular language is in C-RASP, with the proof either way."""
