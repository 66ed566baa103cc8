"""Files on disk: written whole or not at all, sealed, locked, read within bounds; whatever it is that they hold."""
