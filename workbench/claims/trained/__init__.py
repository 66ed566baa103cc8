"""The arithmetic of trained claims: statistics of runs, and how their rows reduce to the rows of a claim."""
