"""Runs handed over as files: a page of its own, or a gallery of pages, which need no server."""
