"""Fitting probes, and scoring them together with their controls."""
