"""The suites: each module states its claims, as data that cost nothing to load."""
