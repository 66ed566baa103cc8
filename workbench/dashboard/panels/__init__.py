"""Panels: what they show, how they are drawn, and how changes are sent to the browser."""
