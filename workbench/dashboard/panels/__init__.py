"""Panels: what they stand for, how they are drawn, and how the browser is told what changed."""
