"""One sequence on screen: its question to the worker, its panels, its callbacks."""
