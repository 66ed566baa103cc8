"""Runs as HTML files that need no server: one file, or a folder of pages."""
