"""What trained claims rest on: cells of runs, what is measured of each, and how rows of runs become rows of claims."""
