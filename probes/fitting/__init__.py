"""Fitting probes and scoring them beside their controls."""
