"""Files on disk of any content: written atomically, sealed, locked, and read within size limits."""
