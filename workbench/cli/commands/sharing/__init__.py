"""Pages to hand to others: a report in one file, a gallery without a server."""
